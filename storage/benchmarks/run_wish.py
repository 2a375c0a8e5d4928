"""What a run asks of its host, as a job keeps it. Pure."""

from __future__ import annotations

from typing import Any

from storage.benchmarks.matrix import CacheState, Cell, PlannedRun, Spec
from storage.planner.benchmark_wish import BenchmarkWish


def wish_of(spec: Spec, run: PlannedRun, key: str) -> BenchmarkWish:
    """The run `key` of a matrix. It says nothing of a cache where there is none."""
    return BenchmarkWish(
        spec.vg_uuid,
        spec.vg_name,
        key,
        args_of(run.cell, spec.seed + run.repeat),
        spec.slow_pvs,
        spec.fast_pvs,
    )


def args_of(cell: Cell, seed: int) -> dict[str, Any]:
    """The arguments of `bench.run` that do not depend on the host."""
    args: dict[str, Any] = {
        "target": str(cell.target),
        "profile": str(cell.profile),
        "state": str(cell.state),
        "data_bytes": cell.data_bytes,
        "cache_bytes": cell.cache_bytes,
        "seconds": cell.seconds,
        "seed": seed,
        "jobs": cell.jobs,
        "iodepth": cell.iodepth,
        "block_bytes": cell.block_bytes,
    }
    if cell.has_cache:
        args["mode"] = cell.mode
    if cell.chunk_kib:
        args["chunk_kib"] = cell.chunk_kib
    if cell.has_cutoff:
        args["sequential_cutoff_kib"] = cell.sequential_cutoff_kib
    if cell.state == CacheState.WARMED:
        args["warm_seconds"] = cell.warm_seconds
    if cell.options:
        args["options"] = [list(pair) for pair in cell.options]
    return args

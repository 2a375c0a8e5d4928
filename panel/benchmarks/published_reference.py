"""The published comparison as a benchmark like those of one's own hosts. Pure."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from panel.benchmarks.measured import MeasuredRun, MeasuredSource, Setup, comparable
from storage.analysis.comparison import Conditions
from storage.benchmarks.matrix import CacheState, Cell, Profile, TargetKind
from storage.benchmarks.published import published_document
from storage.benchmarks.summary import (
    PERCENTILES,
    DirectionSummary,
    JobSummary,
    RunSeries,
    RunSummary,
)
from storage.byte_sizes import GIB, KIB, MIB
from storage.models import BenchmarkOrigin

KEY: Final = "published"
"""What addresses call it; no benchmark has such a key."""
NS_IN_US: Final = 1000
TARGETS: Final = {
    "ssd": (TargetKind.SSD, CacheState.NEW, 0),
    "hdd": (TargetKind.HDD, CacheState.NEW, 0),
    "bcache-sc4m": (TargetKind.BCACHE, CacheState.NEW, 4 * MIB // KIB),
    "bcache-sc0": (TargetKind.BCACHE, CacheState.NEW, 0),
    "lvmcache-empty": (TargetKind.LVMCACHE, CacheState.NEW, 0),
    "lvmcache-full": (TargetKind.LVMCACHE, CacheState.JUNK, 0),
}
"""Of each run: the target, the state of its cache, and the sequential cutoff in KiB."""


def published_source() -> MeasuredSource:
    """Where it was measured."""
    document = published_document()
    return MeasuredSource(
        key=KEY,
        title=document["title"],
        origin=BenchmarkOrigin.PUBLISHED,
        place=document["machine"],
    )


@cache
def published_reference() -> tuple[MeasuredRun, ...]:
    """Its six runs. What was not published is unknown."""
    document, source = published_document(), published_source()
    return tuple(
        _run(source, number, run, document["fio"]) for number, run in enumerate(document["runs"], 1)
    )


def _run(
    source: MeasuredSource, number: int, run: dict[str, Any], fio: dict[str, Any]
) -> MeasuredRun:
    target, state, cutoff_kib = TARGETS[run["id"]]
    gib = fio["cache_device_gib"].get(target, 0)
    jobs = len(run["issued_reads"])
    cell = Cell(
        target,
        Profile.ZIPF_READ,
        2 * GIB * jobs,
        fio["runtime_s"],
        state=state,
        cache_bytes=gib * GIB,
        sequential_cutoff_kib=cutoff_kib,
        jobs=jobs,
        iodepth=fio["iodepth"],
    )
    setup = Setup.of_cell(cell)
    return MeasuredRun(
        source=source,
        number=number,
        repeat=0,
        setup=setup,
        summary=_summary(run, cell),
        conditions=comparable(setup, Conditions(is_guest=True)),
    )


def _summary(run: dict[str, Any], cell: Cell) -> RunSummary:
    ios, total = sum(run["issued_reads"]), float(sum(run["job_iops"]))
    latencies = {float(percent): us * NS_IN_US for percent, us in run["clat_usec_job1"].items()}
    read = DirectionSummary(
        ios=ios,
        iops=total,
        bytes_s=total * cell.block_bytes,
        percentiles=tuple(latencies.get(percent) for percent in PERCENTILES),
    )
    return RunSummary(
        seconds=cell.seconds,
        reached_seconds=float(cell.seconds),
        iops=total,
        ios=ios,
        bytes_s=total * cell.block_bytes,
        read=read,
        write=None,
        jobs=tuple(
            JobSummary(number=n, ios=of_job, iops=float(rate))
            for n, (of_job, rate) in enumerate(
                zip(run["issued_reads"], run["job_iops"], strict=True), 1
            )
        ),
        series=RunSeries(step_ms=500),
        hit_rate=run.get("hit_rate"),
    )

"""Benchmarks as files: figures for a spreadsheet, and everything with the raw files, from which the
figures can be computed anew."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from panel.benchmarks.figures import KINDS
from panel.benchmarks.measured import MeasuredRun
from storage.models import Benchmark, BenchmarkRun

VERSION: Final = 1
SETUP: Final = (
    "target",
    "load",
    "data_bytes",
    "cache_bytes",
    "mode",
    "chunk_kib",
    "cutoff_kib",
    "state",
)


def csv_rows(runs: Sequence[MeasuredRun]) -> tuple[list[str], list[list[object]]]:
    """Titles, and a line for each run. An empty cell is not known."""
    titles = [
        *("benchmark", "run", "repeat"),
        *SETUP,
        *("kernel", "fio", "seconds"),
        *(kind.name for kind in KINDS),
    ]
    lines: list[list[object]] = [
        [
            *(run.source.title, run.number, run.repeat + 1),
            *(getattr(run.setup, name) for name in SETUP),
            *(run.conditions.kernel, run.conditions.fio_version, run.summary.reached_seconds),
            *(kind.of(run) for kind in KINDS),
        ]
        for run in runs
    ]
    return titles, lines


def exported(benchmark: Benchmark, *, is_for_strangers: bool = False) -> dict[str, Any]:
    """All of it: what was ordered, and each run with its conditions, its summary and its raw files,
    which are packed with gzip and written in base 64."""
    runs = benchmark.runs.exclude(summary=None).prefetch_related("files")
    return {
        "tiercel_benchmark": VERSION,
        "key": benchmark.key,
        "title": benchmark.title,
        "origin": benchmark.origin,
        "spec": benchmark.spec,
        "begun_at": _moment(benchmark.begun_at),
        "ended_at": _moment(benchmark.ended_at),
        "runs": [_run(run) for run in runs],
    }


def _run(run: BenchmarkRun) -> dict[str, Any]:
    return {
        "number": run.number,
        "repeat": run.repeat,
        "cell": run.cell,
        "state": run.state,
        "outcome": run.outcome,
        "reached_seconds": run.reached_seconds,
        "kernel": run.kernel,
        "fio_version": run.fio_version,
        "boot_id": run.boot_id,
        "begun_at": _moment(run.begun_at),
        "ended_at": _moment(run.ended_at),
        "conditions": run.conditions,
        "summary": run.summary,
        "files": {
            each.name: base64.b64encode(bytes(each.packed)).decode() for each in run.files.all()
        },
    }


def _moment(at: Any) -> str | None:
    return None if at is None else at.isoformat()

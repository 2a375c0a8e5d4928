"""Benchmarks as files: figures for a spreadsheet, and everything with the raw files, from which the
figures can be recomputed."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from panel.benchmarks.measured import MeasuredRun
from panel.benchmarks.run_figures import KINDS
from storage.benchmarks.result_files import FIO, LEGS, RUN
from storage.models import Benchmark, BenchmarkFile, BenchmarkOrigin, BenchmarkRun

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
NAMING: Final = frozenset(
    {"filename", "directory", "hostname", "description", "disk_util", "client", "opendir"}
)
"""Of fio's JSON, what may name a host or a volume."""
OF_FACTS: Final = ("outcome", "reached_seconds", "pauses")
"""Of what the agent says of a run, what its figures depend on."""


def csv_rows(runs: Sequence[MeasuredRun]) -> tuple[list[str], list[list[object]]]:
    """Titles, and a line for each run. An empty cell is not known."""
    titles = [
        "benchmark",
        "run",
        "repeat",
        *SETUP,
        "kernel",
        "fio",
        "seconds",
        *(kind.name for kind in KINDS),
    ]
    lines: list[list[object]] = [
        [
            run.source.title,
            run.number,
            run.repeat + 1,
            *(getattr(run.setup, name) for name in SETUP),
            run.conditions.kernel,
            run.conditions.fio_version,
            run.summary.reached_seconds,
            *(kind.of(run) for kind in KINDS),
        ]
        for run in runs
    ]
    return titles, lines


def exported(benchmark: Benchmark) -> dict[str, Any]:
    """All of it: what was ordered, and each run with its conditions, its figures and its raw files,
    which are packed with gzip and written in base 64."""
    return {
        "tiercel_benchmark": VERSION,
        "title": benchmark.title,
        "figures_from": benchmark.origin,
        "host": benchmark.host.name if benchmark.host is not None else None,
        "spec": benchmark.spec,
        "begun_at": _moment(benchmark.begun_at),
        "ended_at": _moment(benchmark.ended_at),
        "runs": [
            _run(run, run.files.all()) | {"conditions": run.conditions, "boot_id": run.boot_id}
            for run in _with_results(benchmark)
        ],
    }


def exported_to_strangers(benchmark: Benchmark) -> dict[str, Any]:
    """The same without what may name a host, a volume or a person. Files from elsewhere may hold
    anything, and are left out."""
    has_files = benchmark.origin == BenchmarkOrigin.ORDERED
    return {
        "tiercel_benchmark": VERSION,
        "figures_from": benchmark.origin,
        "runs": [
            _run(run, _nameless(run) if has_files else ()) for run in _with_results(benchmark)
        ],
    }


def _with_results(benchmark: Benchmark) -> Iterable[BenchmarkRun]:
    return benchmark.runs.filter(summary__isnull=False).prefetch_related("files")


def _run(run: BenchmarkRun, files: Iterable[BenchmarkFile]) -> dict[str, Any]:
    return {
        "number": run.number,
        "repeat": run.repeat,
        "cell": run.cell,
        "outcome": run.outcome,
        "reached_seconds": run.reached_seconds,
        "kernel": run.kernel,
        "fio_version": run.fio_version,
        "summary": run.summary,
        "files": {each.name: base64.b64encode(bytes(each.packed)).decode() for each in files},
    }


def _nameless(run: BenchmarkRun) -> Iterable[BenchmarkFile]:
    """The files that the figures are computed from, without names."""
    for each in run.files.all():
        if each.name in (RUN, FIO):
            content = msgspec.json.decode(gzip.decompress(bytes(each.packed)))
            kept = _facts(content) if each.name == RUN else _without_names(content)
            yield BenchmarkFile(name=each.name, packed=gzip.compress(msgspec.json.encode(kept)))
        elif each.name == LEGS or each.name.startswith("iops."):
            yield each


def _facts(content: Any) -> dict[str, Any]:
    return {"key": ""} | {name: content[name] for name in OF_FACTS if name in content}


def _without_names(content: Any) -> Any:
    if isinstance(content, dict):
        return {
            name: _without_names(value) for name, value in content.items() if name not in NAMING
        }
    if isinstance(content, list):
        return [_without_names(each) for each in content]
    return content


def _moment(at: Any) -> str | None:
    return None if at is None else at.isoformat()

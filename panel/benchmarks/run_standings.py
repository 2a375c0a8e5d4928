"""The states of a benchmark's runs, for its progress."""

from __future__ import annotations

from collections.abc import Iterable

from storage.benchmarks.progress import RunStanding
from storage.models import BenchmarkRun, RunState


def standings_of(runs: Iterable[BenchmarkRun]) -> list[RunStanding]:
    """Of runs that were ordered here. Raises `BadSpec` for those from elsewhere."""
    return [
        RunStanding(run.matrix_cell, run.begun_at, run.ended_at, run.state != RunState.VOID)
        for run in runs
    ]

"""How far a benchmark is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from storage.benchmarks.estimate import seconds_left
from storage.benchmarks.matrix import Cell


@dataclass(frozen=True, slots=True)
class RunStanding:
    """A run: when it began and ended. One that was stopped early counts as none (`counts`)."""

    cell: Cell
    begun_at: datetime | None
    ended_at: datetime | None
    counts: bool = True


@dataclass(frozen=True, slots=True)
class BenchmarkProgress:
    """`share` is of the time, 0 to 1; `seconds_left` without what a pause, a window or other jobs
    add."""

    done: int
    total: int
    share: float
    seconds_left: float


def progress_of(runs: Iterable[RunStanding], now: datetime) -> BenchmarkProgress:
    """As of now. What a cell took in its last run here is what it takes."""
    counted = [run for run in runs if run.counts]
    over = [run for run in counted if run.ended_at is not None]
    measured = {
        run.cell: (run.ended_at - run.begun_at).total_seconds()
        for run in over
        if run.begun_at is not None and run.ended_at is not None
    }
    current = next((run for run in counted if run.ended_at is None and run.begun_at), None)
    waiting = [run.cell for run in counted if run.begun_at is None and run.ended_at is None]
    begun_at = now if current is None or current.begun_at is None else current.begun_at
    passed = max(0.0, (now - begun_at).total_seconds())
    left = seconds_left(waiting, current.cell if current else None, passed, measured)
    spent = passed + sum(measured[run.cell] for run in over if run.cell in measured)
    whole = spent + left
    return BenchmarkProgress(len(over), len(counted), spent / whole if whole else 1.0, left)

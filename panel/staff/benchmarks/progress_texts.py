"""How far a benchmark has come, and what a button would do to it now, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from panel.benchmarks.estimates import run_seconds
from storage.benchmarks.matrix import BadSpec, label_of
from storage.formatting import counted, seconds
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`done` of `total` runs are over. `seconds_left` is None where nothing goes on, or nothing is
    known. `headline` and `detail` say it."""

    done: int
    total: int
    share: float
    seconds_left: float | None
    headline: str
    detail: str
    pause: str
    pause_now: str
    cancel: str


def progress_of(benchmark: Benchmark, runs: Sequence[BenchmarkRun], now: datetime) -> Progress:
    """Where it stands now."""
    counted_runs = [run for run in runs if run.state != RunState.VOID]
    done = sum(run.is_over for run in counted_runs)
    total = len(counted_runs)
    running = next((run for run in counted_runs if run.state == RunState.RUNNING), None)
    left = _seconds_left(counted_runs, running, now)
    parts = sum(_seconds_of(run) for run in counted_runs)
    return Progress(
        done=done,
        total=total,
        share=1 - left / parts if parts else 0.0,
        seconds_left=left if benchmark.state == BenchmarkState.RUNNING else None,
        headline=_headline(benchmark, done, total, running, left),
        detail="" if running is None else _words(running),
        pause=_pause_text(running, now),
        pause_now=_pause_now_text(running, now),
        cancel=_cancel_text(running, done, total),
    )


def _headline(
    benchmark: Benchmark, done: int, total: int, running: BenchmarkRun | None, left: float
) -> str:
    state = BenchmarkState(benchmark.state)
    if state == BenchmarkState.PAUSED:
        return f"Paused after {done} of {counted(total, 'run')}"
    if running is not None:
        return f"Run {done + 1} of {total}, about {seconds(left)} left"
    if state in (BenchmarkState.WANTED, BenchmarkState.RUNNING):
        return f"{done} of {counted(total, 'run')} done; the next one waits for the host"
    return f"{done} of {counted(total, 'run')} done"


def _seconds_of(run: BenchmarkRun) -> float:
    """What a run of its kind takes."""
    try:
        cell = run.matrix_cell
    except BadSpec:
        return 0.0
    return run_seconds(cell)


def _seconds_left(
    runs: Sequence[BenchmarkRun], running: BenchmarkRun | None, now: datetime
) -> float:
    waiting = sum(_seconds_of(run) for run in runs if run.state == RunState.WANTED)
    return waiting + (_left_of(running, now) if running is not None else 0.0)


def _left_of(run: BenchmarkRun, now: datetime) -> float:
    """Of the run that is going on."""
    whole = _seconds_of(run)
    gone = (now - run.begun_at).total_seconds() if run.begun_at is not None else 0.0
    return max(0.05 * whole, whole - gone)


def _words(run: BenchmarkRun) -> str:
    try:
        return label_of(run.matrix_cell)
    except BadSpec:
        return ""


def _pause_text(running: BenchmarkRun | None, now: datetime) -> str:
    if running is None:
        return "No further run begins until you resume."
    return (
        f"The current run goes on to its end, in about {seconds(_left_of(running, now))}. "
        "Then nothing is left on the host, and no further run begins until you resume."
    )


def _pause_now_text(running: BenchmarkRun | None, now: datetime) -> str:
    if running is None:
        return ""
    gone = (now - running.begun_at).total_seconds() if running.begun_at is not None else 0.0
    return (
        f"The current run stops after {seconds(gone)} of about {seconds(_seconds_of(running))}, "
        "and its scratch volumes are removed. What it measured is kept and says how far it came. "
        "It is repeated when you resume."
    )


def _cancel_text(running: BenchmarkRun | None, done: int, total: int) -> str:
    stopped = "The current run stops, and its scratch volumes are removed. " if running else ""
    kept = f"The results of {counted(done, 'run')} are kept. " if done else ""
    return f"{stopped}{kept}{counted(total - done, 'run')} of {total} will not be done."

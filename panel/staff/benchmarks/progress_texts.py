"""How far a benchmark has come, and what a button would do to it now, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from panel.benchmarks.run_standings import standings_of
from storage.benchmarks.estimate import seconds_of
from storage.benchmarks.matrix import BadSpec, label_of
from storage.benchmarks.progress import BenchmarkProgress, progress_of
from storage.formatting import counted, seconds
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProgress:
    """`headline` and `detail` describe its progress, the others what a button would do now; "" for
    a button that is not shown."""

    done: int
    total: int
    share: float
    headline: str
    detail: str
    pause: str
    pause_now: str
    cancel: str


def shown_progress(
    benchmark: Benchmark, runs: Sequence[BenchmarkRun], now: datetime
) -> ShownProgress:
    """Its progress now. Imported results are complete."""
    try:
        progress = progress_of(standings_of(runs), now)
    except BadSpec:
        progress = BenchmarkProgress(len(runs), len(runs), 1.0, 0.0)
    running = next((run for run in runs if run.state == RunState.RUNNING), None)
    return ShownProgress(
        done=progress.done,
        total=progress.total,
        share=progress.share,
        headline=_headline(benchmark, progress, running),
        detail="" if running is None else label_of(running.matrix_cell),
        pause=_pause_text(running, now),
        pause_now="" if running is None else _stop_text(running, now),
        cancel=_cancel_text(running, progress),
    )


def _headline(
    benchmark: Benchmark, progress: BenchmarkProgress, running: BenchmarkRun | None
) -> str:
    of = f"{progress.done} of {counted(progress.total, 'run')}"
    if benchmark.state == BenchmarkState.PAUSED:
        return f"Paused after {of}"
    if running is not None:
        left = seconds(progress.seconds_left)
        return f"Run {progress.done + 1} of {progress.total}, about {left} left"
    if not benchmark.is_over:
        return f"{of} done; the next one waits for the host"
    return f"{of} done"


def _gone(run: BenchmarkRun, now: datetime) -> float:
    return (now - run.begun_at).total_seconds() if run.begun_at is not None else 0.0


def _pause_text(running: BenchmarkRun | None, now: datetime) -> str:
    if running is None:
        return "No further run starts until you resume."
    left = max(60.0, seconds_of(running.matrix_cell) - _gone(running, now))
    return (
        f"The current run ends in about {seconds(left)} and leaves nothing on the host. No "
        "further run starts until you resume."
    )


def _stop_text(running: BenchmarkRun, now: datetime) -> str:
    return (
        f"The current run stops after {seconds(_gone(running, now))} of about "
        f"{seconds(seconds_of(running.matrix_cell))}, and its scratch volumes are removed. Its "
        "measurements are kept, marked as incomplete. The run is repeated when you resume."
    )


def _cancel_text(running: BenchmarkRun | None, progress: BenchmarkProgress) -> str:
    stopped = "The current run stops, and its scratch volumes are removed. " if running else ""
    kept = f"The results of {counted(progress.done, 'run')} are kept. " if progress.done else ""
    left = counted(progress.total - progress.done, "run")
    return f"{stopped}{kept}{left} of {progress.total} will not be done."

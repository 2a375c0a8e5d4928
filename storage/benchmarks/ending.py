"""Whether a run was steady, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.analysis.comparison.steady_state import (
    SteadyWindow,
    TrackedFigure,
    cache_run,
    round_means,
    steady_window,
)
from storage.benchmarks.run_legs import Floats, Reads
from storage.benchmarks.summary import EndSlope, SteadySummary
from storage.fio.log_series import Grid

Pauses = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RunEnding:
    """`words` say how IOPS ended ("still rising, +3 % an hour (2 to 4)"), `hit_words` the hit
    rate; "" where a target has none."""

    seconds_to_90: int | None = None
    steady: SteadySummary | None = None
    steady_hit_rate: SteadySummary | None = None
    slope: EndSlope | None = None
    words: str = ""
    hit_words: str = ""


def ending_of(grid: Grid | None, reads: Reads | None, pauses: Pauses) -> RunEnding:
    """Without what a pause touches."""
    measured = None if grid is None else _is_measured(grid, pauses)
    if grid is None or measured is None or not measured.any():
        return RunEnding()
    rates, each_s = grid.rates[measured], grid.step_ms / 1000
    if reads is None:
        run = cache_run(rates, each_s)
    else:
        edges = edges_of(grid)
        read = np.diff(reads.all.at(edges))[measured]
        missed = np.diff(np.interp(edges, reads.all.ms, reads.missed))[measured]
        run = cache_run(rates, each_s, np.maximum(0.0, read - missed), missed)
    rounds = round_means(rates, each_s)
    hits = run.hit_rate
    return RunEnding(
        run.seconds_until_reached,
        _steady(steady_window(rounds), rounds.size),
        None if hits is None else _steady(hits.window, rounds.size),
        _slope(run.iops),
        run.iops.words,
        "" if hits is None else hits.words,
    )


def edges_of(grid: Grid) -> Floats:
    """Where its pieces begin, and the last one ends, in ms."""
    count = len(grid.amounts) + 1
    return np.asarray(grid.start_ms + np.arange(count) * grid.step_ms, dtype=np.float64)


def _is_measured(grid: Grid, pauses: Pauses) -> npt.NDArray[np.bool_]:
    """Which pieces of the grid no pause touches."""
    starts = edges_of(grid)[:-1]
    is_paused = np.zeros(len(starts), bool)
    for start, end in pauses:
        is_paused |= (starts < end) & (starts + grid.step_ms > start)
    return ~is_paused & ~np.isnan(grid.amounts)


def _steady(window: SteadyWindow | None, rounds: int) -> SteadySummary | None:
    if window is None:
        return None
    return SteadySummary(
        window.is_steady,
        window.mean,
        window.excursion,
        window.rise,
        window.first_round,
        window.last_round,
        rounds,
    )


def _slope(figure: TrackedFigure) -> EndSlope | None:
    slope = figure.slope
    return None if slope is None else EndSlope(slope.mean, slope.low, slope.high)

"""Logs of several jobs on one common grid.

The times of jobs drift apart, so rows are joined neither by number nor by equal times. A row
counts value x its own window. Its count is spread evenly over the window, and the grid takes what
overlaps. The sum over the grid is the sum over the rows, whatever the step.

fio writes no row for a window without I/O, and the next row's value is that of its own window only.
So a window is never longer than 2.5 usual ones: what is left of a longer distance is a gap, which
stays one. The last partial window is not logged. Where the job's total is known, what the rows lack
becomes a last piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.fio.results import FioRefusal, LoggedSeries

STEP_MS: Final = 500
LONGEST_WINDOW: Final = 2.5
MOST_CELLS: Final = 2_000_000

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Windows:
    """What a job did in each of its own windows: I/Os, or KiB."""

    starts_ms: Numbers
    ends_ms: Numbers
    amounts: Numbers

    @property
    def total(self) -> float:
        return float(self.amounts.sum())

    def until(self, edges_ms: Numbers) -> Numbers:
        """The amount before each of some times."""
        return self._reached(edges_ms, self.amounts)

    def covered_until(self, edges_ms: Numbers) -> Numbers:
        """The milliseconds before each of some times that a window covers."""
        return self._reached(edges_ms, self.ends_ms - self.starts_ms)

    def _reached(self, edges_ms: Numbers, parts: Numbers) -> Numbers:
        after = np.cumsum(parts)
        times = np.ravel(np.column_stack([self.starts_ms, self.ends_ms]))
        return np.interp(edges_ms, times, np.ravel(np.column_stack([after - parts, after])))

    def shifted(self, milliseconds: float) -> Windows:
        """Of a job that began later (`startdelay`, `stonewall`)."""
        return Windows(self.starts_ms + milliseconds, self.ends_ms + milliseconds, self.amounts)


@dataclass(frozen=True, eq=False, slots=True)
class Grid:
    """Amounts in cells of equal length. NaN where nothing was logged."""

    start_ms: float
    step_ms: float
    amounts: Numbers
    covered_ms: Numbers

    @property
    def total(self) -> float:
        return float(np.nansum(self.amounts))

    @property
    def rates(self) -> Numbers:
        """A second's amount in each cell: IOPS, or KiB/s."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.covered_ms > 0, self.amounts * 1000 / self.covered_ms, np.nan)


@dataclass(frozen=True, eq=False, slots=True)
class Merged:
    """All jobs together, and each apart on the same grid."""

    together: Grid
    apart: tuple[Grid, ...]


def windows(
    series: LoggedSeries, total: float | None = None, runtime_ms: float | None = None
) -> Windows:
    """The windows of a log of IOPS or bandwidth, with a last piece where the total is known."""
    if series.quantity not in ("iops", "bandwidth"):
        raise ValueError("a log of latency counts nothing")
    logged = _of_single_ios(series) if series.every_io else _of_averages(series, total)
    missing = 0.0 if total is None else total - logged.total
    if missing <= 0:
        return logged
    last_ms = float(logged.ends_ms[-1])
    end_ms = max(runtime_ms or 0.0, last_ms + 1)
    return Windows(
        np.append(logged.starts_ms, last_ms),
        np.append(logged.ends_ms, end_ms),
        np.append(logged.amounts, missing),
    )


def _of_averages(series: LoggedSeries, total: float | None) -> Windows:
    times, values = series.times_ms, series.values
    usual_ms = float(np.median(np.diff(times))) if len(times) > 1 else float(times[0])
    before = np.concatenate([[0.0], times[:-1]])
    is_long = times - before > LONGEST_WINDOW * usual_ms
    starts = np.where(is_long, times - usual_ms, before)
    kept = Windows(starts, times, values * (times - starts) / 1000)
    if total is None or not is_long[1:].any():
        return kept
    whole_starts = np.concatenate([starts[:1], before[1:]])
    whole = Windows(whole_starts, times, values * (times - whole_starts) / 1000)
    return min(kept, whole, key=lambda one: abs(one.total - total))


def _of_single_ios(series: LoggedSeries) -> Windows:
    """Rows counted by their millisecond; between them nothing was done."""
    weights = series.sizes_kib if series.quantity == "bandwidth" else np.ones(series.rows)
    knots = np.unique(np.concatenate([[0.0], series.times_ms, series.times_ms + 1]))
    amounts = np.zeros(len(knots) - 1)
    np.add.at(amounts, np.searchsorted(knots, series.times_ms), weights)
    return Windows(knots[:-1], knots[1:], amounts)


def merge(jobs: Sequence[Windows], step_ms: float = STEP_MS) -> Merged:
    """Jobs of one quantity and direction on a common grid."""
    start_ms = np.floor(min(float(job.starts_ms[0]) for job in jobs) / step_ms) * step_ms
    end_ms = max(float(job.ends_ms[-1]) for job in jobs)
    cells = int(np.ceil((end_ms - start_ms) / step_ms))
    if cells > MOST_CELLS:
        raise FioRefusal("log-too-long", "The times of the rows are too far apart for a chart.")
    edges = start_ms + np.arange(cells + 1) * step_ms
    amounts = np.array([np.diff(job.until(edges)) for job in jobs])
    covered = np.array([np.diff(job.covered_until(edges)) for job in jobs])
    apart = tuple(
        Grid(start_ms, step_ms, np.where(length > 0, amount, np.nan), length)
        for amount, length in zip(amounts, covered, strict=True)
    )
    longest = covered.max(axis=0)
    sums = np.where(longest > 0, amounts.sum(axis=0), np.nan)
    return Merged(Grid(start_ms, step_ms, sums, longest), apart)


def mean_latency_ns(latency: LoggedSeries, ios: Windows) -> float | None:
    """The mean over a log of latency. A window's mean weighs as much as the window has I/Os."""
    before = np.concatenate([[0.0], latency.times_ms[:-1]])
    weights = ios.until(latency.times_ms) - ios.until(before)
    weight = float(weights.sum())
    return float(latency.values @ weights) / weight if weight > 0 else None

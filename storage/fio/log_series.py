"""Logs of several jobs on one common grid.

The times of jobs drift apart, so rows are joined neither by number nor by equal times. A row
counts value x its own window. Its count is spread evenly over the window, and the grid takes what
overlaps. The sum over the grid is the sum over the rows, whatever the step.

fio writes no row for a window without I/O, and the next row's value is that of its own window only.
So a window is never longer than 2.5 usual ones: what is left of a longer distance is a gap, which
stays one. The last partial window is not logged. Where the job's total is known, what the rows lack
becomes a last piece, at most as fast as the fastest window; what rounding lost is spread over all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.fio.results import (
    Direction,
    DirectionResult,
    FioRefusal,
    Imported,
    LoggedSeries,
    Quantity,
)

STEP_MS: Final = 500
LONGEST_WINDOW: Final = 2.5
MOST_CELLS: Final = 20_000_000
UNIX_EPOCH_MS: Final = 10**12
"""Times from which on a log counts since 1970 (`log_unix_epoch`), not since its job began."""
MOST_LOST: Final = 1.02
"""Total to logged sum, beyond the last piece."""

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
    """The windows of a log of IOPS or bandwidth. With the job's total they add up to it, unless it
    is so far off that another job wrote the log."""
    if series.quantity not in ("iops", "bandwidth"):
        raise ValueError("a log of latency counts nothing")
    logged = _of_single_ios(series) if series.every_io else _of_averages(series, total)
    if total is None or total <= logged.total or not logged.total:
        return logged
    lengths = logged.ends_ms - logged.starts_ms
    last_ms = float(logged.ends_ms[-1])
    end_ms = last_ms + float(np.median(lengths)) if runtime_ms is None else runtime_ms
    fastest = float((logged.amounts / np.maximum(lengths, 1)).max())
    piece = min(total - logged.total, fastest * max(0.0, end_ms - last_ms))
    lost = (total - piece) / logged.total
    if lost > MOST_LOST:
        return logged
    if not piece:
        return Windows(logged.starts_ms, logged.ends_ms, logged.amounts * lost)
    return Windows(
        np.append(logged.starts_ms, last_ms),
        np.append(logged.ends_ms, end_ms),
        np.append(logged.amounts * lost, piece),
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
    first_ms = float(series.times_ms.min())
    start_ms = first_ms if first_ms >= UNIX_EPOCH_MS else 0.0
    knots = np.unique(np.concatenate([[start_ms], series.times_ms, series.times_ms + 1]))
    amounts = np.zeros(len(knots) - 1)
    np.add.at(amounts, np.searchsorted(knots, series.times_ms), weights)
    return Windows(knots[:-1], knots[1:], amounts)


def merge(jobs: Sequence[Windows], step_ms: float = STEP_MS) -> Merged:
    """Jobs of one quantity and direction on a common grid."""
    start_ms = np.floor(min(float(job.starts_ms[0]) for job in jobs) / step_ms) * step_ms
    end_ms = max(float(job.ends_ms[-1]) for job in jobs)
    cells = int(np.ceil((end_ms - start_ms) / step_ms))
    if cells * len(jobs) > MOST_CELLS:
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


def merged_logs(
    imported: Imported, quantity: Quantity, direction: Direction, step_ms: float = STEP_MS
) -> Merged | None:
    """All logs of a quantity and direction, with the totals of their jobs where these are known.
    None where there is no such log; refused where jobs began at times that are not known."""
    logs = [
        (series, imported.job_of(series.job_number))
        for series in imported.series
        if (series.quantity, series.direction) == (quantity, direction)
    ]
    starts = [job.start_unix_ms if job else None for _, job in logs]
    if len(logs) > 1 and None in starts and any(job and job.begins_later for _, job in logs):
        sentence = "The jobs began at times that the files do not say: set log_unix_epoch=1."
        raise FioRefusal("starts-unknown", sentence)
    jobs = []
    for (series, job), start_ms in zip(logs, starts, strict=True):
        result = job.directions.get(direction) if job else None
        own = windows(series, *_total_of(result, quantity))
        if start_ms is not None and None not in starts and series.times_ms[0] < UNIX_EPOCH_MS:
            own = own.shifted(start_ms - min(start for start in starts if start is not None))
        jobs.append(own)
    return merge(jobs, step_ms) if jobs else None


def _total_of(
    result: DirectionResult | None, quantity: Quantity
) -> tuple[float | None, float | None]:
    if result is None:
        return None, None
    kib = None if result.io_bytes is None else result.io_bytes / 1024
    return (result.total_ios if quantity == "iops" else kib), result.runtime_ms


def mean_latency_ns(latency: LoggedSeries, ios: Windows) -> float | None:
    """The mean over a log of latency. A window's mean weighs as much as the window has I/Os."""
    before = np.concatenate([[0.0], latency.times_ms[:-1]])
    weights = ios.until(latency.times_ms) - ios.until(before)
    weight = float(weights.sum())
    return float(latency.values @ weights) / weight if weight > 0 else None

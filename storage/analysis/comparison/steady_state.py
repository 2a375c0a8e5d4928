"""Whether a run was steady at its end, and since when.

The two criteria are those of SNIA's Solid State Storage Performance Test Specification 2.0.2: in a
window of five rounds of a minute the figures lie within 20 % of their mean, and their least-squares
line rises or falls by at most 10 % over the window. Each alone can be misled: a slow drift has a
small range, a saw-tooth a small slope.

A cache learns for hours, by less than 10 % in five minutes. It is steady only where, besides, its
IOPS and its hit rate surely change by less than `SLOW_AN_HOUR`; the interval of that slope is a
block bootstrap of the residuals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.analysis.comparison.bootstrap import block_resamples
from storage.analysis.comparison.measured_change import MeasuredChange
from storage.analysis.comparison.student import Floats

ROUND_SECONDS: Final = 60
WINDOW: Final = 5
MOST_ROUNDS: Final = 25
MOST_EXCURSION: Final = 0.2
MOST_RISE: Final = 0.1
BLOCKS: Final = 4
"""As few as a slope can be judged by. More and shorter ones claim too much: of an hour whose
minutes have a correlation of 0.8 with the next one, twelve blocks hold the truth in 77 % of all
cases instead of 95 %, four in 95 %."""
LEAST_BLOCK: Final = 5
"""Rounds; shorter blocks are shorter than the correlation of a cache."""
LEAST_ROUNDS: Final = 30
LAST_ROUNDS: Final = 120
"""The end of a run is its last two hours, ..."""
FIRST_SHARE: Final = 1 / 3
"""... and never this first part of it."""
SLOW_AN_HOUR: Final = 0.05
NOTABLE_AN_HOUR: Final = 0.01
LEAST_ERROR: Final = 1e-4
REACHED: Final = 0.9
FIRST_SECONDS: Final = 30


def round_means(values: npt.ArrayLike, seconds_each: float) -> Floats:
    """The means (rounds,) of whole minutes of a series (n,), of which each value stands for
    `seconds_each`."""
    series = np.asarray(values, dtype=float)
    # A thousandth of a value more: sums of 0.1 are not quite 60.
    whole = int((series.size + 1e-3) * seconds_each // ROUND_SECONDS)
    places = ((np.arange(series.size) + 1e-3) * seconds_each // ROUND_SECONDS).astype(int)
    is_whole = places < whole
    sums = np.bincount(places[is_whole], series[is_whole], minlength=whole)
    return np.asarray(sums / np.bincount(places[is_whole], minlength=whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyWindow:
    """Five rounds, `first_round` to `last_round` of the run, counted from 1. `excursion` is the
    largest less the smallest, `rise` how far the least-squares line rises or falls over the window,
    both as shares of the mean. The line: `intercept` + `slope` for each round since the first."""

    first_round: int
    last_round: int
    mean: float
    excursion: float
    rise: float
    slope: float
    intercept: float

    @property
    def is_steady(self) -> bool:
        """Whether both criteria hold."""
        return self.excursion <= MOST_EXCURSION and self.rise <= MOST_RISE


def steady_window(rounds: Floats) -> SteadyWindow | None:
    """As SNIA asks: the first window that is steady, or else the last within 25 rounds, which is
    not. None of fewer than five rounds."""
    last = None
    for last in _windows(rounds[:MOST_ROUNDS]):
        if last.is_steady:
            return last
    return last


def last_window(rounds: Floats) -> SteadyWindow | None:
    """The last five rounds."""
    return _window(rounds, rounds.size) if rounds.size >= WINDOW else None


def _windows(rounds: Floats) -> Iterator[SteadyWindow]:
    return (_window(rounds, end) for end in range(WINDOW, rounds.size + 1))


def _window(rounds: Floats, end: int) -> SteadyWindow:
    values = rounds[end - WINDOW : end]
    mean = float(values.mean())
    slope, intercept = np.polyfit(np.arange(WINDOW), values, 1).tolist()
    scale = mean or np.inf
    return SteadyWindow(
        first_round=end - WINDOW + 1,
        last_round=end,
        mean=mean,
        excursion=float(np.ptp(values)) / scale,
        rise=abs(slope) * (WINDOW - 1) / scale,
        slope=slope,
        intercept=intercept,
    )


def seconds_until_reached(rounds: Floats) -> int | None:
    """Until the means of minutes stay above 90 % of the last window's mean; None where the last one
    is below it, or there is no window."""
    window = last_window(rounds)
    if window is None:
        return None
    below = np.flatnonzero(rounds <= REACHED * window.mean)
    since = int(below[-1]) + 1 if below.size else 0
    return since * ROUND_SECONDS if since < rounds.size else None


def slope_at_end(rounds: Floats, scale: float) -> MeasuredChange | None:
    """The change in an hour at the end of a run, in multiples of `scale`, with its interval; None
    where the run is shorter than `LEAST_ROUNDS`."""
    end = rounds[-min(LAST_ROUNDS, rounds.size - int(rounds.size * FIRST_SHARE)) :]
    block = end.size // BLOCKS
    if block < LEAST_BLOCK or not scale:
        return None
    hours = np.arange(end.size) * ROUND_SECONDS / 3600
    centred = hours - hours.mean()
    of_slope = centred / (centred @ centred)
    slope = float(of_slope @ end)
    residuals = end - end.mean() - slope * centred
    error = float((block_resamples(residuals, block) @ of_slope).std())
    return MeasuredChange.of(slope / scale, max(LEAST_ERROR, error / scale), BLOCKS - 2)


class Ending(StrEnum):
    """How a figure ended."""

    STEADY = "steady"
    RISING = "still rising"
    FALLING = "still falling"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFigure:
    """The end of a series: its last window, and its `slope` in an hour, as a share of its mean
    there, or of 1 where `unit` is points. None where the run was too short."""

    window: SteadyWindow | None
    slope: MeasuredChange | None
    unit: str

    @property
    def ending(self) -> Ending:
        """A cache that learns has a steady window, so that the slope comes first."""
        slope = self.slope
        if slope is None or self.window is None:
            return Ending.UNKNOWN
        if slope.low > 0 and slope.mean >= NOTABLE_AN_HOUR:
            return Ending.RISING
        if slope.high < 0 and slope.mean <= -NOTABLE_AN_HOUR:
            return Ending.FALLING
        is_slow = slope.low > -SLOW_AN_HOUR and slope.high < SLOW_AN_HOUR
        return Ending.STEADY if is_slow and self.window.is_steady else Ending.UNKNOWN

    @property
    def words(self) -> str:
        """How it ended, with its slope."""
        if self.slope is None or self.window is None:
            return f"cannot tell before {LEAST_ROUNDS} minutes"
        low, high = (f"{100 * each:+.0f}" for each in (self.slope.low, self.slope.high))
        if self.ending in (Ending.RISING, Ending.FALLING):
            best = f"{100 * self.slope.mean:+.0f}"
            return f"{self.ending}, {best} {self.unit} an hour ({low} to {high})"
        if self.ending is Ending.UNKNOWN and not self.window.is_steady:
            return f"not steady, changes by {self.window.excursion:.0%} in 5 minutes".replace(
                "%", " %"
            )
        return f"{self.ending}, {low} to {high} {self.unit} an hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRun:
    """A run on a cache. `first_seconds_iops` is the mean of the first 30 s. Without a `hit_rate`
    the run is never called steady."""

    iops: TrackedFigure
    hit_rate: TrackedFigure | None
    first_seconds_iops: float
    seconds_until_reached: int | None

    @property
    def ending(self) -> Ending:
        """What rises, falls or is not known in one figure is so in the run."""
        both = {self.iops.ending, self.hit_rate.ending if self.hit_rate else Ending.UNKNOWN}
        order = (Ending.RISING, Ending.FALLING, Ending.UNKNOWN, Ending.STEADY)
        return next(ending for ending in order if ending in both)

    @property
    def sentence(self) -> str:
        """How both figures ended."""
        of_hits = "not known" if self.hit_rate is None else self.hit_rate.words
        return f"IOPS: {self.iops.words}; hit rate: {of_hits}"


def cache_run(
    iops: npt.ArrayLike,
    seconds_each: float,
    ssd_reads: npt.ArrayLike | None = None,
    hdd_reads: npt.ArrayLike | None = None,
) -> CacheRun:
    """Of series (n,) on one grid, each value for `seconds_each`: IOPS, and how many reads the legs
    served, without promotions and write-backs."""
    series = np.asarray(iops, dtype=float)
    rounds = round_means(series, seconds_each)
    window = last_window(rounds)
    hit_rate = None
    if ssd_reads is not None and hdd_reads is not None:
        from_ssd, from_hdd = (round_means(each, seconds_each) for each in (ssd_reads, hdd_reads))
        is_read = from_ssd + from_hdd > 0
        rates = from_ssd[is_read] / (from_ssd + from_hdd)[is_read]
        hit_rate = TrackedFigure(
            window=last_window(rates), slope=slope_at_end(rates, 1.0), unit="points"
        )
    first = series[: max(1, round(FIRST_SECONDS / seconds_each))]
    return CacheRun(
        iops=TrackedFigure(
            window=window,
            slope=slope_at_end(rounds, window.mean if window else 0.0),
            unit="%",
        ),
        hit_rate=hit_rate,
        first_seconds_iops=float(first.mean()),
        seconds_until_reached=seconds_until_reached(rounds),
    )

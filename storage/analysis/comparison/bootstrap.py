"""Intervals by resampling: of series whose neighbours are alike, and of percentiles.

Blocks of a series that are longer than its correlation are drawn with replacement, from a circle
(H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Ann. Statist.
17, 1989; D. N. Politis and J. P. Romano, 1992). Of a percentile whole units are drawn, because
what a boot dealt is in all of its I/Os. Percentiles of two sides are compared as other figures are:
the one of each unit's summed bins is its figure (`compare_units`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.analysis.comparison.measured_change import COVERAGE
from storage.analysis.comparison.student import Floats

DRAWS: Final = 1000
SEED: Final = 20261127
LEAST_UNITS: Final = 6
"""Of fewer the interval of a bootstrap is too narrow."""
SAMPLES_BEYOND: Final = 10
"""The fewest I/Os slower than a percentile that is shown."""


def block_resamples(values: Floats, block: int, draws: int = DRAWS) -> Floats:
    """Series (draws, n) of blocks of `block` neighbours each, of the series (n,)."""
    size = values.size
    starts = np.random.default_rng(SEED).integers(0, size, (draws, ceil(size / block)))
    places = (starts[:, :, None] + np.arange(block)) % size
    return np.take(values, places.reshape(draws, -1)[:, :size])


def samples_needed(percent: float) -> int:
    """How many I/Os a percentile takes: 1,000 for 99, 10,000 for 99.9."""
    return ceil(round(SAMPLES_BEYOND * 100 / (100 - percent), 6))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPercentile:
    """In ns, with its interval of 95 % over units; no `low` and `high` of fewer than `LEAST_UNITS`.
    No `value` of too few I/Os."""

    value: float | None
    low: float | None
    high: float | None
    samples: int
    samples_needed: int

    @property
    def is_too_few(self) -> bool:
        """Whether this percentile would be chance."""
        return self.samples < self.samples_needed


def percentile_of_bins(counts: npt.ArrayLike, edges: npt.ArrayLike, percent: float) -> Floats:
    """The middle of the bin that holds the percentile, as fio shows it. counts (..., bins), edges
    (bins + 1,) in ns; (...,). Histograms without a count have none: NaN."""
    bounds = np.asarray(edges, dtype=float)
    cumulated = np.cumsum(np.asarray(counts, dtype=float), axis=-1)
    total = cumulated[..., -1]
    place = (cumulated < (total * percent / 100)[..., None]).sum(axis=-1)
    return np.where(total > 0, (bounds[place] + bounds[place + 1]) / 2, np.nan)


def measured_percentile(
    units: Sequence[npt.ArrayLike], edges: npt.ArrayLike, percent: float
) -> MeasuredPercentile:
    """Of the summed bins of all units, each (bins,)."""
    counts = np.array(units, dtype=np.int64)
    samples, needed = int(counts.sum()), samples_needed(percent)
    if samples < needed:
        return MeasuredPercentile(
            value=None, low=None, high=None, samples=samples, samples_needed=needed
        )
    low, high = None, None
    if len(counts) >= LEAST_UNITS:
        drawn = np.random.default_rng(SEED).integers(0, len(counts), (DRAWS, len(counts)))
        # How often each unit was drawn, so that the bins of a draw are one product.
        times = (drawn[:, :, None] == np.arange(len(counts))).sum(axis=1)
        values = percentile_of_bins(times @ counts, edges, percent)
        low, high = np.quantile(values, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]).tolist()
    return MeasuredPercentile(
        value=float(percentile_of_bins(counts.sum(axis=0), edges, percent)),
        low=low,
        high=high,
        samples=samples,
        samples_needed=needed,
    )

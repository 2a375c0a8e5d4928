"""fio's bins of latency, their sums, and percentiles of the sums.

fio counts latencies in groups of 64 bins. The first 128 bins are one unit wide, each later group
twice as wide as the one before, so that a bin is at most 1/64 of its value wide. Before fio 2.99
there are 19 groups of microseconds, since then 29 groups of nanoseconds. A histogram log may merge
neighbours: `log_hist_coarseness=c` makes one bin of 2**c.

A percentile of several jobs or windows is that of the sum of their bins. A mean of percentiles is
the percentile of nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

BITS: Final = 6
GROUP: Final = 1 << BITS
UNIT_NS: Final = {19 * GROUP: 1000, 29 * GROUP: 1}
"""Bins of a geometry, and the nanoseconds of its unit."""
MOST_COARSE: Final = BITS
LARGEST_SUM: Final = 2**62


class BinsError(ValueError):
    """Counts that are no histogram of fio."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """How many bins there are before any are merged, and how many of these are one."""

    bins: int
    coarseness: int = 0

    @property
    def unit_ns(self) -> int:
        return UNIT_NS[self.bins]

    @property
    def counts(self) -> int:
        """How many numbers a row has."""
        return self.bins >> self.coarseness


GEOMETRIES: Final = {
    geometry.counts: geometry
    for geometry in (
        Geometry(bins, coarseness) for bins in UNIT_NS for coarseness in range(MOST_COARSE + 1)
    )
}
"""By the numbers of a row: no two geometries have the same."""


def lower_edge(index: int) -> int:
    """The least value of a bin, in the unit of the geometry."""
    if index < 2 * GROUP:
        return index
    exponent = (index >> BITS) - 1
    return (1 << (exponent + BITS)) + ((index & (GROUP - 1)) << exponent)


def index_of(value: int, bins: int) -> int:
    """The bin that a value belongs to. The last one is open at its end."""
    if value < 2 * GROUP:
        return value
    exponent = value.bit_length() - BITS - 1
    return min(((exponent + 1) << BITS) + ((value >> exponent) & (GROUP - 1)), bins - 1)


@lru_cache(maxsize=16)
def middles_ns(geometry: Geometry) -> npt.NDArray[np.float64]:
    """What fio calls the value of each bin."""
    step = 1 << geometry.coarseness
    edges = [lower_edge(index) for index in range(0, geometry.bins + 1, step)]
    middles = [low if high - low == 1 else low + (high - low) / 2 for low, high in pairwise(edges)]
    return np.array(middles) * geometry.unit_ns


@dataclass(frozen=True, eq=False, slots=True)
class LatencyBins:
    """How many I/Os were in each bin."""

    geometry: Geometry
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: Iterable[int]) -> LatencyBins:
        """A row of a histogram log, whose geometry follows from its length."""
        row = list(counts)
        geometry = GEOMETRIES.get(len(row))
        if geometry is None:
            raise BinsError(f"fio writes no histogram of {len(row)} bins")
        if any(count < 0 for count in row) or sum(row) > LARGEST_SUM:
            raise BinsError("the counts of the bins are impossible")
        return cls(geometry, np.array(row, dtype=np.int64))

    @classmethod
    def at(cls, counts: Iterable[tuple[int, int]], bins: int) -> LatencyBins:
        """Pairs of a bin's index and its count."""
        row = [0] * bins
        for index, count in counts:
            if not 0 <= index < bins:
                raise BinsError(f"fio has no bin {index}")
            row[index] += count
        return cls.of(row)

    @classmethod
    def sum(cls, several: Iterable[LatencyBins]) -> LatencyBins:
        """All in one. The finer ones are made as coarse as the coarsest."""
        parts = list(several)
        if len({part.geometry.bins for part in parts}) != 1:
            raise BinsError("bins of microseconds and of nanoseconds cannot be added")
        coarseness = max(part.geometry.coarseness for part in parts)
        coarse = [part.coarsened(coarseness) for part in parts]
        if sum(part.count for part in parts) > LARGEST_SUM:
            raise BinsError("the counts of the bins are impossible")
        return cls(coarse[0].geometry, np.sum([part.counts for part in coarse], axis=0))

    def coarsened(self, coarseness: int) -> LatencyBins:
        """With neighbours merged, as `log_hist_coarseness` does."""
        factor = 1 << (coarseness - self.geometry.coarseness)
        return LatencyBins(
            Geometry(self.geometry.bins, coarseness), self.counts.reshape(-1, factor).sum(axis=1)
        )

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    @property
    def mean_ns(self) -> float | None:
        """Within half a bin of the true mean."""
        count = self.count
        if not count:
            return None
        return float(self.counts @ middles_ns(self.geometry)) / count

    def percentile_ns(self, percent: float) -> float | None:
        """The middle of the first bin that holds it, as fio takes it."""
        count = self.count
        if not count:
            return None
        rank = max(1, math.ceil(Fraction(percent) * count / 100))
        first = int(np.searchsorted(np.cumsum(self.counts), rank))
        return float(middles_ns(self.geometry)[first])


def samples_needed(percent: float) -> int:
    """Ten samples above a percentile: with fewer it is one I/O's luck."""
    return round(100 / (100 - percent) * 10) if percent < 100 else 1


def too_few(percent: float, count: int) -> bool:
    """Whether a percentile of so many I/Os is to be shown as "too few"."""
    return count < samples_needed(percent)

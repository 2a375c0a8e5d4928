"""Percentiles of latency behind a cache: a mixture of two distributions. Pure.

A share h of the I/Os takes what the SSD takes, the others what the slow I/Os of the same volume
took before: F = h * F_ssd + (1 - h) * F_slow. Next to the step between the two a percentile may be
either, and no number is given.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log
from typing import Final, Self

from storage.analysis.curve.queueing import SLOW_MS
from storage.metrics.counters import LATENCY_BOUNDS_NS

EDGE: Final = 0.04
"""So near to the hit rate a quantile is at the edge of the cache."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Points of a distribution, (quantile, milliseconds) each, both rising; between them the
    milliseconds are interpolated on a log scale."""

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of_histogram(cls, counts: Sequence[int]) -> Self | None:
        """Of the buckets of `storage.metrics.counters.LATENCY_BOUNDS_NS`; None without any I/O.
        What lies in the open bucket counts as its bound."""
        total = sum(counts)
        if not total:
            return None
        bounds = [ns / 1e6 for ns in LATENCY_BOUNDS_NS]
        cumulative = [count / total for count in accumulate(counts)]
        ends = [*bounds, bounds[-1]]
        return cls(((0.0, bounds[0] / 2), *zip(cumulative, ends, strict=True)))

    def quantile_ms(self, quantile: float) -> float:
        """What that share of the I/Os did not exceed."""
        quantiles = [each for each, _ in self.points]
        n = bisect_left(quantiles, quantile)
        if n == 0 or n == len(self.points):
            return self.points[min(n, len(self.points) - 1)][1]
        (below, low), (above, high) = self.points[n - 1 : n + 1]
        return float(low * (high / low) ** ((quantile - below) / (above - below)))

    def share_above(self, ms: float) -> float:
        """The share of I/Os that took longer."""
        taken = [each for _, each in self.points]
        n = bisect_left(taken, ms)
        if n == len(self.points):
            return 1 - self.points[-1][0]
        if n == 0:
            return 1.0
        (below, low), (above, high) = self.points[n - 1 : n + 1]
        return 1 - below - (above - below) * log(ms / low) / log(high / low)


def percentile_ms(
    quantile: float, hit_rate: float, ssd: Latencies, before: Latencies, *, slow_factor: float = 1.0
) -> float | None:
    """What that share of the I/Os will not exceed, None at the edge of the cache. `before` are the
    latencies without a cache, of which the slow ones count, each `slow_factor` times as long
    (`storage.analysis.curve.queueing.slow_time_factor`)."""
    if abs(quantile - hit_rate) < EDGE:
        return None
    if quantile < hit_rate:
        return ssd.quantile_ms(quantile / hit_rate)
    slow = before.share_above(SLOW_MS)
    rank = (quantile - hit_rate) / (1 - hit_rate)
    return max(SLOW_MS, slow_factor * before.quantile_ms(1 - slow * (1 - rank)))

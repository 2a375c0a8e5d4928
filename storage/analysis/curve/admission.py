"""A cache that admits a miss only with a probability p, once it is full: q-LRU. Pure.

Chunks that are touched with a rate of lambda are found in the cache with the probability
p * (1 - x) / (x + p * (1 - x)), where x = exp(-lambda * T), and T is such that the chunks found
fill the cache (Garetto, Leonardi and Martina, "A unified approach to the performance analysis of
caching systems", ACM ToMPECS 2016, after Che's approximation). The lower p, the more of the cache
is left to chunks that are touched often. The rates come from the curve: P(t) is a mixture of
exp(-lambda * t), whose weights are found by expectation maximisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, expm1, inf, log1p
from typing import Final

from storage.analysis.curve.miss_ratio import MissRatioCurve

ROUNDS: Final = 60
SLOWEST: Final = 1 / 16
"""The lowest rate, in touches within the longest time of the curve."""


@dataclass(frozen=True, slots=True)
class RateMixture:
    """Shares of the references that go to chunks touched with these rates, which are in touches
    for each reference."""

    rates: tuple[float, ...]
    shares: tuple[float, ...]

    def miss_ratio(self, chunks: float, promotion_share: float) -> float:
        """Of a full cache of so many chunks."""
        low, high = 0.0, 1.0
        while self._held(high, promotion_share) < chunks:
            high *= 2
            if high > SLOWEST * 1e6 / self.rates[0]:
                return 0.0
        for _ in range(50):
            middle = (low + high) / 2
            if self._held(middle, promotion_share) < chunks:
                low = middle
            else:
                high = middle
        return sum(
            share * (1 - _found(rate * high, promotion_share))
            for rate, share in zip(self.rates, self.shares, strict=True)
        )

    def _held(self, time: float, promotion_share: float) -> float:
        return sum(
            share / rate * _found(rate * time, promotion_share)
            for rate, share in zip(self.rates, self.shares, strict=True)
        )


def rate_mixture(curve: MissRatioCurve) -> RateMixture:
    """The rates behind a curve."""
    end, times = curve.times[-1], [1.0]
    while times[-1] < end:
        times.append(times[-1] * 2)
    growth = curve.growths[0]
    left = [curve.miss_ratios_at(time, growth).both for time in times[:-1]]
    ends = [0.0, *times[:-1], inf]
    masses = [max(0.0, a - b) for a, b in pairwise([1.0, *left, 0.0])]
    rates, rate = list[float](), SLOWEST / end
    while rate < 1:
        rates.append(rate)
        rate *= 2**0.5
    kernel = [[exp(-rate * a) - exp(-rate * b) for a, b in pairwise(ends)] for rate in rates]
    shares = [1 / len(rates)] * len(rates)
    for _ in range(ROUNDS):
        shares = _improved(shares, kernel, masses)
    return RateMixture(tuple(rates), tuple(shares))


@dataclass(frozen=True, slots=True)
class LaterAdmission:
    """By what the misses of an LRU cache that admits all of them are to be multiplied where it
    admits a share of them. `likely` holds for chunks that are touched at constant rates. `least`
    holds for loops too, whose chunks push one another out of an LRU cache: one that admits few
    misses keeps a part of them, so that its miss ratio falls to the convex hull of the curve
    (Beckmann and Sanchez, "Talus: a simple way to remove cliffs in cache performance", HPCA 2015).
    """

    likely: float
    least: float


def later_admission(
    curve: MissRatioCurve, mixture: RateMixture, size_bytes: int, promotion_share: float
) -> LaterAdmission:
    """Of a full cache of that size."""
    chunks = size_bytes / curve.chunk_bytes
    usual, later = (mixture.miss_ratio(chunks, share) for share in (1.0, promotion_share))
    likely = later / usual if usual else 1.0
    of_lru = min(curve.miss_ratios(size_bytes, growth).both for growth in curve.growths)
    lowest = min(later, likely * _on_hull(curve, chunks))
    return LaterAdmission(likely, min(likely, lowest / of_lru) if of_lru else likely)


def _on_hull(curve: MissRatioCurve, chunks: float) -> float:
    """The miss ratio of that size on the lower convex hull of the curve, 1 where it ends before."""
    hull = list[tuple[float, float]]()
    for point in zip(curve.both.integral, curve.both.shares, strict=True):
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    for (held, share), (more, fewer) in pairwise(hull):
        if held <= chunks < more:
            missed = share + (fewer - share) * (chunks - held) / (more - held)
            return min(1.0, missed + curve.bypassed.both)
    return 1.0


def _is_above(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle point lies above the line between the others, or on it."""
    (x, y), (between, height), (end, low) = first, middle, last
    return (height - y) * (end - x) >= (low - y) * (between - x)


def most_misses(miss_ratio: float, promotion_share: float) -> float:
    """The miss ratio where an LRU cache that admits all misses has `miss_ratio`, at most: for
    chunks that are touched for a while and never again, such as new mail.

    Between two misses of the same chunk lies a run of references that hit, of 1 / `miss_ratio`
    references on average. Where a miss is admitted with the probability p, the first ones of a run
    miss until one is: of a run of m references (1 - (1 - p) ** m) / p. That is concave in m, so
    runs of unlike lengths miss less than runs of the mean length (Jensen's inequality).
    """
    if not miss_ratio or promotion_share >= 1:
        return miss_ratio
    of_run = -expm1(log1p(-promotion_share) / miss_ratio) / promotion_share
    return min(1.0, miss_ratio * of_run)


def _improved(
    shares: Sequence[float], kernel: Sequence[Sequence[float]], masses: Sequence[float]
) -> list[float]:
    expected = [
        sum(share * row[n] for share, row in zip(shares, kernel, strict=True))
        for n in range(len(masses))
    ]
    ratios = [mass / each if each else 0.0 for mass, each in zip(masses, expected, strict=True)]
    return [
        share * sum(part * ratio for part, ratio in zip(row, ratios, strict=True))
        for share, row in zip(shares, kernel, strict=True)
    ]


def _found(touches: float, promotion_share: float) -> float:
    """The probability that a chunk is in the cache, by how often it is touched within T."""
    entered = promotion_share * -expm1(-touches)
    return entered / (exp(-touches) + entered)

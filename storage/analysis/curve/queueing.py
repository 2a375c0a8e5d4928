"""How many I/Os a second an SSD and an HDD serve together, and how long those on HDD take. Pure.

A benchmark keeps a fixed number of I/Os in flight: a closed network of two stations, which has a
product form (Buzen, "Computational algorithms for closed queueing networks", CACM 1973; Reiser and
Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 1980). A guest sends
I/Os whether or not the disk keeps up: an open queue, whose rate does not depend on the cache.

The HDD's rate is that of *slow* I/Os. An HDD answers some reads from its own memory; these are the
very reads that a cache on SSD answers too, so that what is left is slower than the average was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, inf, log
from typing import Final

from storage.analysis.curve.footprint_growth import FootprintGrowth
from storage.analysis.curve.miss_ratio import MissRatioCurve

SLOW_MS: Final = 2.0
"""A longer I/O moved the heads of an HDD."""
STEP: Final = 1.02


@dataclass(frozen=True, slots=True)
class SsdRate:
    """An I/O takes `seconds` while the SSD has spare capacity; it serves `most_iops` at most."""

    seconds: float
    most_iops: float

    def iops(self, in_flight: int) -> float:
        """With so many I/Os at the SSD."""
        return min(in_flight / self.seconds, self.most_iops)


def closed_iops(in_flight: int, hit_rate: float, ssd: SsdRate, hdd_iops: float) -> float:
    """I/Os a second with `in_flight` of them at all times: G(N - 1) / G(N) of the convolution, in
    logarithms."""
    if hit_rate >= 1:
        return ssd.iops(in_flight)
    # In units of the HDD's time for an I/O that misses.
    at_hdd = hdd_iops / (1 - hit_rate)
    at_ssd = list(
        accumulate(
            (
                log(hit_rate * at_hdd / ssd.iops(n)) if hit_rate else -inf
                for n in range(1, in_flight + 1)
            ),
            initial=0.0,
        )
    )
    fewer, all_of_them = _log_sum(at_ssd[:-1]), _log_sum(at_ssd)
    return at_hdd * exp(fewer - all_of_them)


def _log_sum(logarithms: Sequence[float]) -> float:
    most = max(logarithms)
    return most + log(sum(exp(each - most) for each in logarithms))


@dataclass(frozen=True, slots=True)
class ClosedRun:
    """What a run with a cache that began empty did."""

    ios: float
    hits: float
    promotions: float
    seconds: float

    @property
    def iops(self) -> float:
        return self.ios / self.seconds

    @property
    def hit_rate(self) -> float:
        return self.hits / self.ios


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoad:
    """A number of reads in flight through a cache that admits a miss with the probability
    `promotion_share`; each promotion costs `hdd_ios_per_promotion` more of the HDD."""

    in_flight: int
    ssd: SsdRate
    hdd_iops: float
    promotion_share: float = 1.0
    hdd_ios_per_promotion: float = 0.0

    def run(
        self, curve: MissRatioCurve, growth: FootprintGrowth, size_bytes: float, seconds: float
    ) -> ClosedRun:
        """The first `seconds` of a cache that begins empty. It speeds up as it fills, so time is
        followed step by step."""
        done, missed, passed = 0.0, 0.0, 0.0
        cost = 1 + self.promotion_share * self.hdd_ios_per_promotion
        while passed < seconds:
            later = done * STEP + self.in_flight
            misses = later * misses_since_empty(
                curve, growth, size_bytes, later, self.promotion_share
            )
            miss_ratio = min(1.0, max(0.0, (misses - missed) / (later - done)))
            iops = closed_iops(self.in_flight, 1 - miss_ratio, self.ssd, self.hdd_iops / cost)
            part = min(1.0, (seconds - passed) * iops / (later - done))
            passed += (later - done) / iops
            missed += part * (misses - missed)
            done += part * (later - done)
        return ClosedRun(done, done - missed, self.promotion_share * missed, seconds)


def misses_since_empty(
    curve: MissRatioCurve,
    growth: FootprintGrowth,
    size_bytes: float,
    references: float,
    promotion_share: float,
) -> float:
    """The mean miss ratio of the first `references`, where a miss is admitted with a probability.

    While nothing is evicted, a chunk that a share pi of the references touches is not in the cache
    after n of them with the probability (1 - p * pi) ** n: what happens with p = 1 happens 1 / p
    times as late, and the promotions are D(p * n).
    """
    admitted = references * promotion_share
    return curve.miss_ratios_since_empty(size_bytes, admitted, growth).both


def slow_time_factor(utilisation_before: float, utilisation_after: float) -> float:
    """How much longer (1 = as long) an I/O of an HDD takes, waiting included, when the HDD is busy
    another part of the time: the residence time of an open queue is S / (1 - rho). It is at most
    what it was: tails that were measured are not made longer."""
    before, after = (min(0.99, max(0.0, rho)) for rho in (utilisation_before, utilisation_after))
    return min(1.0, (1 - before) / (1 - after))

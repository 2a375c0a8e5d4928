"""What a cache of each size would bring to one volume: the curve of an expectation. Pure.

Which reads of an HDD are slow is known, not which of these a cache would serve. At worst it serves
first those that are fast already, from the HDD's own memory: there are then as many slow reads left
as misses, and no more than now. At best it serves slow ones as often as fast ones. The bounds of
the waiting saved hold for both, and for both bounds of the hit rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from storage.analysis.curve.admission import (
    LaterAdmission,
    later_admission,
    most_misses,
    rate_mixture,
)
from storage.analysis.curve.bands import DAY, Bounds, HitRates, hit_rates
from storage.analysis.curve.cache_policy import CachePolicy
from storage.analysis.curve.heat import HeatRecord, usable
from storage.analysis.curve.miss_ratio import MissRatioCurve, miss_ratio_curve
from storage.analysis.curve.queueing import slow_time_factor
from storage.analysis.curve.ssd_writes import ssd_bytes_per_day

HALF_HOUR: Final = 1800
WEEK: Final = 7 * DAY
HOT_FOR_A_WHILE: Final = 0.25
"""How far a range reaches to what is left where all data are hot for a while only. Of twelve
simulated loads ten stay above 0; data that drift take 0.25, new mail for ever 0.8
(tests/storage/analysis/test_forecasts_hold.py). dm-cache admits what misses again and again, not
any miss, and loses less than that."""
LEAST_SECONDS: Final = 60
LEAST_SHARE: Final = 0.1
"""A cache that saves less than a minute a day, or less than a tenth of the waiting, does not
help."""

Verdict = Literal["helps", "no_help", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeWaits:
    """What a volume's I/O meets now. A share of `slow_reads` (0 to 1) takes longer than
    `storage.analysis.curve.queueing.SLOW_MS`, `slow_read_ms` on average. `hit_rate` and
    `fast_writes` are the shares that its present cache answers, 0 without one. Its reads and writes
    wait for the HDD for so many seconds a day."""

    volume_bytes: int
    read_ms: float
    slow_reads: float
    slow_read_ms: float
    read_seconds_per_day: float
    write_seconds_per_day: float = 0.0
    hit_rate: float = 0.0
    fast_writes: float = 0.0

    @property
    def seconds_per_day(self) -> float:
        """Of reads and writes."""
        return self.read_seconds_per_day + self.write_seconds_per_day


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRates:
    """What an SSD's read takes; how many slow I/Os a second the HDDs serve at most, and which part
    of the time (0 to 1) they are busy now, with all their volumes."""

    ssd_read_ms: float
    hdd_iops: float
    hdd_utilisation: float


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`."""

    low: float
    high: float


NO_DIFFERENCE: Final = Range(0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """Of a cache of `size_bytes`. `hit_rate` is that of reads in the steady state; before, of the
    first half hour and of the first day of a cache that begins empty. `read_ms` is the mean read
    then; seconds saved a day are of waiting for the HDD, below zero where there would be more.
    `ssd_bytes_per_day` is what it would write to the SSD, in the steady state."""

    size_bytes: int
    hit_rate: Bounds
    first_half_hour: Range
    first_day: Range
    read_ms_now: float
    read_ms: Range
    saved_seconds_per_day: Range
    ssd_bytes_per_day: Range
    verdict: Verdict


def prospects(
    records: Iterable[HeatRecord],
    waits: VolumeWaits,
    host: HostRates,
    policy: CachePolicy,
    sizes_bytes: Sequence[int],
    *,
    horizon_seconds: float = WEEK,
    widened: float = 1.0,
) -> tuple[Prospect, ...]:
    """One of each size; none at all where no usable record has reads: then it is unknown. All
    records are of one size of chunks. The bounds of hit rates are `widened` so many times, as
    earlier forecasts that missed ask for."""
    return prospects_by_policy(
        records, waits, host, [(policy, widened)], sizes_bytes, horizon_seconds=horizon_seconds
    )[0]


def prospects_by_policy(
    records: Iterable[HeatRecord],
    waits: VolumeWaits,
    host: HostRates,
    policies: Sequence[tuple[CachePolicy, float]],
    sizes_bytes: Sequence[int],
    *,
    horizon_seconds: float = WEEK,
) -> list[tuple[Prospect, ...]]:
    """Those of each policy, in their order, each with how many times its bounds are widened. What
    takes long is done once for all policies that let the same I/O into the cache."""
    parts, known = usable(records), dict[bool, _Rates | None]()
    for bypasses in {policy.bypasses_sequential for policy, _ in policies}:
        curve = miss_ratio_curve(parts, waits.volume_bytes, bypasses_sequential=bypasses)
        known[bypasses] = None
        if curve is not None and curve.reads is not None:
            of_sizes = hit_rates(parts, curve, sizes_bytes, horizon_seconds=horizon_seconds)
            known[bypasses] = _Rates(parts, curve, of_sizes)
    return [
        _of_policy(rates, waits, host, policy, widened)
        if (rates := known[policy.bypasses_sequential]) is not None
        else ()
        for policy, widened in policies
    ]


@dataclass(frozen=True, slots=True)
class _Rates:
    parts: Sequence[HeatRecord]
    curve: MissRatioCurve
    of_sizes: Sequence[HitRates]


def _of_policy(
    rates: _Rates, waits: VolumeWaits, host: HostRates, policy: CachePolicy, widened: float
) -> tuple[Prospect, ...]:
    parts, curve = rates.parts, rates.curve
    mixture = rate_mixture(curve) if policy.promotion_share < 1 else None
    of_policy = []
    for each in rates.of_sizes:
        if each.reads is None:
            continue
        steady, writes = each.reads, each.writes or Bounds(0.0, 0.0, 0.0)
        if mixture is not None:
            share = policy.promotion_share
            later = later_admission(curve, mixture, each.size_bytes, share)
            steady, writes = (_lagging(rate, later, share) for rate in (steady, writes))
        steady, writes = (_widened(rate, widened) for rate in (steady, writes))
        case = _Case(parts, curve, waits, host, policy, steady, writes)
        of_policy.append(case.prospect(each.size_bytes))
    return tuple(of_policy)


def without_cache(waits: VolumeWaits) -> Range:
    """What having no cache at all saves, in seconds of waiting a day: below zero with one now."""
    if not waits.slow_reads or waits.hit_rate >= 1:
        return NO_DIFFERENCE
    most = min(1.0, waits.slow_reads + waits.hit_rate)
    fewest = min(1.0, waits.slow_reads / (1 - waits.hit_rate))
    slow = sorted((most, fewest), reverse=True)
    low, high = (waits.read_seconds_per_day * (1 - each / waits.slow_reads) for each in slow)
    waited = waits.seconds_per_day
    return Range(max(low, waited - DAY), max(high, waited - DAY))


def expected_curve(of: Iterable[Prospect]) -> tuple[tuple[int, float, float], ...]:
    """As `storage.analysis.forecast.Expectation.curve` has it: the size of the cache in bytes, the
    lowest and the highest hit rate of reads."""
    return tuple((each.size_bytes, each.hit_rate.low, each.hit_rate.high) for each in of)


def _widened(rate: Bounds, times: float) -> Bounds:
    return Bounds(
        max(0.0, rate.likely - times * (rate.likely - rate.low)),
        rate.likely,
        min(1.0, rate.likely + times * (rate.high - rate.likely)),
    )


def _lagging(rate: Bounds, later: LaterAdmission, promotion_share: float) -> Bounds:
    """Of a cache that admits a share of the misses: reuse times do not distinguish chunks that are
    always hot from those that are hot for a while (`HOT_FOR_A_WHILE`)."""
    likely = 1 - (1 - rate.likely) * later.likely
    low = min(rate.low, likely)
    lowest = min(low, 1 - most_misses(1 - rate.low, promotion_share))
    return Bounds(
        low - HOT_FOR_A_WHILE * (low - lowest),
        likely,
        max(likely, 1 - (1 - rate.high) * later.least),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """One size of cache."""

    parts: Sequence[HeatRecord]
    curve: MissRatioCurve
    waits: VolumeWaits
    host: HostRates
    policy: CachePolicy
    reads: Bounds
    writes: Bounds

    def prospect(self, size_bytes: int) -> Prospect:
        slow = Range(self._fewest_slow(self.reads.high), self._most_slow(self.reads.low))
        factors = Range(self._slow_factor(slow.low), 1.0)
        saved = self._saved(slow, factors)
        return Prospect(
            size_bytes=size_bytes,
            hit_rate=self.reads,
            first_half_hour=self._since_empty(size_bytes, HALF_HOUR),
            first_day=self._since_empty(size_bytes, DAY),
            read_ms_now=self.waits.read_ms,
            read_ms=Range(
                self._read_ms(slow.low, factors.low), self._read_ms(slow.high, factors.high)
            ),
            saved_seconds_per_day=saved,
            ssd_bytes_per_day=Range(
                *ssd_bytes_per_day(self.parts, self.policy, self.reads, self.writes)
            ),
            verdict=self._verdict(saved),
        )

    def _most_slow(self, hit_rate: float) -> float:
        """The share of reads that may be slow: each hit lost is, and each one gained was fast."""
        lost = max(0.0, self.waits.hit_rate - hit_rate)
        return min(1 - hit_rate, self.waits.slow_reads + lost)

    def _fewest_slow(self, hit_rate: float) -> float:
        """The same share where slow reads hit as often as fast ones."""
        missed = 1 - self.waits.hit_rate
        slow_misses = self.waits.slow_reads / missed if missed else 1.0
        return (1 - hit_rate) * min(1.0, slow_misses)

    def _slow_factor(self, slow: float) -> float:
        """How much shorter a slow I/O becomes because the HDD has less to do, at best."""
        seconds = sum(part.seconds for part in self.parts)
        reads = sum(part.reads for part in self.parts) / seconds
        writes = sum(part.writes for part in self.parts) / seconds
        copied = self.policy.promotion_share * self.policy.hdd_ios_per_promotion
        spared = reads * (self.waits.slow_reads - slow) - copied * reads * (1 - self.reads.high)
        spared += writes * (1 - self.policy.hdd_writes(self.writes.high)[0])
        before = self.host.hdd_utilisation
        return slow_time_factor(before, before - spared / self.host.hdd_iops)

    def _read_ms(self, slow: float, factor: float) -> float:
        return (1 - slow) * self.host.ssd_read_ms + slow * factor * self.waits.slow_read_ms

    def _saved(self, slow: Range, factors: Range) -> Range:
        waits = self.waits
        low, high = 0.0, 0.0
        if waits.slow_reads:
            low = waits.read_seconds_per_day * (1 - slow.high * factors.high / waits.slow_reads)
            high = waits.read_seconds_per_day * (1 - slow.low * factors.low / waits.slow_reads)
        if waits.fast_writes < 1:
            each = waits.write_seconds_per_day / (1 - waits.fast_writes)
            low += each * (self._fast_writes(self.writes.low) - waits.fast_writes)
            high += each * (self._fast_writes(self.writes.high) - waits.fast_writes)
        waited = waits.seconds_per_day
        return Range(max(low, waited - DAY), max(high, waited - DAY))

    def _fast_writes(self, hit_rate: float) -> float:
        return self.policy.fast_writes(hit_rate, self.curve.bypassed.writes or 0.0)

    def _since_empty(self, size_bytes: int, seconds: int) -> Range:
        clock = sum(part.clock for part in self.parts)
        rate = clock / sum(part.seconds for part in self.parts)
        admitted = rate * seconds * self.policy.promotion_share
        rates = [
            1 - (self.curve.miss_ratios_since_empty(size_bytes, admitted, growth).reads or 0.0)
            for growth in self.curve.growths
        ]
        return Range(min(rates), max(rates))

    def _verdict(self, saved: Range) -> Verdict:
        waited = self.waits.seconds_per_day
        worth = max(LEAST_SECONDS, LEAST_SHARE * waited)
        if saved.high < worth:
            return "no_help"
        return "helps" if saved.low >= worth else "unknown"

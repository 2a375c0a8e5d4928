"""The miss ratio of an LRU cache as a function of its size, from histograms of reuse times. Pure.

The AET model (Hu et al., "Kinetic Modeling of Data Eviction in Cache", USENIX ATC 2016): let P(t)
be the share of references whose reuse time is longer than t. A chunk that is not touched again
leaves a cache of c chunks after the time T at which the integral of P from 0 to T is c, so the miss
ratio is P(T). The same integral is D(t), how many chunks t references touch.

Two corrections belong to what a sample of the chunks can see:

- Misses are estimated, not hits, and divided by the true number of references: a chunk that is hot
  and by chance among the observed ones, or not, distorts the number of hits only.
- A reuse time of s is seen only by references that come when observation is older than s. Each one
  seen therefore stands for 1 / G(s), where G(s) is the share of references that could have seen it
  (inverse probability of censoring weights; Robins and Rotnitzky 1992). Without it a short
  observation mistakes the first touch that it sees for the first touch that there was. Beyond the
  times that a quarter of the references could see, the growth of D is continued
  (`storage.analysis.curve.footprint_growth`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import Final

from storage.analysis.curve.footprint_growth import FootprintGrowth, growths
from storage.analysis.curve.heat import HeatRecord, RecordedStream, ReuseTimes, bucket_bounds

LEAST_SEEN: Final = 0.25
"""Reuse times that a smaller share of the references could see are not counted on."""
FIT_POINTS: Final = 12
FIT_SPAN: Final = 10
"""The growth is fitted to the last so many points, of the last decade of what was seen."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Shares (0 to 1) of reads, of writes and of both; None where there are none of the kind."""

    reads: float | None
    writes: float | None
    both: float


@dataclass(frozen=True, slots=True)
class Survival:
    """P at the curve's times, and its integral up to each of them."""

    shares: tuple[float, ...]
    integral: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MissRatioCurve:
    """P of reads, of writes and of both at `times` (0 first; the last is the longest time that can
    be counted on), which count what may enter the cache. `growths` continue it: the first finds
    more new chunks than the second. `bypassed` are the shares of all references that never enter
    the cache; they are taken for misses, although bcache reads what it has of them. `first_touches`
    is the share of references whose chunk was not seen before, at most; `distinct_observed` how
    many chunks were sampled."""

    chunk_bytes: int
    volume_chunks: float
    times: tuple[float, ...]
    reads: Survival | None
    writes: Survival | None
    both: Survival
    growths: tuple[FootprintGrowth, FootprintGrowth]
    first_touches: float
    distinct_observed: int
    bypassed: Ratios
    bypasses_sequential: bool

    @property
    def volume_bytes(self) -> int:
        return round(self.volume_chunks * self.chunk_bytes)

    def miss_ratios(self, size_bytes: float, growth: FootprintGrowth) -> Ratios:
        """In the steady state of a cache of that size, which is 0 or more."""
        time = self.eviction_time(size_bytes, growth)
        return self._with_bypassed(lambda survival: self._share(survival, time, growth))

    def miss_ratios_since_empty(
        self, size_bytes: float, references: float, growth: FootprintGrowth
    ) -> Ratios:
        """On average over the first `references` of a cache that begins empty: until it is full,
        those that miss are the first touches."""
        time = self.eviction_time(size_bytes, growth)
        entering = references * (1 - self.bypassed.both)

        def mean(survival: Survival) -> float:
            if entering <= 0:
                return 1.0
            first = self._integral(survival, min(entering, time), growth)
            later = max(0.0, entering - time)
            steady = self._share(survival, time, growth) if later else 0.0
            return min(1.0, (first + later * steady) / entering)

        return self._with_bypassed(mean)

    def miss_ratios_if_none_returns(self) -> Ratios:
        """Of a cache that holds all that is touched in the longest time that can be counted on,
        where nothing is touched again after longer: mail, logs and backups are such data."""
        return self._with_bypassed(lambda survival: survival.shares[-1])

    def miss_ratios_at(self, references: float, growth: FootprintGrowth) -> Ratios:
        """Of the next reference to an endless cache that began empty so many ago: P itself."""
        entering = references * (1 - self.bypassed.both)
        return self._with_bypassed(lambda survival: self._share(survival, entering, growth))

    def eviction_time(self, size_bytes: float, growth: FootprintGrowth) -> float:
        """T of the AET model in references that enter; infinite where all that is touched fits."""
        chunks = size_bytes / self.chunk_bytes
        distinct = self.both.integral
        if chunks >= self.volume_chunks:
            return inf
        if chunks >= distinct[-1]:
            return max(self.times[-1], growth.references(chunks))
        n = bisect_left(distinct, chunks)
        if n == 0:
            return 0.0
        part = (chunks - distinct[n - 1]) / (distinct[n] - distinct[n - 1])
        return self.times[n - 1] + part * (self.times[n] - self.times[n - 1])

    def _with_bypassed(self, ratio: Callable[[Survival], float]) -> Ratios:
        def of(survival: Survival | None, bypassed: float | None) -> float | None:
            if survival is None:
                return None if bypassed is None else 1.0
            return _with_share(bypassed or 0.0, ratio(survival))

        both = _with_share(self.bypassed.both, ratio(self.both))
        reads, writes = of(self.reads, self.bypassed.reads), of(self.writes, self.bypassed.writes)
        return Ratios(reads, writes, both)

    def _share(self, survival: Survival, time: float, growth: FootprintGrowth) -> float:
        last = survival.shares[-1]
        if time < self.times[-1]:
            return _interpolated(self.times, survival.shares, time)
        both = self.both.shares[-1]
        return last * min(1.0, growth.rate(time) / both) if both else 0.0

    def _integral(self, survival: Survival, time: float, growth: FootprintGrowth) -> float:
        if time < self.times[-1]:
            return _interpolated(self.times, survival.integral, time)
        both = self.both
        if not both.shares[-1]:
            return survival.integral[-1]
        end = growth.most if time == inf else growth.distinct(time)
        beyond = max(0.0, end - both.integral[-1])
        return survival.integral[-1] + beyond * survival.shares[-1] / both.shares[-1]


def miss_ratio_curve(
    records: Sequence[HeatRecord], volume_bytes: int, *, bypasses_sequential: bool = False
) -> MissRatioCurve | None:
    """The curve of usable records added up, all of one size of chunks; None without any. With
    `bypasses_sequential` sequential runs do not enter the cache, as in bcache."""
    if not records:
        return None
    chunk_bytes = records[0].chunk_bytes
    if any(record.chunk_bytes != chunk_bytes for record in records):
        raise ValueError("only records of one size of chunks are added up")
    parts = [(each.share, each.let_in if bypasses_sequential else each) for each in records]
    total = float(sum(record.clock for record in records))
    clock = float(sum(stream.clock for _, stream in parts))
    total_reads = min(total, sum(record.read_references for record in records))
    reads = total_reads
    if bypasses_sequential:
        reads = min(clock, total_reads, sum(record.let_in_reads for record in records))
    bypassed = Ratios(
        _bypassed(reads, total_reads),
        _bypassed(clock - reads, total - total_reads),
        max(0.0, 1 - clock / total),
    )
    if not clock:
        # Nothing enters: each reference misses, whatever the others' curve is.
        parts, clock, reads = [(each.share, each) for each in records], total, total_reads
    streams = [stream for _, stream in parts]
    end = _countable_time(streams, clock)
    read_times = _Weights.added((share, stream.reuse.reads) for share, stream in parts)
    write_times = _Weights.added((share, stream.reuse.writes) for share, stream in parts)
    all_times = read_times + write_times
    bounds = {index: bucket_bounds(index) for index in all_times.buckets}
    seen = {high: _seen_share(streams, low, clock) for low, high in bounds.values() if high <= end}
    knots = {time for bound in bounds.values() if bound[1] <= end for time in bound}
    times = tuple(sorted({0.0, end, *knots}))
    both = all_times.survival(times, seen, clock)
    chunks = max(1.0, volume_bytes / chunk_bytes)
    return MissRatioCurve(
        chunk_bytes=chunk_bytes,
        volume_chunks=chunks,
        times=times,
        reads=read_times.survival(times, seen, reads) if reads else None,
        writes=write_times.survival(times, seen, clock - reads) if reads < clock else None,
        both=both,
        growths=_growths(times, both, chunks),
        first_touches=min(1.0, all_times.cold / clock),
        distinct_observed=sum(
            stream.reuse.reads.cold + stream.reuse.writes.cold for stream in streams
        ),
        bypassed=bypassed,
        bypasses_sequential=bypasses_sequential,
    )


def _with_share(bypassed: float, ratio: float) -> float:
    """The miss ratio of all, where those that enter have this one."""
    return min(1.0, bypassed + (1 - bypassed) * ratio)


def _bypassed(entering: float, total: float) -> float | None:
    """The share that goes around; None where there is nothing of the kind."""
    return max(0.0, 1 - entering / total) if total else None


@dataclass(frozen=True, slots=True)
class _Weights:
    """Reuse times of all chunks: the numbers observed, times the share of each record."""

    cold: int
    buckets: Mapping[int, int]

    @classmethod
    def added(cls, parts: Iterable[tuple[int, ReuseTimes]]) -> _Weights:
        cold, buckets = 0, Counter[int]()
        for share, reuse in parts:
            cold += reuse.cold * share
            for index, number in reuse.buckets:
                buckets[index] += number * share
        return cls(cold, buckets)

    def __add__(self, other: _Weights) -> _Weights:
        return _Weights(self.cold + other.cold, Counter(self.buckets) + Counter(other.buckets))

    def survival(
        self, times: Sequence[float], seen: Mapping[float, float], references: float
    ) -> Survival:
        """P at `times`. `seen` is the share of references that could see a bucket, by its upper
        bound."""
        served = {
            high: number / seen[high]
            for index, number in self.buckets.items()
            if (high := bucket_bounds(index)[1]) in seen
        }
        left, shares = float(self.cold + sum(self.buckets.values())), [1.0]
        for time in times[1:]:
            left -= served.get(time, 0.0)
            shares.append(min(shares[-1], max(0.0, left / references)))
        steps = (
            (later - time) * (share + next_share) / 2
            for (time, later), (share, next_share) in zip(
                pairwise(times), pairwise(shares), strict=True
            )
        )
        return Survival(tuple(shares), tuple(accumulate(steps, initial=0.0)))


def _seen_share(streams: Iterable[RecordedStream], age: float, clock: float) -> float:
    """G: the share of references that came when observation was older than `age`."""
    return sum(stream.references_older_than(age) for stream in streams) / clock


def _countable_time(streams: Sequence[RecordedStream], clock: float) -> float:
    """The longest time of which at least `LEAST_SEEN` of the references could know."""
    low, high = 0.0, float(max(stream.clock_before + stream.clock for stream in streams))
    for _ in range(40):
        middle = (low + high) / 2
        if _seen_share(streams, middle, clock) >= LEAST_SEEN:
            low = middle
        else:
            high = middle
    return high


def _growths(
    times: Sequence[float], both: Survival, volume_chunks: float
) -> tuple[FootprintGrowth, FootprintGrowth]:
    end, distinct = times[-1], both.integral
    points = [
        (time, _interpolated(times, distinct, time))
        for time in (end * FIT_SPAN ** (n / FIT_POINTS - 1) for n in range(FIT_POINTS + 1))
    ]
    return growths([point for point in points if point[1] > 0], max(volume_chunks, distinct[-1]))


def _interpolated(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """The value at `x` between the first and the last of `xs`, which rise."""
    n = min(max(1, bisect_left(xs, x)), len(xs) - 1)
    part = (x - xs[n - 1]) / (xs[n] - xs[n - 1])
    return ys[n - 1] + part * (ys[n] - ys[n - 1])

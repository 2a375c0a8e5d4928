"""Hit rates with bounds that come from windows that disagree. Pure.

What is predicted is the mean hit rate of the days to come. The bounds are a 90 % prediction
interval of Student's t, made of:

- the windows, each with its own curve: the variance between them, weighted by their references. A
  few windows that happen to agree prove little, so the variance begins as that of `PRIOR_WINDOWS`
  windows which differ as those of real volumes do (a scaled inverse chi-square prior; Gelman et
  al., "Bayesian Data Analysis", 2.6), and what is seen wears that out. For the next hours the
  windows are the records. From a day on they are days, which are taken to differ at least as much
  as the hours within them; a day of which a part was seen counts for that part, so that one hour
  promises nothing;
- the sample: the fewer observed chunks fit into the cache, the wider;
- growth: what lies beyond the observed reuse times lies between two continuations, and no higher
  than where nothing is touched again after longer than was observed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import e, inf, sqrt
from statistics import NormalDist
from typing import Final

from storage.analysis.comparison.student import quantile
from storage.analysis.curve.heat import NS, HeatRecord, observations
from storage.analysis.curve.miss_ratio import MissRatioCurve, Ratios, miss_ratio_curve

DAY: Final = 86_400
COVERAGE: Final = 0.9
PRIOR_WINDOWS: Final = 2
PRIOR_SPREAD: Final = 0.2
"""Windows differ by so many times sqrt(hit rate * (1 - hit rate)): ten points at a rate of one
half. Forecasts of real series from 2 to 10 % of their history erred by 18 to 36 points at p90, from
the quarter just before by 7: so do one day of two weeks, and a week of two, with this value."""
PRIOR_PART: Final = 0.1
"""A few windows of nothing but misses do not mean never: such a part of one more is half hits."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A share (0 to 1): the likely one, and what it lies between with a probability of 90 %."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True, slots=True)
class HitRates:
    """Of a cache of `size_bytes`, in the steady state; None where there are no reads, or writes."""

    size_bytes: int
    reads: Bounds | None
    writes: Bounds | None


def hit_rates(
    parts: Sequence[HeatRecord],
    curve: MissRatioCurve,
    sizes_bytes: Sequence[int],
    *,
    horizon_seconds: float,
) -> tuple[HitRates, ...]:
    """The steady hit rates of caches of these sizes, over the next `horizon_seconds`. `curve` is
    that of all `parts`."""
    bypasses, volume_bytes = curve.bypasses_sequential, curve.volume_bytes
    by_day = defaultdict[int, list[HeatRecord]](list)
    for part in parts:
        by_day[part.begun_ns // (NS * DAY)].append(part)
    hours = [[part] for part in parts]
    windows = [
        _Windows(
            [curve_of(those, volume_bytes, bypasses) for those in groups],
            [sum(part.clock for part in those) for those in groups],
        )
        for groups in (hours, list(by_day.values()))
    ]
    seconds = sum(part.seconds for part in parts)
    span = _Span(seconds / len(parts), seconds, horizon_seconds)
    rates = [_of_size(size, parts, curve, windows, span) for size in sorted(set(sizes_bytes))]
    of_sizes = {each.size_bytes: each for each in _nested(rates)}
    return tuple(of_sizes[size] for size in sizes_bytes)


def _nested(rates: Sequence[HitRates]) -> Iterator[HitRates]:
    """From the smallest size to the largest: a larger LRU cache holds all that a smaller one holds
    (the inclusion property; Mattson et al., "Evaluation techniques for storage hierarchies", 1970).
    So it hits no less often, however little the sample tells of one of the two."""
    reads = _rising([each.reads for each in rates])
    writes = _rising([each.writes for each in rates])
    for each, of_reads, of_writes in zip(rates, reads, writes, strict=True):
        yield HitRates(each.size_bytes, of_reads, of_writes)


def _rising(bounds: Sequence[Bounds | None]) -> list[Bounds | None]:
    known = [each for each in bounds if each is not None]
    if len(known) < len(bounds):
        return list(bounds)
    lows = list(accumulate((each.low for each in known), max))
    highs = list(accumulate((each.high for each in reversed(known)), min))[::-1]
    return [
        Bounds(low, each.likely, high) for low, each, high in zip(lows, known, highs, strict=True)
    ]


def curve_of(
    parts: Sequence[HeatRecord], volume_bytes: int, bypasses_sequential: bool
) -> MissRatioCurve:
    """The curve of at least one record."""
    curve = miss_ratio_curve(parts, volume_bytes, bypasses_sequential=bypasses_sequential)
    if curve is None:
        raise ValueError("no records")
    return curve


@dataclass(frozen=True, slots=True)
class _Span:
    """The length of a window of the first kind ("hour"), how long was seen, and what is asked."""

    hour_seconds: float
    seen_seconds: float
    horizon_seconds: float


@dataclass(frozen=True, slots=True)
class _Windows:
    curves: Sequence[MissRatioCurve]
    weights: Sequence[float]

    def misses(self, size_bytes: int, kind: str) -> list[tuple[float, float]]:
        """The miss ratio of each window that has any of the kind, and its weight."""
        of_windows = []
        for curve, weight in zip(self.curves, self.weights, strict=True):
            first, second = (_ratio(curve.miss_ratios(size_bytes, g), kind) for g in curve.growths)
            if first is not None and second is not None:
                of_windows.append(((first + second) / 2, weight))
        return of_windows


def _of_size(
    size_bytes: int,
    parts: Sequence[HeatRecord],
    curve: MissRatioCurve,
    windows: Sequence[_Windows],
    span: _Span,
) -> HitRates:
    bounds = dict[str, Bounds | None]()
    for kind in ("reads", "writes"):
        ratios = [_ratio(curve.miss_ratios(size_bytes, g), kind) for g in curve.growths]
        known = [ratio for ratio in ratios if ratio is not None]
        if not known:
            bounds[kind] = None
            continue
        likely = sum(known) / len(known)
        disagreeing = _half_width(
            likely, *(each.misses(size_bytes, kind) for each in windows), span=span
        )
        sampled = _z() * _sampling_error(size_bytes, parts, curve, kind)
        half = sqrt(disagreeing**2 + sampled**2)
        low = max(0.0, 1 - max(known) - half)
        if curve.eviction_time(size_bytes, curve.growths[0]) > curve.times[-1]:
            low = min(low, 1 - (_ratio(curve.miss_ratios_if_none_returns(), kind) or 0.0))
        bounds[kind] = Bounds(low, 1 - likely, min(1.0, 1 - min(known) + half))
    return HitRates(size_bytes, bounds["reads"], bounds["writes"])


def _half_width(
    likely: float,
    hours: Sequence[tuple[float, float]],
    days: Sequence[tuple[float, float]],
    *,
    span: _Span,
) -> float:
    """Half of the prediction interval of the mean of the windows to come."""
    effective, squares = _squares(hours)
    freedom = PRIOR_WINDOWS + effective - 1
    of_hour = (PRIOR_WINDOWS * _prior(likely, effective) + squares) / freedom
    if span.horizon_seconds < DAY:
        to_come = max(1.0, span.horizon_seconds / span.hour_seconds)
        return _t(freedom) * sqrt(of_hour * (1 / effective + 1 / to_come))
    effective, squares = _squares(days)
    prior = max(of_hour, _prior(likely, effective))
    of_day = (PRIOR_WINDOWS * prior + squares) / (PRIOR_WINDOWS + effective - 1)
    seen = min(effective, span.seen_seconds / DAY)
    t = _t(PRIOR_WINDOWS + seen - 1)
    return t * sqrt(of_day * (1 / seen + DAY / span.horizon_seconds))


def _prior(likely: float, windows: float) -> float:
    """The variance between windows before any of them is seen."""
    usual = (likely * windows + PRIOR_PART / 2) / (windows + PRIOR_PART)
    return PRIOR_SPREAD**2 * usual * (1 - usual)


def _squares(windows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """How many windows of one weight the windows are worth (Kish's effective size), and the sum of
    the squared deviations of so many; a deviation moves the mean as far as its weight does."""
    total = sum(weight for _, weight in windows)
    squared = sum(weight**2 for _, weight in windows)
    mean = sum(miss * weight for miss, weight in windows) / total
    variance = sum((weight * (miss - mean)) ** 2 for miss, weight in windows) / squared
    effective = total**2 / squared
    return effective, effective * variance


def _sampling_error(
    size_bytes: int, parts: Sequence[HeatRecord], curve: MissRatioCurve, kind: str
) -> float:
    """The standard error of the miss ratio that comes from observing some chunks only.

    Of independently chosen chunks D(T) has a relative error of 1 / sqrt(k), where k observed ones
    fit into the cache; that shifts T. A chunk adds at most 1 / (e * T) to the miss ratio P(T)
    itself. Both err the same way, so they add up.
    """
    share = max(part.share for part in parts)
    begun = observations(parts)
    growth = curve.growths[0]
    time = curve.eviction_time(size_bytes, growth)
    miss = _ratio(curve.miss_ratios(size_bytes, growth), kind)
    if share == 1 or time in (0.0, inf) or not miss:
        return 0.0
    off = sqrt(share * curve.chunk_bytes / (size_bytes * begun))
    smaller = _ratio(curve.miss_ratios(size_bytes / (1 + off), growth), kind)
    larger = _ratio(curve.miss_ratios(size_bytes * (1 + off), growth), kind)
    shifted = ((smaller or 0.0) - (larger or 0.0)) / 2
    return shifted + min(miss, sqrt(miss * share / (e * time * begun)))


def _ratio(ratios: Ratios, kind: str) -> float | None:
    return ratios.reads if kind == "reads" else ratios.writes


def _t(freedom: float) -> float:
    return quantile((1 + COVERAGE) / 2, freedom)


def _z() -> float:
    return NormalDist().inv_cdf((1 + COVERAGE) / 2)

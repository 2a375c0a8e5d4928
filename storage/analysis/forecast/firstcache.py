"""The forecast of a first cache for a volume without one. Pure.

A read that hits no longer waits for the slow disk, so a cache saves at most the time spent waiting.
The data of a volume without a cache cannot show how much: similar volumes that were measured before
and after do, and if there are too few of them it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor
from statistics import quantiles
from typing import Final

from storage.analysis.forecast.expectation import (
    CacheChoice,
    Expectation,
    no_help,
    rates,
    savings,
    unknown,
    warm_up,
)
from storage.analysis.forecast.today import HARDLY_SECONDS, SHORT_DAYS, reckoned, when
from storage.analysis.forecast.use import SAME_CACHE, FormerCache, Use
from storage.analysis.forecast.words import a_day, share, shares, span, spans
from storage.formatting import ms, size
from storage.language import gettext, ngettext

LEAST_ALIKE: Final = 5
SIZE_FACTOR: Final = 4
RATE_FACTOR: Final = 4
RATIO_FACTOR: Final = 2
MISSES_FACTOR: Final = 2
"""A cache of the same size has up to so many times the misses of the former one, or so few: the use
of the next weeks is another one, and the new cache begins empty."""
STEPS: Final = 20
"""What is said of others is rounded outwards to five points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarVolume:
    """What was measured of one order that gave a volume without a cache its first one. `customer`
    is whose it is, to distinguish them alone; `read_iops` and `read_ms_before` are of before."""

    customer: int
    volume_bytes: int
    cache_bytes: int
    read_iops: float
    hit_rate_after: float
    read_ms_before: float | None = None
    read_ms_after: float | None = None

    @property
    def saved_share(self) -> float:
        """The part (0 to 1) of the time of reads that the cache saved; where no times are known,
        the part of the reads that it served."""
        before, after = self.read_ms_before, self.read_ms_after
        share = 1 - after / before if before and after is not None else self.hit_rate_after
        return min(1.0, max(0.0, share))


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The middle half of `count` volumes, each of another customer: hit rates, and the part of the
    waiting that was saved; all 0 to 1."""

    count: int
    hit_rate_low: float
    hit_rate_high: float
    saved_low: float
    saved_high: float


def alike(
    results: Iterable[SimilarVolume], *, volume_bytes: int, cache_bytes: int, read_iops: float
) -> list[SimilarVolume]:
    """The results of similar volumes, one of each customer: the first that `results` has."""
    nearest: dict[int, SimilarVolume] = {}
    for each in results:
        if (
            _within(each.volume_bytes, volume_bytes, SIZE_FACTOR)
            and _within(each.read_iops, read_iops, RATE_FACTOR)
            and _within(
                each.cache_bytes * volume_bytes, cache_bytes * each.volume_bytes, RATIO_FACTOR
            )
        ):
            nearest.setdefault(each.customer, each)
    return list(nearest.values())


def quartiles_of(results: Iterable[SimilarVolume]) -> Quartiles | None:
    """The middle half; None of fewer than `LEAST_ALIKE`."""
    results = list(results)
    if len(results) < LEAST_ALIKE:
        return None
    # The quartiles of five are two customers' own figures.
    rates = _middle([min(1.0, max(0.0, each.hit_rate_after)) for each in results])
    saved = _middle([each.saved_share for each in results])
    return Quartiles(len(results), *rates, *saved)


def _middle(values: list[float]) -> tuple[float, float]:
    low, _, high = quantiles(values, n=4, method="inclusive")
    return floor(low * STEPS) / STEPS, ceil(max(low, high) * STEPS) / STEPS


def _within(one: float, other: float, factor: float) -> bool:
    return one > 0 and other > 0 and max(one, other) <= factor * min(one, other)


def first_cache(use: Use, choice: CacheChoice, results: Iterable[SimilarVolume]) -> Expectation:
    """A cache for a volume without one."""
    if use.on_ssd:
        return Expectation(
            kind="no_help",
            text=gettext("A cache would not help: your volume is on SSD."),
            basis=gettext("The location of your volume."),
        )
    waited = use.waited_seconds_per_day
    if waited < HARDLY_SECONDS and use.days >= SHORT_DAYS:
        return _hardly_waits(use, choice)
    if waited < HARDLY_SECONDS:
        return unknown(
            use,
            choice,
            gettext("No forecast yet: your volume hardly waited for the slow disk {when}.").format(
                when=when(use)
            ),
            gettext("A forecast is available after a day of data."),
            saved=(0.0, waited),
        )
    similar = alike(
        results,
        volume_bytes=use.volume_bytes,
        cache_bytes=choice.size_bytes,
        read_iops=use.read_iops,
    )
    middle = quartiles_of(similar)
    if middle is not None:
        return _similar(use, choice, middle)
    text = gettext("Your volume waits {a_day} for the slow disk. A cache can save part of that.")
    if use.days < SHORT_DAYS:
        text = gettext(
            "Your volume waited {span} for the slow disk {when}. A cache can save part of that."
        )
    return unknown(
        use,
        choice,
        text.format(a_day=a_day(waited), span=span(use.waited_seconds), when=when(use)),
        gettext("Based on your wait time {reckoned}.").format(reckoned=reckoned(use)),
        saved=(0.0, waited),
    )


def as_before(use: Use, former: FormerCache, choice: CacheChoice) -> Expectation:
    """A cache for a volume that lately had one: by the same rule as another size of one that is
    there (`storage.analysis.forecast.othercache`)."""
    factor, rate = choice.size_bytes / former.size_bytes, former.hit_rate
    misses = 1 - rate
    low = max(0.0, min(former.hit_rate_low, 1 - MISSES_FACTOR * misses))
    high = max(former.hit_rate_high, 1 - misses / MISSES_FACTOR)
    low, high = min(low, low * factor), min(1.0, max(high, high * factor))
    text = gettext("With your former cache, {share} of your reads came from SSD: {then} each.")
    return Expectation(
        kind="own_misses",
        text=text.format(share=share(rate), then=ms(former.read_ms)),
        brief=_brief(use, former, factor, (low, high)),
        basis=gettext("Measured on your volume in the last 7 days, with a cache of {size}.").format(
            size=size(former.size_bytes)
        ),
        **rates(low, high),
        **warm_up(use, choice.size_bytes),
    )


def _brief(use: Use, former: FormerCache, factor: float, rates: tuple[float, float]) -> str:
    """What a cache of `factor` times the former size brings: where it is the same one, what was
    measured, beside the reads of now."""
    if not SAME_CACHE <= factor <= 1 / SAME_CACHE:
        text = gettext("With this size: {shares} of your reads from SSD.")
        return text.format(shares=shares(*rates))
    if use.read_ms is None:
        text = gettext("Measured with this size: {share} of your reads from SSD, {then} a read.")
    else:
        text = gettext(
            "Measured with this size: {share} of your reads from SSD, {then} a read (without a "
            "cache {now})."
        )
    return text.format(share=share(former.hit_rate), then=ms(former.read_ms), now=ms(use.read_ms))


def _similar(use: Use, choice: CacheChoice, middle: Quartiles) -> Expectation:
    waited = use.waited_seconds_per_day
    saved = waited * middle.saved_low, waited * middle.saved_high
    low, high = middle.hit_rate_low, middle.hit_rate_high
    return Expectation(
        kind="similar",
        text=(
            gettext(
                "With a cache, similar volumes had {shares} of their reads from SSD. "
                "For your volume, that would save {saved} of waiting a day."
            ).format(shares=shares(low, high), saved=_saved(*saved))
        ),
        basis=(
            gettext(
                "The middle half of {counted}, each of another customer, measured "
                "before and after. A cache that was undone before it was measured "
                "counts as no gain. And your wait time {reckoned}."
            ).format(counted=_counted(middle.count), reckoned=reckoned(use))
        ),
        **rates(low, high),
        **savings(saved),
        **warm_up(use, choice.size_bytes),
    )


def _counted(number: int) -> str:
    return ngettext("{n} similar volume", "{n} similar volumes", number).format(n=number)


def _hardly_waits(use: Use, choice: CacheChoice) -> Expectation:
    return no_help(
        use,
        choice,
        gettext("A cache"),
        gettext("your reads wait for the slow disk less than a minute a day."),
        gettext("Based on your wait time {reckoned}.").format(reckoned=reckoned(use)),
        **savings((0.0, use.waited_seconds_per_day)),
    )


def _saved(low: float, high: float) -> str:
    return gettext("hardly any") if high < HARDLY_SECONDS else spans(low, high)

"""The forecast of another cache, or none, for a volume that has one. Pure.

Every figure is a bound from what was measured, never a promise. Sources:

- A larger cache of the same kind serves no fewer reads than a smaller one (the inclusion property
  of stack algorithms, Mattson et al. 1970): the low end of an upgrade is today's hit rate.
- The first bytes of a cache serve the most reads, so that twice the cache serves at most twice as
  many (hit rate is concave in size where reads are independent: Che, Tung and Wang 2002). The high
  end is today's rate times the factor of size, at most all reads. Programs that read everything in
  turn break this rule (a cliff: Beckmann and Sanchez 2015): they may gain more than is said here.
- The same rule read downwards: a smaller cache keeps at least its share of today's hits.
- Reads saved are waiting saved: a read that hits no longer waits for the slow disk.
"""

from __future__ import annotations

from typing import Any, Final

from storage.analysis.forecast.expectation import (
    WRITES,
    CacheChoice,
    Expectation,
    no_help,
    rates,
    savings,
    unknown,
    warm_up,
)
from storage.analysis.forecast.today import ALL_FAST, HARDLY_SECONDS, reckoned, when
from storage.analysis.forecast.use import SAME_CACHE, Use
from storage.analysis.forecast.words import DAY, MINUTE, a_day, capital, share, shares, span
from storage.language import gettext
from storage.metrics.rates.warming import FULL

FILLING: Final = 0.02
"""A cache that took in more than this part of its size since it is watched still fills."""
LEAST_RATE: Final = 0.05
"""Below this hit rate the factor of size says nothing: hits of so few reads are chance, and what a
larger cache would do is unknown."""
LEAST_POINTS: Final = 0.01
"""A smaller difference of hit rate is none."""


def other_cache(use: Use, rate: float, choice: CacheChoice) -> Expectation:
    """Another cache for a volume that has one."""
    size_bytes = use.cache_size_bytes or 0
    factor = choice.size_bytes / size_bytes if size_bytes else 1.0
    if SAME_CACHE <= factor <= 1 / SAME_CACHE:
        text = gettext("Same size as now: no change in speed.")
        if choice.caches_writes:
            text = gettext("Same size as now: no change for your reads. {writes}").format(
                writes=gettext(WRITES)
            )
        return Expectation(
            kind="own_misses",
            text=text,
            basis=(
                gettext(
                    "Based on the size of your cache. {rate} of your reads came from SSD {when}."
                ).format(rate=share(rate), when=when(use))
            ),
            **_as_now(rate),
            **savings((0.0, 0.0)),
        )
    if factor < 1:
        return _smaller(use, rate, choice)
    if why := _no_help(use, rate):
        return _useless(use, choice, rate, why)
    return _larger(use, rate, choice, factor)


def no_cache(use: Use, rate: float) -> Expectation:
    """No cache any more."""
    more = _more_waiting(use, rate, 0.0)
    return Expectation(
        kind="own_misses",
        text=gettext(
            "You would lose the cache that now answers {rate} of your reads. {lost}"
        ).format(rate=share(rate), lost=lost_words(more)),
        basis=gettext("Based on your cache's data {reckoned}.").format(reckoned=reckoned(use)),
        **rates(0.0, 0.0),
        **savings((-more, 0.0) if more is not None else None),
    )


def _larger(use: Use, rate: float, choice: CacheChoice, factor: float) -> Expectation:
    best = use.best_hit_rate or rate
    if best < LEAST_RATE:
        return unknown(
            use,
            choice,
            gettext("No forecast: only {rate} of your reads come from your current cache.").format(
                rate=share(rate)
            ),
            gettext(
                "Based on your cache's data {when}. A larger cache helps only if your "
                "frequently read data does not fit into the current one. A cache does "
                "not help with data that is read only once."
            ).format(when=when(use)),
        )
    most = min(1.0, best * factor)
    if most - rate < LEAST_POINTS:
        return _useless(
            use,
            choice,
            rate,
            gettext("too few of your reads come from SSD for a slightly larger cache to matter."),
        )
    saved = use.waited_seconds_per_day * (most - rate) / (1 - rate)
    return Expectation(
        kind="own_misses",
        text=_saving(saved),
        basis=(
            gettext(
                "Based on the reads that your cache missed {reckoned}. We cannot "
                "measure which of them a larger cache would have served. This is the "
                "usual upper limit, not a promise. A program that reads everything in "
                "sequence gains nothing, or more once all of it fits."
            ).format(reckoned=reckoned(use))
        ),
        **rates(rate, most),
        **savings((0.0, saved)),
        **warm_up(use, choice.size_bytes),
    )


def _useless(use: Use, choice: CacheChoice, rate: float, why: str) -> Expectation:
    basis = gettext("Based on your cache's data {when}.").format(when=when(use))
    return no_help(use, choice, gettext("An upgrade"), why, basis, hit_rate_low=rate)


def _no_help(use: Use, rate: float) -> str:
    """Why a larger cache would not help, "" where it may."""
    if (use.best_hit_rate or rate) >= ALL_FAST:
        return gettext("nearly all of your reads already come from SSD.")
    size, used = use.cache_size_bytes or 0, use.used_bytes
    if used is not None and size and used < FULL * size:
        if use.grew_bytes > FILLING * size:
            return gettext(
                "your cache is still filling and is {share} used. Check again once it is full."
            ).format(share=share(used / size))
        return gettext("your cache is only {share} used.").format(share=share(used / size))
    if use.waited_seconds_per_day < HARDLY_SECONDS:
        return gettext("your reads wait for the slow disk less than a minute a day.")
    return ""


def _smaller(use: Use, rate: float, choice: CacheChoice) -> Expectation:
    size = use.cache_size_bytes or 0
    if use.used_bytes is not None and use.used_bytes <= choice.size_bytes:
        return Expectation(
            kind="own_misses",
            text=(
                gettext(
                    "The data in your cache fits into this plan: about {rate} of your "
                    "reads from SSD, as now."
                ).format(rate=share(rate))
            ),
            basis=gettext("Your cache is {share} used.").format(share=share(use.used_bytes / size)),
            **_as_now(rate),
            **savings((0.0, 0.0)),
            **warm_up(use, choice.size_bytes),
        )
    least = rate * choice.size_bytes / size
    more = _more_waiting(use, rate, least)
    return Expectation(
        kind="own_misses",
        text=(
            gettext("{capital} of your reads would come from SSD (now {rate}). {lost}").format(
                capital=capital(shares(least, rate)), rate=share(rate), lost=lost_words(more)
            )
        ),
        basis=(
            gettext(
                "Based on your cache's data {reckoned}. The lower value assumes that "
                "all data is read equally often. A program that reads everything in "
                "sequence may lose more."
            ).format(reckoned=reckoned(use))
        ),
        **rates(least, rate),
        **savings((-more, 0.0) if more is not None else None),
        **warm_up(use, choice.size_bytes),
    )


def _more_waiting(use: Use, rate: float, least: float) -> float | None:
    """Seconds a day waited more with a hit rate of `least`, at most what is left of the day; None
    where too few reads missed to know what one costs."""
    if rate >= ALL_FAST or not use.waited_seconds_per_day:
        return None
    more = use.waited_seconds_per_day * ((1 - least) / (1 - rate) - 1)
    return max(0.0, min(more, DAY - use.waited_seconds_per_day))


def lost_words(more: float | None) -> str:
    """How many seconds a day are waited more (None = unknown), in a sentence."""
    if more is None:
        return gettext("The additional wait time is unknown.")
    if more < HARDLY_SECONDS:
        return gettext("The wait time would hardly change.")
    return gettext("Your volume would wait up to {a_day} longer for the slow disk.").format(
        a_day=a_day(more)
    )


def _as_now(rate: float) -> dict[str, Any]:
    """No hit rate is the same to the last digit from one week to the next."""
    return rates(max(0.0, rate - LEAST_POINTS), min(1.0, rate + LEAST_POINTS))


def _saving(seconds: float) -> str:
    if seconds < MINUTE:
        return gettext("A larger cache can save less than a minute of waiting a day.")
    text = gettext("A larger cache can save up to {span} of waiting a day.")
    return text.format(span=span(seconds))

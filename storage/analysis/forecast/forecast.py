"""The forecast for each choice, as far as it can be supported by data. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from storage.analysis.forecast.expectation import CacheChoice, Expectation, no_help, unknown
from storage.analysis.forecast.firstcache import SimilarVolume, as_before, first_cache
from storage.analysis.forecast.othercache import no_cache, other_cache
from storage.analysis.forecast.owntraffic import OwnTraffic, own_traffic
from storage.analysis.forecast.today import SHORT_DAYS, when
from storage.analysis.forecast.use import ENOUGH_SECONDS, SAME_CACHE, Use
from storage.analysis.forecast.words import counted_reads, span
from storage.language import gettext


def forecast(
    use: Use,
    choice: CacheChoice,
    results: Iterable[SimilarVolume] = (),
    traffic: OwnTraffic | None = None,
) -> Expectation | None:
    """What `choice` would bring; None for what the volume has already. `results` are measured
    first caches of other volumes, `traffic` is what the heat of this one says. What was measured
    with a cache of that size goes before any forecast."""
    if choice.is_current or (not use.has_cache and not choice.size_bytes):
        return None
    prospect = traffic.of(choice.size_bytes) if traffic is not None else None
    if traffic is not None and prospect is not None and not _was_measured(use, choice):
        return own_traffic(use, choice, prospect, traffic)
    if use.former is not None:
        return as_before(use, use.former, choice)
    if use.seconds < ENOUGH_SECONDS:
        return _too_short(use, choice)
    if use.is_hardly_used:
        if use.days >= SHORT_DAYS and choice.size_bytes > (use.cache_size_bytes or 0):
            what = gettext("An upgrade") if use.has_cache else gettext("A cache")
            return no_help(
                use,
                choice,
                what,
                gettext("your volume had hardly any reads."),
                gettext("Your volume had {reads} {when}.").format(
                    reads=counted_reads(use.reads), when=when(use)
                ),
            )
        return unknown(
            use,
            choice,
            gettext("No forecast: your volume had hardly any reads."),
            gettext("Your volume had {reads} {when}.").format(
                reads=counted_reads(use.reads), when=when(use)
            ),
        )
    if not use.has_cache:
        return first_cache(use, choice, results)
    if use.hit_rate is None:
        return unknown(
            use,
            choice,
            gettext("No forecast: your cache has served too few reads."),
            gettext("Based on your volume's data {when}.").format(when=when(use)),
        )
    if not choice.size_bytes:
        return no_cache(use, use.hit_rate)
    return other_cache(use, use.hit_rate, choice)


def _was_measured(use: Use, choice: CacheChoice) -> bool:
    """Whether the volume has, or lately had, a cache of about that size."""
    known = use.former.size_bytes if use.former is not None else use.cache_size_bytes
    sizes = sorted((choice.size_bytes, known or 0))
    return sizes[0] >= SAME_CACHE * sizes[1]


def trial_offered(expectation: Expectation | None, choice: CacheChoice, trial_days: float) -> bool:
    """Whether a free trial is offered: the provider gives one of `trial_days` (0 = none), and what
    the plan would bring is unknown."""
    return (
        trial_days > 0
        and choice.size_bytes > 0
        and expectation is not None
        and expectation.kind == "unknown"
    )


def _too_short(use: Use, choice: CacheChoice) -> Expectation:
    if not use.seconds:
        why = gettext("no data of your volume.")
    elif use.is_since_change:
        why = gettext("only {span} of data since your cache was changed.")
    else:
        why = gettext("only {span} of data.")
    why = why.format(span=span(use.seconds))
    basis = gettext("A forecast is available after {span} of data.").format(
        span=span(ENOUGH_SECONDS)
    )
    return unknown(use, choice, gettext("No forecast yet: {why}").format(why=why), basis)

"""The forecast for each choice, as far as it can be supported by data. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from storage.analysis.forecast.expectation import CacheChoice, Expectation, no_help, unknown
from storage.analysis.forecast.firstcache import SimilarVolume, first_cache
from storage.analysis.forecast.othercache import no_cache, other_cache
from storage.analysis.forecast.today import SHORT_DAYS, when
from storage.analysis.forecast.use import ENOUGH_SECONDS, Use
from storage.analysis.forecast.words import counted, span


def forecast(
    use: Use, choice: CacheChoice, results: Iterable[SimilarVolume] = ()
) -> Expectation | None:
    """What `choice` would bring; None for what the volume has already. `results` are measured
    first caches of other volumes."""
    if choice.is_current or (not use.has_cache and not choice.size_bytes):
        return None
    if use.seconds < ENOUGH_SECONDS:
        return _too_short(use, choice)
    if use.is_hardly_used:
        if use.days >= SHORT_DAYS and choice.size_bytes > (use.cache_size_bytes or 0):
            what = "An upgrade" if use.has_cache else "A cache"
            return no_help(
                use,
                choice,
                what,
                "your volume had hardly any reads.",
                f"Your volume had {counted(use.reads, 'read')} {when(use)}.",
            )
        return unknown(
            use,
            choice,
            "No forecast: your volume had hardly any reads.",
            f"Your volume had {counted(use.reads, 'read')} {when(use)}.",
        )
    if not use.has_cache:
        return first_cache(use, choice, results)
    if use.hit_rate is None:
        return unknown(
            use,
            choice,
            "No forecast: your cache has served too few reads.",
            f"Based on your volume's data {when(use)}.",
        )
    if not choice.size_bytes:
        return no_cache(use, use.hit_rate)
    return other_cache(use, use.hit_rate, choice)


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
    since = " since your cache was changed" if use.is_since_change else ""
    why = f"only {span(use.seconds)} of data{since}." if use.seconds else "no data of your volume."
    basis = f"A forecast is available after {span(ENOUGH_SECONDS)} of data."
    return unknown(use, choice, f"No forecast yet: {why}", basis)

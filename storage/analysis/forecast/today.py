"""A volume's speed today, in one sentence for its customer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.analysis.forecast.use import LEAST_SECONDS, Use
from storage.analysis.forecast.words import (
    DAY,
    HOUR,
    MINUTE,
    a_day,
    capital,
    counted_reads,
    lately,
    share,
    span,
)
from storage.language import gettext

ALL_FAST: Final = 0.98
"""Above this share of reads from SSD a larger cache has nothing left to do."""
HARDLY_SECONDS: Final = MINUTE
"""Less waiting a day is hardly any."""
MOST_COVERED: Final = 0.75
SHORT_DAYS: Final = 20 / 24
"""A shorter time is given as it is: what it would be a day is not said of today."""


@dataclass(frozen=True, slots=True)
class Today:
    """`hit_rate` (0 to 1) is None without a cache and where it is not known, and so is
    `waited_seconds_per_day` where nothing can be said. `days` is the time the sentence speaks of,
    `covered` the part of it (0 to 1) that has figures."""

    sentence: str
    hit_rate: float | None
    waited_seconds_per_day: float | None
    days: float
    covered: float


def today(use: Use) -> Today:
    """What the volume's reads met lately."""
    if use.seconds < LEAST_SECONDS:
        return Today(_too_short(use), None, None, use.days, use.covered)
    if use.is_hardly_used:
        return Today(_hardly_used(use), None, None, use.days, use.covered)
    waited = None if use.on_ssd and not use.has_cache else use.waited_seconds_per_day
    return Today(_sentence(use) + _missing(use), use.hit_rate, waited, use.days, use.covered)


def when(use: Use) -> str:
    """The time that the figures are of: "last week", "in the last 3 days"."""
    if use.days >= 6.5:
        return gettext("last week")
    if use.days < SHORT_DAYS:
        return lately(use.days * DAY)
    hours = round(use.days * DAY / HOUR)
    if hours < 48:
        return gettext("in the last {n} hours").format(n=hours)
    return gettext("in the last {n} days").format(n=round(use.days))


def reckoned(use: Use) -> str:
    """The same where figures "a day" were made of it."""
    if use.days >= SHORT_DAYS:
        return when(use)
    return gettext("{when}, projected to 24 h").format(when=when(use))


def _too_short(use: Use) -> str:
    if not use.seconds:
        return gettext("No data of your volume yet. The first data appears within minutes.")
    return f"{gettext('Not enough data to measure the speed.')} {_watched(use)}"


def _hardly_used(use: Use) -> str:
    text = gettext("Your volume had no reads {when}, so its speed is unknown.")
    if use.reads:
        text = gettext("Your volume had only {reads} {when}, too few to measure its speed.")
    return text.format(reads=counted_reads(use.reads), when=when(use)) + _missing(use)


def _sentence(use: Use) -> str:
    text = f"{_served(use)}; {_waited(use)}"
    return f"{text} {_watched(use)}" if use.days < SHORT_DAYS else text


def _served(use: Use) -> str:
    """Where the reads came from, without its end."""
    if use.days < SHORT_DAYS:
        return _served_since(use)
    if use.on_ssd and not use.has_cache:
        text = gettext("All of your reads came from SSD {when}")
    elif not use.has_cache:
        text = gettext("None of your reads came from SSD {when}")
    elif use.hit_rate is None:
        text = gettext("Your cache has served too few reads {when} to measure its effect")
    else:
        text = gettext("{share} of your reads came from SSD {when}")
    return capital(text.format(share=share(use.hit_rate or 0.0), when=when(use)))


def _served_since(use: Use) -> str:
    """The same of a short time, which stands at the end."""
    if use.on_ssd and not use.has_cache:
        return gettext("All of your reads came from SSD")
    if not use.has_cache:
        return gettext("None of your reads came from SSD")
    if use.hit_rate is None:
        return gettext("Your cache has served too few reads to measure its effect")
    return capital(gettext("{share} of your reads came from SSD").format(share=share(use.hit_rate)))


def _waited(use: Use) -> str:
    if use.on_ssd and not use.has_cache:
        return gettext("nothing waits for a slow disk.")
    if use.days < SHORT_DAYS:
        return _waited_then(use)
    if use.waited_seconds_per_day < HARDLY_SECONDS:
        return gettext("your volume waited less than a minute a day for the slow disk.")
    return gettext("your volume waited {a_day} for the slow disk.").format(
        a_day=a_day(use.waited_seconds_per_day)
    )


def _waited_then(use: Use) -> str:
    """The same of a time shorter than a day, not made a figure a day of."""
    if use.waited_seconds < MINUTE:
        return gettext("your volume waited less than a minute for the slow disk.")
    return gettext("your volume waited {span} for the slow disk.").format(
        span=span(use.waited_seconds)
    )


def _watched(use: Use) -> str:
    text = gettext("Based on {span} of data.")
    if use.is_since_change:
        text = gettext("Based on {span} of data since your cache was changed.")
    return text.format(span=span(use.seconds))


def _missing(use: Use) -> str:
    if use.covered >= MOST_COVERED:
        return ""
    text = gettext("(Only {share} of that time was measured.)").format(share=share(use.covered))
    return f" {text}"

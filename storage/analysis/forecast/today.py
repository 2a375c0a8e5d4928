"""A volume's speed today, in one sentence for its customer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.analysis.forecast.use import LEAST_SECONDS, Use
from storage.analysis.forecast.words import DAY, HOUR, MINUTE, a_day, capital, counted, share, span

ALL_FAST: Final = 0.98
"""Above this share of reads from SSD a larger cache has nothing left to do."""
HARDLY_SECONDS: Final = MINUTE
"""Less waiting a day is hardly any."""
MOST_COVERED: Final = 0.75
SHORT_DAYS: Final = 20 / 24
"""A shorter time is told as it is: what it would be a day is not said of today."""


@dataclass(frozen=True, slots=True)
class Today:
    """`hit_rate` (0 to 1) is None without a cache and where nobody knows, and so is
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
        return "last week"
    if use.days >= SHORT_DAYS:
        hours = round(use.days * DAY / HOUR)
        return f"in the last {hours} hours" if hours < 48 else f"in the last {round(use.days)} days"
    return f"in the last {span(use.days * DAY)}".replace("last 1 ", "last ")


def reckoned(use: Use) -> str:
    """The same where figures "a day" were made of it."""
    return when(use) if use.days >= SHORT_DAYS else f"{when(use)}, projected to 24 h"


def _too_short(use: Use) -> str:
    if not use.seconds:
        return "No data of your volume yet. The first data appears within minutes."
    return f"{_watched(use)}: not enough to measure the speed."


def _hardly_used(use: Use) -> str:
    read = counted(use.reads, "read") if use.reads else "no reads"
    return (
        f"Your volume was hardly used {when(use)}: it had {read}, not enough to measure the speed."
        f"{_missing(use)}"
    )


def _sentence(use: Use) -> str:
    served = _served(use)
    if use.days < SHORT_DAYS:
        return f"{_watched(use)}: {_lower(served)}{_waited_then(use)}"
    return f"{served}{_waited(use)}"


def _served(use: Use) -> str:
    """Where the reads came from, without its end."""
    time = f" {when(use)}" if use.days >= SHORT_DAYS else ""
    if use.on_ssd and not use.has_cache:
        return f"All of your reads came from SSD{time}"
    if not use.has_cache:
        return f"None of your reads came from SSD{time}"
    if use.hit_rate is None:
        return f"Your cache has served too few reads{time} to measure its effect"
    return capital(f"{share(use.hit_rate)} of your reads came from SSD{time}")


def _waited(use: Use) -> str:
    if use.on_ssd and not use.has_cache:
        return "; nothing waits for a slow disk."
    if use.waited_seconds_per_day < HARDLY_SECONDS:
        return "; your volume waited less than a minute a day for the slow disk."
    return f"; your volume waited {a_day(use.waited_seconds_per_day)} for the slow disk."


def _waited_then(use: Use) -> str:
    """The same of a time shorter than a day, not made a figure a day of."""
    if use.on_ssd and not use.has_cache:
        return "; nothing waits for a slow disk."
    if use.waited_seconds < MINUTE:
        return "; your volume waited less than a minute for the slow disk."
    return f"; your volume waited {span(use.waited_seconds)} for the slow disk."


def _watched(use: Use) -> str:
    length = span(use.seconds)
    if use.is_since_change:
        return f"Based on {length} of data since your cache was changed"
    return f"Based on {length} of data"


def _missing(use: Use) -> str:
    if use.covered >= MOST_COVERED:
        return ""
    return f" (Only {share(use.covered)} of that time was measured.)"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]

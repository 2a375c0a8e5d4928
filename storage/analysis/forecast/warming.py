"""How long a new cache takes to become useful. Pure.

A cache fills with what the slow disk has to read for the guest, so it cannot be full before as many
bytes were missed as it holds: that is the short end. Not every missed read is kept (a cache takes
in what is read again, and long runs of reads pass it by), and some is missed twice before: the long
end is `SLOW_FACTOR` times that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.analysis.forecast.words import DAY, MINUTE, spans

SLOW_FACTOR: Final = 3
LONG_AGO: Final = 30 * DAY


@dataclass(frozen=True, slots=True)
class Warming:
    """`low_seconds` and `high_seconds` are None where nobody knows. `text` is for the customer."""

    low_seconds: float | None
    high_seconds: float | None
    text: str


def warming(cache_bytes: int, missed_bytes_per_second: float) -> Warming:
    """How long a new cache of that size takes to fill at the present use."""
    if missed_bytes_per_second <= 0:
        return Warming(None, None, "The warm-up time is not known yet.")
    low = cache_bytes / missed_bytes_per_second
    high = SLOW_FACTOR * low
    if low > LONG_AGO:
        text = (
            "At your current use, the cache takes more than a month to fill: you read little new "
            "data."
        )
        return Warming(low, high, text)
    about = "" if low < MINUTE else "about "
    text = f"At your current use, the cache warms up in {about}{spans(low, high)}."
    return Warming(low, high, text)

"""Which time windows are compared: their length, and the length of their blocks."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import floor
from typing import Final

HOUR: Final = 3600
DAY: Final = 86_400
WEEK: Final = 7 * DAY
BLOCKS: Final = 12
"""A window has at least so many blocks, where samples come often enough."""


def block_seconds(window_seconds: int, sample_seconds: int) -> int:
    """An hour in long windows, so that hours of the day can be paired; never shorter than the time
    between two samples, which no block could tell apart."""
    return max(sample_seconds, min(HOUR, window_seconds // BLOCKS))


def before_window(
    limit: datetime, end: datetime, window_seconds: int, block: int
) -> tuple[datetime, datetime]:
    """The window before a change that began at `end`, at most `window_seconds` long, and nothing of
    it before `limit`. From a day on it is whole days (from a week on, whole weeks) that begin and
    end with an hour; shorter ones are whole blocks. It is empty where not one fits."""
    hour = datetime.fromtimestamp(floor(end.timestamp() / HOUR) * HOUR, tz=end.tzinfo)
    length = min(window_seconds, (hour - limit).total_seconds())
    if length >= DAY:
        whole = WEEK if length >= WEEK else DAY
        return hour - timedelta(seconds=length // whole * whole), hour
    length = min(window_seconds, max(0.0, (end - limit).total_seconds()))
    return end - timedelta(seconds=length // block * block), end

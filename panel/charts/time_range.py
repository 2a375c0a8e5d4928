"""The time range of a volume's charts, from the URL of its page.

`range` is one of `RANGES`, up to now; `from` and `to` (RFC 3339) are a part of the past that
somebody zoomed into, and take precedence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.dateparse import parse_datetime

from storage.formatting import seconds
from storage.metrics.series import step_seconds
from storage.models import Volume

RANGES: Final = {
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "6h": ("6 h", timedelta(hours=6)),
    "24h": ("24 h", timedelta(days=1)),
}
DEFAULT_RANGE: Final = "1h"
POINTS: Final = 600
SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=1)
YEARS: Final = (2000, 9000)
"""Near the ends of the calendar a step further is no date any more."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time from `start` to `end`, both on a border of a bucket, so that a bucket keeps its
    borders from one request to the next; `key` is the range around it. A span up to now ends with
    the bucket that still lasts. `is_part`: it was asked for by its ends."""

    key: str
    label: str
    start: datetime
    end: datetime
    is_part: bool = False

    @property
    def words(self) -> str:
        """The span in words, such as "Last 1 h" or "2 min 0 s until 12:40:00 UTC"."""
        if self.is_part:
            return f"{self.label} until {self.end:%H:%M:%S} UTC"
        return f"Last {self.label}"

    @property
    def query(self) -> str:
        """The part of a URL that names this span."""
        if not self.is_part:
            return urlencode({"range": self.key})
        ends = {"from": f"{self.start:%Y-%m-%dT%H:%M:%SZ}", "to": f"{self.end:%Y-%m-%dT%H:%M:%SZ}"}
        return urlencode({"range": self.key, **ends})


def span_of(request: HttpRequest, now: datetime, volume: Volume) -> Span:
    """The time to show. Where the request names none that is known: an hour, or 15 minutes of a
    volume that is known for less than an hour."""
    range_key = request.GET.get("range", "")
    is_new = now - volume.created_at < RANGES[DEFAULT_RANGE][1]
    key = range_key if range_key in RANGES else "15m" if is_new else DEFAULT_RANGE
    ends = moment(request.GET.get("from", "")), moment(request.GET.get("to", ""))
    if ends[0] is not None and ends[1] is not None and ends[0] < min(ends[1], now):
        return part(key, ends[0], min(ends[1], now))
    label, length = RANGES[key]
    step = step_seconds(now - length, now, POINTS)
    end = _border(now, step)
    return Span(key, label, end - length, end)


def part(key: str, start: datetime, end: datetime) -> Span:
    """The span from `start` to `end`, at least a minute and at most a day (its end counts), widened
    to whole buckets."""
    start = end - min(max(end - start, SHORTEST), LONGEST)
    step = step_seconds(start, end, POINTS)
    end = _border(end, step)
    start = end - timedelta(seconds=ceil((end - start).total_seconds() / step) * step)
    return Span(key, seconds((end - start).total_seconds()), start, end, is_part=True)


def moment(text: str) -> datetime | None:
    """The RFC 3339 time of `YEARS` with a time zone that the text is, else None."""
    try:
        at = parse_datetime(text)
    except ValueError:
        return None
    if at is None or at.tzinfo is None:
        return None
    return at if YEARS[0] <= at.year < YEARS[1] else None


def _border(at: datetime, step: int) -> datetime:
    return datetime.fromtimestamp(ceil(at.timestamp() / step) * step, tz=UTC)

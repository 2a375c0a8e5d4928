"""The time range of charts, from the URL of their page.

`range` is one of `RANGES`, up to now; `from` and `to` (RFC 3339, UTC where they name no zone) are a
part of the past that a person zoomed into or entered, and take precedence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from storage.formatting import seconds
from storage.metrics.series import step_seconds
from storage.templatetags.units import stamp

RANGES: Final = {
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "6h": ("6 h", timedelta(hours=6)),
    "24h": ("24 h", timedelta(days=1)),
    "7d": (marked("7 d"), timedelta(days=7)),
    "30d": (marked("30 d"), timedelta(days=30)),
    "90d": (marked("90 d"), timedelta(days=90)),
    "1y": (marked("12 months"), timedelta(days=365)),
}
SHORT_LABELS: Final = {"1y": marked("1 y")}
"""Of ranges whose name is too long for a button."""
DEFAULT_RANGE: Final = "1h"
LONG_DEFAULT: Final = "24h"
RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
"""Seconds and zone are optional; a caller that needs them checks for them."""
POINTS: Final = 600
LONG, LONG_POINTS = timedelta(days=3), 300
"""A longer time is shown in fewer buckets, in whole hours: these are added up already."""
YEAR, YEAR_POINTS = timedelta(days=300), 366
"""So long a time is shown in whole days."""
LONGEST: Final = timedelta(days=366)
FEWEST: Final = 6
SHORTEST: Final = timedelta(minutes=1)
YEARS: Final = (2000, 9000)
"""Near the ends of the calendar, one more step is no valid date."""

SampledEvery = Callable[[datetime, datetime], int]
"""How many seconds lie between the samples of a period."""
KnownSince = Callable[[], datetime | None]
"""Since when there are figures."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time from `start` to `end`, both on a border of a bucket, so that a bucket keeps its
    borders from one request to the next; `key` is the range around it. A span up to now ends with
    the bucket that still lasts. `is_part`: it was asked for by its ends."""

    key: str
    label: str
    start: datetime
    end: datetime
    step: int
    is_part: bool = False

    @property
    def points(self) -> int:
        """How many buckets it has."""
        return round((self.end - self.start).total_seconds() / self.step)

    @property
    def words(self) -> str:
        """The span in words, such as "Last 1 h" or "2 min 0 s until 12:40:00 UTC"."""
        if self.is_part:
            clock = "%H:%M" if self.end.second == 0 else "%H:%M:%S"
            return f"{self.label} until {stamp(self.end, f'%-d %b {clock} %Z')}"
        return gettext("Last {length}").format(length=gettext(self.label))

    @property
    def ends(self) -> dict[str, str]:
        """The parameters of a URL that show the same time tomorrow too."""
        return {
            "range": self.key,
            "from": f"{self.start:%Y-%m-%dT%H:%M:%SZ}",
            "to": f"{self.end:%Y-%m-%dT%H:%M:%SZ}",
        }

    @property
    def query(self) -> str:
        """The part of a URL that names this span."""
        return urlencode(self.ends if self.is_part else {"range": self.key})


def span_of(
    request: HttpRequest,
    now: datetime,
    *,
    known_since: KnownSince,
    least_seconds: int = 0,
    fine: timedelta = timedelta(0),
    every: SampledEvery | None = None,
) -> Span:
    """The time to show, in buckets of at least so many seconds, but for a time no longer than
    `fine` as it was sampled; `every` as of `step_seconds`. Where the request names no known range:
    an hour, or a day of what is shown in long buckets; for a shorter history, the longest range
    that its figures fill, and the shortest one where there are none."""
    keys, key = ranges(least_seconds, fine), request.GET.get("range", "")
    if key not in keys:
        usual = keys[: keys.index(LONG_DEFAULT if least_seconds else DEFAULT_RANGE) + 1]
        age = now - (known_since() or now)
        key = [usual[0], *(each for each in usual if RANGES[each][1] <= age)][-1]
    ends = typed_time(request.GET.get("from", "")), typed_time(request.GET.get("to", ""))
    if ends[0] is not None and ends[1] is not None and ends[0] < min(ends[1], now):
        return part(key, ends[0], min(ends[1], now), least_seconds, fine, every)
    label, length = RANGES[key]
    step = _step(now - length, now, least_seconds, fine, every)
    end = _border(now, step)
    return Span(key, label, end - length, end, step)


def button_text(key: str) -> str:
    """What the button of a range says."""
    return gettext(SHORT_LABELS.get(key, RANGES[key][0]))


def ranges(least_seconds: int = 0, fine: timedelta = timedelta(0)) -> tuple[str, ...]:
    """The keys of the ranges that have at least `FEWEST` buckets of so many seconds, or are no
    longer than `fine`."""
    return tuple(
        key
        for key, (_label, length) in RANGES.items()
        if length <= fine or length.total_seconds() >= FEWEST * least_seconds
    )


def part(
    key: str,
    start: datetime,
    end: datetime,
    least_seconds: int = 0,
    fine: timedelta = timedelta(0),
    every: SampledEvery | None = None,
) -> Span:
    """The span from `start` to `end`, at least a minute and at most `LONGEST` (its end counts),
    widened to whole buckets."""
    start = end - min(max(end - start, SHORTEST), LONGEST)
    step = _step(start, end, least_seconds, fine, every)
    end = _border(end, step)
    start = end - timedelta(seconds=ceil((end - start).total_seconds() / step) * step)
    return Span(key, seconds((end - start).total_seconds()), start, end, step, is_part=True)


def _step(
    start: datetime,
    end: datetime,
    least_seconds: int,
    fine: timedelta,
    every: SampledEvery | None,
) -> int:
    points = POINTS
    if end - start <= fine:
        least_seconds = 0
    if end - start > LONG:
        points = YEAR_POINTS if end - start > YEAR else LONG_POINTS
    return step_seconds(start, end, points, least=least_seconds, every=every)


def typed_time(text: str) -> datetime | None:
    """A time of the URL; what a person typed into a date picker names no zone."""
    at = parsed_time(f"{text}Z")
    if at is None:
        return parsed_time(text)
    return at.replace(tzinfo=timezone.get_current_timezone())


def parsed_time(text: str) -> datetime | None:
    """The RFC 3339 time of `YEARS` with a time zone that the text is, else None."""
    if RFC_3339.fullmatch(text) is None:
        return None
    try:
        at = parse_datetime(text)
    except ValueError:
        return None
    if at is None or at.tzinfo is None:
        return None
    return at if YEARS[0] <= at.year < YEARS[1] else None


def _border(at: datetime, step: int) -> datetime:
    return datetime.fromtimestamp(ceil(at.timestamp() / step) * step, tz=UTC)

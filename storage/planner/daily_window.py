"""A time of day in which work may be done, such as 02:00 to 05:00 in Europe/Berlin. Pure.

A window is from its start to its end on the clock of its zone, and may span midnight. Where the
clock is put forward over its start or its end, the moment of the change counts; where the clock is
put back, its first start and its last end of the night count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from storage.language import gettext

TEXT: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
DAY: Final = timedelta(days=1)
MINUTE: Final = timedelta(minutes=1)
EVENING, MORNING = time(18), time(6)
"""What begins between them begins in the night."""


@cache
def zones() -> frozenset[str]:
    """The names of all time zones."""
    return frozenset(available_timezones())


class BadWindow(ValueError):
    """No window can be made of it; `field` is `start`, `end` or `zone`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """Every day from `start` to `end`, on the clock of `zone`. Raises `BadWindow` for one without a
    length, or of a zone that is none."""

    start: time
    end: time
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise BadWindow("end", "Start and end of the window must differ.")
        if self.zone not in zones():
            message = "There is no such time zone. Enter one like Europe/Berlin."
            raise BadWindow("zone", message)

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M} {self.zone}"

    def next_opening(self, now: datetime) -> datetime | None:
        """When it opens next, in UTC; None while it is open."""
        for opening, closing in self._around(now):
            if closing > now:
                return opening if opening > now else None
        raise AssertionError("a window opens within a week")

    def is_open(self, now: datetime) -> bool:
        """Whether work may be done now."""
        return self.next_opening(now) is None

    def closing(self, now: datetime) -> datetime:
        """When it closes: where it is open now, this time, else after it has opened next."""
        return next(closing for _, closing in self._around(now) if closing > now)

    def last_opening(self, now: datetime) -> datetime:
        """When it opened last, whether or not it is open still."""
        return max(opening for opening, _ in self._around(now) if opening <= now)

    def _around(self, now: datetime) -> list[tuple[datetime, datetime]]:
        """Each opening with its closing, from days before `now` on; on a day on which the clock
        skips the window there is none. In UTC, because times of one zone compare by the clock."""
        zone = ZoneInfo(self.zone)
        today = now.astimezone(zone).date()
        pairs = []
        for days in range(-3, 5):
            day = today + days * DAY
            last_day = day if self.start < self.end else day + DAY
            opening = _moment(day, self.start, zone, is_last=False)
            closing = _moment(last_day, self.end, zone, is_last=True)
            if opening < closing:
                pairs.append((opening, closing))
        return pairs


def read_window(text: str, zone: str) -> DailyWindow:
    """The window that "02:00-05:00" says; raises `BadWindow`."""
    matched = TEXT.fullmatch(text.replace(" ", ""))
    if matched is None:
        raise BadWindow("start", "Enter the window as 02:00-05:00.")
    hour, minute, end_hour, end_minute = (int(part) for part in matched.groups())
    return DailyWindow(time(hour, minute), time(end_hour, end_minute), zone)


def _moment(day: date, at: time, zone: ZoneInfo, *, is_last: bool) -> datetime:
    """The moment at which the clock of the zone shows that time, the first or the last of two;
    where it never does, that at which it skips it."""
    moment = datetime.combine(day, at, zone).replace(fold=int(is_last)).astimezone(UTC)
    shown = moment.astimezone(zone)
    if shown.time() == at:
        return moment
    # Beside the change, by less than what is skipped: after it for the first, before it for the
    # last of two.
    step = MINUTE if is_last else -MINUTE
    offset = shown.utcoffset()
    while (moment + step).astimezone(zone).utcoffset() == offset:
        moment += step
    return moment + step if is_last else moment


def opening_words(at: datetime, now: datetime, zone: str) -> str:
    """A moment to come on the clock of `zone`, as "tonight 02:00"."""
    there, here = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    clock = f"{there:%H:%M}"
    is_night = there.time() >= EVENING or there.time() < MORNING
    is_same_day = there.date() == here.date()
    if is_night and at - now < DAY and (here.time() >= MORNING or is_same_day):
        return gettext("tonight {time}").format(time=clock)
    if is_same_day:
        return gettext("today {time}").format(time=clock)
    if there.date() == here.date() + DAY:
        return gettext("tomorrow {time}").format(time=clock)
    return f"{there:%Y-%m-%d} {clock}"

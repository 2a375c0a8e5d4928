"""A daily window opens and closes by the clock of its zone, also when that clock is changed."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from storage.planner.daily_window import BadWindow, DailyWindow, opening_words, read_window

BERLIN = "Europe/Berlin"
NIGHT = DailyWindow(time(2), time(5), BERLIN)
OVER_MIDNIGHT = DailyWindow(time(22), time(4), BERLIN)


def utc(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("window", "now", "opens", "closes"),
    [
        (NIGHT, utc(27, 0, 59), utc(27, 1), utc(27, 4)),
        (NIGHT, utc(27, 1), None, utc(27, 4)),
        (NIGHT, utc(27, 3, 59), None, utc(27, 4)),
        (NIGHT, utc(27, 4), utc(28, 1), utc(28, 4)),
        (OVER_MIDNIGHT, utc(27, 20, 59), utc(27, 21), utc(28, 3)),
        (OVER_MIDNIGHT, utc(27, 23, 30), None, utc(28, 3)),
        (OVER_MIDNIGHT, utc(28, 2, 59), None, utc(28, 3)),
        (OVER_MIDNIGHT, utc(28, 3), utc(28, 21), utc(29, 3)),
    ],
)
def test_it_opens_every_day_also_over_midnight(
    window: DailyWindow, now: datetime, opens: datetime | None, closes: datetime
) -> None:
    assert window.next_opening(now) == opens
    assert window.closing(now) == closes
    assert window.is_open(now) is (opens is None)


def test_in_summer_it_opens_an_hour_earlier_by_utc() -> None:
    assert NIGHT.next_opening(utc(20, 12, month=7)) == utc(21, 0, month=7)


@pytest.mark.parametrize(
    ("start", "end", "opens", "closes"),
    [
        # On 2026-03-29 at 01:00 UTC the clock goes from 02:00 to 03:00.
        (time(2), time(5), utc(29, 1, month=3), utc(29, 3, month=3)),
        (time(2, 30), time(5), utc(29, 1, month=3), utc(29, 3, month=3)),
        (time(1), time(2, 30), utc(29, 0, month=3), utc(29, 1, month=3)),
        # The window of that night is skipped whole: it opens the night after.
        (time(2), time(3), utc(30, 0, month=3), utc(30, 1, month=3)),
        (time(2, 10), time(2, 50), utc(30, 0, 10, month=3), utc(30, 0, 50, month=3)),
    ],
)
def test_an_hour_that_the_clock_skips_is_not_waited_for(
    start: time, end: time, opens: datetime, closes: datetime
) -> None:
    window = DailyWindow(start, end, BERLIN)
    now = utc(28, 12, month=3)
    assert window.next_opening(now) == opens
    assert window.closing(now) == closes


@pytest.mark.parametrize(
    ("start", "end", "opens", "closes"),
    [
        # On 2026-10-25 at 01:00 UTC the clock goes from 03:00 back to 02:00.
        (time(2), time(5), utc(25, 0, month=10), utc(25, 4, month=10)),
        (time(1), time(2, 30), utc(24, 23, month=10), utc(25, 1, 30, month=10)),
        (time(2, 30), time(3), utc(25, 0, 30, month=10), utc(25, 2, month=10)),
    ],
)
def test_an_hour_that_the_clock_shows_twice_is_in_the_window_both_times(
    start: time, end: time, opens: datetime, closes: datetime
) -> None:
    window = DailyWindow(start, end, BERLIN)
    now = utc(24, 12, month=10)
    assert window.next_opening(now) == opens
    assert window.closing(now) == closes


def test_the_last_opening_is_known_in_the_window_and_after_it() -> None:
    assert NIGHT.last_opening(utc(27, 2)) == utc(27, 1)
    assert NIGHT.last_opening(utc(27, 12)) == utc(27, 1)
    assert NIGHT.last_opening(utc(28, 0, 30)) == utc(27, 1)


@pytest.mark.parametrize(
    ("text", "zone", "field"),
    [
        ("02:00-02:00", BERLIN, "end"),
        ("02:00-05:00", "Europe/Nowhere", "zone"),
        ("2-5", BERLIN, "start"),
        ("25:00-05:00", BERLIN, "start"),
    ],
)
def test_what_is_no_window_is_said_by_its_field(text: str, zone: str, field: str) -> None:
    with pytest.raises(BadWindow) as bad:
        read_window(text, zone)
    assert bad.value.field == field


def test_a_text_is_a_window_and_back() -> None:
    assert read_window("02:00 - 05:00", BERLIN) == NIGHT
    assert str(NIGHT) == "02:00-05:00 Europe/Berlin"


@pytest.mark.parametrize(
    ("now", "window", "words"),
    [
        (utc(27, 12), NIGHT, "tonight 02:00"),
        (utc(27, 12), OVER_MIDNIGHT, "tonight 22:00"),
        (utc(27, 0), NIGHT, "tonight 02:00"),
        (utc(27, 12), DailyWindow(time(14), time(15), BERLIN), "today 14:00"),
        (utc(27, 12), DailyWindow(time(9), time(10), BERLIN), "tomorrow 09:00"),
        (utc(27, 4, 30), NIGHT, "tomorrow 02:00"),
    ],
)
def test_the_opening_is_said_as_people_say_it(
    now: datetime, window: DailyWindow, words: str
) -> None:
    opening = window.next_opening(now)
    assert opening is not None
    assert opening_words(opening, now, BERLIN) == words

"""Which times are compared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from storage.analysis.before_after import before_window, block_seconds
from storage.analysis.before_after.block import DAY, HOUR, WEEK

END = datetime(2026, 11, 21, 9, 17, 30, tzinfo=UTC)
NINE = END.replace(minute=0, second=0)


@pytest.mark.parametrize(
    ("window", "sample", "block"),
    [(WEEK, 60, HOUR), (DAY, 60, HOUR), (HOUR, 60, 300), (60, 10, 10), (60, 5, 5)],
)
def test_blocks_are_hours_in_long_windows_and_samples_in_short_ones(
    window: int, sample: int, block: int
) -> None:
    assert block_seconds(window, sample) == block


def test_a_week_ends_with_the_hour_before_the_change() -> None:
    found = before_window(END - timedelta(days=90), END, WEEK, HOUR)
    assert found == (NINE - timedelta(days=7), NINE)


def test_what_there_is_of_a_week_is_whole_days() -> None:
    found = before_window(END - timedelta(days=3, hours=20), END, WEEK, HOUR)
    assert found == (NINE - timedelta(days=3), NINE)


def test_less_than_a_day_is_whole_blocks_up_to_the_change() -> None:
    assert before_window(END - timedelta(seconds=57), END, 60, 10) == (
        END - timedelta(seconds=50),
        END,
    )


def test_nothing_fits_where_the_change_came_at_once() -> None:
    assert before_window(END, END, WEEK, HOUR) == (END, END)
    assert before_window(END + timedelta(hours=1), END, WEEK, HOUR) == (END, END)

"""Like is compared with like."""

from __future__ import annotations

from storage.analysis.before_after import pairs, period_seconds
from storage.analysis.before_after.block import DAY, WEEK
from tests.storage.analysis.before_after.load import HOUR, block


def test_windows_of_a_week_pair_the_hours_of_the_week() -> None:
    before = [block(n * HOUR, 1000, 0.5) for n in range(168)]
    after = [block(WEEK + (n + 30) * HOUR, 1000, 0.5) for n in range(168)]
    found = pairs(before, after, period_seconds(WEEK))
    assert len(found) == 168
    assert {(b.at - a.at) % WEEK for a, b in found} == {0}
    assert [b.at for _, b in found] == [block.at for block in after]


def test_windows_of_days_pair_the_hours_of_the_day() -> None:
    before = [block(n * HOUR, 1000, 0.5) for n in range(72)]
    after = [block(9 * DAY + (n + 5) * HOUR, 1000, 0.5) for n in range(72)]
    found = pairs(before, after, period_seconds(3 * DAY))
    assert len(found) == 72
    assert {(b.at - a.at) % DAY for a, b in found} == {0}


def test_short_windows_pair_one_after_another_whatever_was_missed() -> None:
    before = [block(n * 10, 1000, 0.5) for n in (0, 1, 3, 4)]
    after = [block(1000 + n * 10, 1000, 0.5) for n in (0, 2, 3)]
    found = pairs(before, after, period_seconds(60))
    assert [(a.at, b.at) for a, b in found] == [(0, 1000), (10, 1020), (30, 1030)]


def test_an_hour_that_one_window_hardly_used_is_compared_with_nothing() -> None:
    before = [block(0, 99, 0.5), block(HOUR, 1000, 0.5)]
    after = [block(WEEK, 1000, 0.5), block(WEEK + HOUR, 1000, 0.5)]
    assert [b.at for _, b in pairs(before, after, WEEK)] == [WEEK + HOUR]

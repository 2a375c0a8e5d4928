"""Slope, remaining time and standstill of a flush."""

from __future__ import annotations

from storage.agent.pace import Fall, Pace

SECOND = 1_000_000_000


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    fall = Fall(0, 1000)
    for second in range(1, 31):
        fall.look(second * SECOND, 1000, 0)
    for second in range(31, 61):
        pace = fall.look(second * SECOND, 1000 - 10 * (second - 30), 100)
    assert pace == Pace(rate_bytes_s=10, left_s=60, stalled_s=0)


def test_without_a_fall_no_end_can_be_told_and_the_standstill_is_counted() -> None:
    fall = Fall(0, 1000)
    fall.look(5 * SECOND, 900, 0)
    assert fall.look(70 * SECOND, 950, 0) == Pace(0, None, 65)


def test_new_data_raises_the_whole() -> None:
    fall = Fall(0, 1000)
    fall.look(SECOND, 1500, 0)
    fall.look(2 * SECOND, 1200, 0)
    assert fall.peak == 1500


def test_at_the_limit_nothing_is_left() -> None:
    assert Fall(0, 1000).look(0, 50, 64).left_s == 0

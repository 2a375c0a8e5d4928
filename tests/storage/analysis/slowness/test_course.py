"""Since when reads are slow, or a disk is busy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from storage.analysis.slowness.course import ReadCourse, ReadMinute, busy_since, read_course
from storage.health.slowness import SlowSpell

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(minute: int) -> datetime:
    return NOON + minute * MINUTE


def course(*each_ms: float, reads: int = 1200) -> ReadCourse:
    """Of a minute for each figure, the first of which ends at 12:01."""
    minutes = [
        ReadMinute(at(n), MINUTE, reads, round(ms * reads)) for n, ms in enumerate(each_ms, 1)
    ]
    return read_course(minutes, 20)


def test_reads_are_slow_since_the_first_of_the_slow_minutes() -> None:
    found = course(5, 5, 24, 24, 30)
    assert found.spell is not None and (found.spell.begun, found.spell.last) == (at(2), at(5))
    assert found.is_now and not found.spell.is_older
    assert found.average_ms(found.spell.begun, found.spell.last) == 26.0


def test_what_is_slow_where_the_figures_begin_is_older() -> None:
    spell = course(24, 24, 24).spell
    assert spell is not None and spell.is_older and spell.lasted == "at least 3 min"


def test_what_was_noted_of_a_slow_time_tells_when_it_began_before_the_figures() -> None:
    minutes = [ReadMinute(at(n), MINUTE, 1200, 24 * 1200) for n in range(1, 4)]
    long_ago = SlowSpell(at(-600), at(1))
    spell = read_course(minutes, 20, long_ago).spell
    assert spell == SlowSpell(at(-600), at(3))
    assert SlowSpell.from_json(spell.to_json()) == spell
    before_a_gap = SlowSpell(at(-600), at(-300))
    assert read_course(minutes, 20, before_a_gap).spell == SlowSpell(at(0), at(3), True)


def test_two_slow_minutes_with_a_gap_between_them_are_no_slow_time() -> None:
    minutes = [ReadMinute(at(n), MINUTE, 1200, 24 * 1200) for n in (1, 60)]
    current = read_course(minutes, 20).current
    assert current is not None and current.begun == at(59) and not current.is_lasting


def test_a_slow_time_that_is_over_is_found_too() -> None:
    found = course(5, 24, 24, 24, *[5] * 20)
    assert found.spell is not None and (found.spell.begun, found.spell.last) == (at(1), at(4))
    assert not found.is_now and found.ended == at(24)


def test_one_slow_minute_that_is_over_was_no_slow_time() -> None:
    assert course(5, 24, 5, 5).spell is None
    assert course(5, 5, 24).is_now


def test_without_figures_nothing_is_known_and_few_reads_tell_nothing() -> None:
    assert read_course([], 20) == ReadCourse()
    assert course(900, 900, 900, reads=10).spell is None


def test_a_disk_is_busy_since_it_was_not_and_a_gap_ends_nothing() -> None:
    assert busy_since([0.1, 0.95, None, 0.99], NOON, 0.9) == (at(1), False)
    assert busy_since([0.95, 0.99], NOON, 0.9) == (at(0), True)
    assert busy_since([0.95, 0.1], NOON, 0.9) == (None, False)
    assert busy_since([None, None], NOON, 0.9) == (None, False)

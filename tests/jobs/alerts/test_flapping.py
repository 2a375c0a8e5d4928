"""What comes and goes all day sends few messages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.alerts.rounds import SILENT, World


def test_a_flapping_link_sends_at_most_six_messages_in_a_day() -> None:
    world = World()
    for _ in range(12 * 12):
        world.begin(SILENT)
        world.passes(minutes=5)
        world.end(SILENT)
        world.passes(minutes=5)
    world.passes(hours=2)
    assert [kind for _, kind in world.notified] == [
        "opened",
        "resolved",
        "opened",
        "flapping",
        "resolved",
    ]


@pytest.mark.parametrize(("there", "gone"), [(35, 35), (65, 20), (120, 240), (300, 300)])
def test_swings_that_are_long_enough_to_be_escalated_send_at_most_six_messages(
    there: int, gone: int
) -> None:
    assert len(a_day_of(minutes(there), minutes(gone)).notified) <= 6


def test_what_came_and_went_while_it_was_acknowledged_is_judged_a_day_later() -> None:
    """By then no earlier alert of the day is left to compare with."""
    world = World()
    world.begin(SILENT)
    world.passes(minutes=10)
    world.end(SILENT)
    world.passes(hours=2)
    world.begin(SILENT)
    world.passes(minutes=10)
    world.acknowledge(SILENT, hours=26)
    for _ in range(3):
        world.end(SILENT)
        world.passes(minutes=12)
        world.begin(SILENT)
        world.passes(minutes=10)
    assert world.passes(hours=27)[:2] == ["unacknowledged", "flapping"]


@settings(max_examples=60)
@given(
    there=st.integers(min_value=1, max_value=3 * 12 * 60),
    gone=st.integers(min_value=1, max_value=3 * 12 * 60),
)
def test_whatever_the_swing_a_day_of_it_sends_at_most_six_messages(there: int, gone: int) -> None:
    """In rounds of 20 s, also where it is there for so long that it is escalated."""
    world = a_day_of(there, gone)
    assert len(world.notified) <= 6, world.notified


SWING = st.tuples(st.integers(min_value=1, max_value=25), st.integers(min_value=1, max_value=150))
"""Minutes that it is there, too few to be an outage, and that it is gone."""


@settings(max_examples=40)
@given(st.lists(SWING, min_size=6, max_size=25))
def test_no_24_hours_of_irregular_swings_send_more_than_six_messages(
    swings: list[tuple[int, int]],
) -> None:
    world = World()
    for there, gone in swings:
        world.begin(SILENT)
        world.passes(minutes=there)
        world.end(SILENT)
        world.passes(minutes=gone)
    times = world.messages[SILENT.fingerprint] if world.messages else []
    for first, seventh in zip(times, times[6:], strict=False):
        assert seventh - first >= timedelta(days=1), world.notified


def test_three_short_times_are_notified_as_over_once_half_an_hour_has_been_calm() -> None:
    world = World()
    for _ in range(3):
        world.begin(SILENT)
        world.passes(minutes=5)
        world.end(SILENT)
        world.passes(minutes=5)
    assert [kind for _, kind in world.notified] == ["opened", "resolved", "opened", "flapping"]
    assert world.passes(minutes=30) == ["resolved"]


def test_after_six_messages_the_next_one_waits_until_the_first_is_a_day_old() -> None:
    world = World()
    for gone in (5, 5, 40, 5, 40):
        world.begin(SILENT)
        world.passes(minutes=5)
        world.end(SILENT)
        world.passes(minutes=gone)
    kinds = [kind for _, kind in world.notified]
    assert kinds == ["opened", "resolved", "opened", "flapping", "resolved", "flapping"]
    # Gone for 40 minutes, it is not over: its next time would be a seventh message.
    assert world.passes(hours=21) == []
    assert world.passes(hours=3) == ["resolved"]


def minutes(count: int) -> int:
    """So many rounds."""
    return 3 * count


def a_day_of(there: int, gone: int) -> World:
    """A link that swings, both in rounds."""
    world = World()
    while world.now.day == 23:
        world.begin(SILENT)
        world.passes(seconds=20 * there)
        world.end(SILENT)
        world.passes(seconds=20 * gone)
    return world


def test_what_comes_back_within_a_day_of_its_escalation_notifies_all_who_heard_of_it() -> None:
    world = World()
    world.begin(SILENT)
    assert world.passes(minutes=35) == ["opened", "escalated"]
    world.end(SILENT)
    assert world.passes(hours=2) == ["resolved"]
    world.begin(SILENT)
    assert world.passes(minutes=30) == ["flapping"]
    assert world.alerts[SILENT.fingerprint].tier == 2
    # It stays: the first tier is notified, and it is escalated again.
    assert world.passes(hours=1) == ["remains", "escalated"]


def test_what_flapped_and_stays_notifies_once_it_is_there_for_good() -> None:
    world = World()
    for _ in range(4):
        world.begin(SILENT)
        world.passes(minutes=5)
        world.end(SILENT)
        world.passes(minutes=5)
    world.begin(SILENT)
    assert world.passes(minutes=29) == []
    assert world.passes(minutes=3) == ["remains"]

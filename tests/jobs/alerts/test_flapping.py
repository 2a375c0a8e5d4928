"""What comes and goes all day sends few messages."""

from __future__ import annotations

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
    assert [kind for _, kind in world.told] == [
        *("opened", "resolved", "opened", "resolved", "flapping", "resolved")
    ]


@settings(max_examples=40)
@given(
    there=st.integers(min_value=1, max_value=87),
    gone=st.integers(min_value=1, max_value=700),
)
def test_whatever_the_swing_a_day_of_it_sends_at_most_six_messages(there: int, gone: int) -> None:
    """In rounds of 20 s: there for at most 29 minutes, after which it would be escalated."""
    world = World()
    while world.now.day == 23:
        world.begin(SILENT)
        world.passes(seconds=20 * there)
        world.end(SILENT)
        world.passes(seconds=20 * gone)
    assert len(world.told) <= 6, world.told


def test_what_flapped_and_stays_is_told_once_it_is_there_for_good() -> None:
    world = World()
    for _ in range(4):
        world.begin(SILENT)
        world.passes(minutes=5)
        world.end(SILENT)
        world.passes(minutes=5)
    world.begin(SILENT)
    assert world.passes(minutes=29) == []
    assert world.passes(minutes=3) == ["remains"]

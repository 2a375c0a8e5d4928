"""When a message is tried again."""

from __future__ import annotations

import pytest

from panel.billing.message_delivery import SECONDS, seconds_after


def test_the_intervals_grow_from_five_seconds_to_a_day_and_then_it_is_given_up() -> None:
    found = [seconds_after(attempts, 0) for attempts in range(1, len(SECONDS) + 1)]
    assert found == list(SECONDS)
    assert (found[0], found[-1]) == (5, 86400)
    assert found == sorted(SECONDS)
    assert seconds_after(len(SECONDS) + 1, 0) is None


def test_chance_spreads_the_tries_by_a_fifth_at_most() -> None:
    assert seconds_after(2, 0.5) == 330
    assert seconds_after(2, 1) == 360


def test_a_question_is_asked_again_every_half_minute_for_as_long_as_it_stands() -> None:
    assert [seconds_after(n, 0, is_question=True) for n in (1, 2, 50)] == [5, 30, 30]


@pytest.mark.parametrize("is_question", [True, False])
def test_a_billing_system_that_asks_for_a_pause_gets_it(is_question: bool) -> None:
    found = [seconds_after(n, 0, is_question=is_question, asked=90) for n in (1, 2, 3)]
    assert found == [90, 90, 90]


def test_a_pause_does_not_add_a_try() -> None:
    assert seconds_after(len(SECONDS) + 1, 0, asked=90) is None

"""Orders laid end to end: what was undone never was, and what left ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from storage.analysis.sales.plan_periods import PlanPeriod, plan_periods
from tests.storage.analysis.sales.orders import BOOST_M, BOOST_S, day, order


def test_a_plan_is_paid_until_the_next_one_begins() -> None:
    first = order(1, day(3, 1), BOOST_S, 490)
    second = order(2, day(5, 1), BOOST_M, 790)
    assert plan_periods([second, first]) == [
        PlanPeriod(1, BOOST_S, "EUR", 490, day(3, 1), day(5, 1)),
        PlanPeriod(1, BOOST_M, "EUR", 790, day(5, 1)),
    ]


def test_an_order_that_was_undone_counts_as_if_it_had_never_been() -> None:
    first = order(1, day(3, 1), BOOST_S, 490)
    second = order(2, day(5, 1), BOOST_M, 790)
    undo = order(3, day(5, 3), BOOST_S, 490, undoes=2)
    assert plan_periods([first, second, undo]) == [PlanPeriod(1, BOOST_S, "EUR", 490, day(3, 1))]


def test_the_way_back_from_an_order_that_is_not_seen_is_a_change_like_any_other() -> None:
    back = order(3, day(5, 3), BOOST_S, 490, undoes=99)
    assert plan_periods([back]) == [PlanPeriod(1, BOOST_S, "EUR", 490, day(5, 3))]


def test_trials_and_free_plans_are_not_paid_for() -> None:
    trial = order(1, day(3, 1), BOOST_S, 0, trial_until=day(3, 8))
    free = order(2, day(3, 1), BOOST_S, 0, volume_id=2)
    assert plan_periods([trial, free]) == []


def test_a_volume_that_left_ends_its_plan_and_one_that_left_before_has_none() -> None:
    bought = order(1, day(3, 1), BOOST_S, 490)
    assert plan_periods([bought], {1: day(4, 1)})[0].until == day(4, 1)
    assert plan_periods([bought], {1: day(2, 1)}) == []


def test_an_order_from_the_future_holds_from_then_on() -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    (period,) = plan_periods([order(1, now + timedelta(days=9), BOOST_S, 490)])
    assert not period.covers(now)
    assert period.covers(now + timedelta(days=9))

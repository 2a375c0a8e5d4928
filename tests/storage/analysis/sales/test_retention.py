"""Who stayed: churn, and trials that were kept."""

from __future__ import annotations

from storage.analysis.sales.plan_periods import plan_periods
from storage.analysis.sales.retention import Share, churn, trials_kept
from tests.storage.analysis.sales.orders import BOOST_M, BOOST_S, day, order


def test_churn_is_who_paid_then_and_pays_for_nothing_now() -> None:
    """Six paid on March 1; one changed down, one cancelled, a seventh came: 1 of 6, 16.7 %."""
    bought = [order(n, day(1, n), BOOST_M, 790, volume_id=n) for n in range(1, 7)]
    cheaper = order(7, day(3, 5), BOOST_S, 490, volume_id=1)
    cancelled = order(8, day(3, 6), None, 0, volume_id=2)
    later = order(9, day(3, 7), BOOST_S, 490, volume_id=7)
    periods = plan_periods([*bought, cheaper, cancelled, later])
    found = churn(periods, day(3, 1), day(3, 31))
    assert found == Share(1, 6)
    assert found.percent is not None and round(found.percent, 1) == 16.7


def test_a_volume_that_was_retired_is_churn_and_an_undone_order_is_none() -> None:
    """Two paid, one was retired; what a third bought before March and undid in March never was."""
    orders = [
        order(1, day(1, 1), BOOST_S, 490, volume_id=1),
        order(2, day(1, 1), BOOST_S, 490, volume_id=2),
        order(3, day(2, 25), BOOST_S, 490, volume_id=3),
        order(4, day(3, 2), None, 0, volume_id=3, undoes=3),
    ]
    periods = plan_periods(orders, {2: day(3, 9)})
    assert churn(periods, day(3, 1), day(3, 31)) == Share(1, 2)


def test_fewer_than_five_cases_are_no_percentage() -> None:
    """2 of 4 is no 50 %; 2 of 5 is 40 %."""
    assert Share(2, 4).percent is None
    assert Share(0, 0).percent is None
    assert Share(2, 5).percent == 40


def test_a_trial_is_kept_once_a_plan_is_paid_for() -> None:
    """Of three that ended one was kept, one undone on its second day, one ran out: 1 of 3."""
    orders = [
        order(1, day(3, 1), BOOST_S, 0, volume_id=1, trial_until=day(3, 8)),
        order(2, day(3, 5), BOOST_S, 490, volume_id=1),
        order(3, day(3, 1), BOOST_S, 0, volume_id=2, trial_until=day(3, 30)),
        order(4, day(3, 2), None, 0, volume_id=2, undoes=3),
        order(5, day(3, 1), BOOST_S, 0, volume_id=3, trial_until=day(3, 8)),
        order(6, day(3, 8), None, 0, volume_id=3, undoes=5),
        order(7, day(3, 9), BOOST_S, 0, volume_id=4, trial_until=day(3, 16)),
    ]
    assert trials_kept(orders, day(1, 1), day(3, 10)) == Share(1, 3)
    assert trials_kept(orders, day(3, 10), day(3, 20)) == Share(0, 1)


def test_an_order_that_was_undone_kept_no_trial() -> None:
    """Bought on March 5, undone on March 6: 0 of 1."""
    orders = [
        order(1, day(3, 1), BOOST_S, 0, trial_until=day(3, 8)),
        order(2, day(3, 5), BOOST_S, 490),
        order(3, day(3, 6), None, 0, undoes=2),
    ]
    assert trials_kept(orders, day(1, 1), day(3, 10)) == Share(0, 1)


def test_orders_from_the_future_are_not_known_yet() -> None:
    """What is bought on April 1 keeps no trial on March 10."""
    orders = [
        order(1, day(3, 1), BOOST_S, 0, trial_until=day(3, 8)),
        order(2, day(4, 1), BOOST_S, 490),
    ]
    assert trials_kept(orders, day(1, 1), day(3, 10)) == Share(0, 1)

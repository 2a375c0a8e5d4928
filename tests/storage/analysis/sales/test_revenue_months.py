"""Revenue of months and its changes, each currency apart."""

from __future__ import annotations

from storage.analysis.sales.plan_periods import plan_periods
from storage.analysis.sales.revenue_months import Sold, revenue_change, revenue_months
from tests.storage.analysis.sales.orders import BOOST_M, BOOST_S, day, order

BEGINS = [day(1, 1), day(2, 1), day(3, 1), day(4, 1)]


def test_a_month_earns_what_its_last_moment_pays_and_the_present_one_what_is_paid_now() -> None:
    """S for 4.90 from February 10 to March 5, M for 7.90 from March 20 on."""
    periods = plan_periods(
        [
            order(1, day(2, 10), BOOST_S, 490),
            order(2, day(3, 5), None, 0),
            order(3, day(3, 20), BOOST_M, 790, volume_id=2),
        ]
    )
    now = {Sold("EUR", BOOST_M): 790}
    months = revenue_months(periods, BEGINS, now)["EUR"]
    assert [(row.begin.month, dict(row.minor), row.total) for row in months] == [
        (2, {BOOST_S: 490}, 490),
        (3, {BOOST_M: 790}, 790),
        (4, {BOOST_M: 790}, 790),
    ]


def test_a_month_without_revenue_between_others_stays() -> None:
    """4.90 until February 15 and 7.90 from April on: March earned nothing."""
    periods = plan_periods([order(1, day(1, 10), BOOST_S, 490), order(2, day(2, 15), None, 0)])
    months = revenue_months(periods, BEGINS, {Sold("EUR", BOOST_M): 790})["EUR"]
    assert [row.total for row in months] == [490, 0, 0, 790]


def test_currencies_are_never_added_up() -> None:
    """4.90 EUR and 7.00 USD: two rows of months."""
    periods = plan_periods(
        [
            order(1, day(2, 10), BOOST_S, 490),
            order(2, day(2, 10), BOOST_M, 700, volume_id=2, currency="USD"),
        ]
    )
    now = {Sold("EUR", BOOST_S): 490, Sold("USD", BOOST_M): 700}
    found = revenue_months(periods, BEGINS, now)
    assert {currency: rows[0].total for currency, rows in found.items()} == {
        "EUR": 490,
        "USD": 700,
    }
    change = revenue_change(periods, day(1, 1), day(4, 1))
    assert (dict(change.gained), dict(change.lost)) == ({"EUR": 490, "USD": 700}, {})


def test_nothing_sold_is_no_row() -> None:
    assert revenue_months([], BEGINS, {}) == {}


def test_gains_and_losses_are_of_each_volume() -> None:
    """4.90 to 7.90, a new one at 4.90, one of 2.90 left: 7.90 gained, 2.90 lost."""
    periods = plan_periods(
        [
            order(1, day(1, 1), BOOST_S, 490),
            order(2, day(3, 2), BOOST_M, 790),
            order(3, day(3, 3), BOOST_S, 490, volume_id=2),
            order(4, day(1, 1), BOOST_S, 290, volume_id=3),
            order(5, day(3, 4), None, 0, volume_id=3),
        ]
    )
    change = revenue_change(periods, day(3, 1), day(4, 1))
    assert (dict(change.gained), dict(change.lost)) == ({"EUR": 790}, {"EUR": -290})

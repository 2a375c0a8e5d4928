"""What to buy, what it earns and when it is paid back."""

from __future__ import annotations

from storage.analysis.sales.ssd_purchase import SoldUnit, SsdCost, SsdSize, purchase
from storage.byte_sizes import GIB

GB = 10**9
BOOST_M = SoldUnit("Boost M", "m", 64 * GIB, 490, "EUR")
SIZES = [SsdSize(480 * GB), SsdSize(960 * GB, 7200.0), SsdSize(1920 * GB)]


def test_the_smallest_ssd_with_room_for_all_that_does_not_fit() -> None:
    """14 wanted, 0 fit. 960 GB: 14 x 4.90 = 68.60 a month; two at 178 a TB: 341.76, 5 months."""
    found = purchase(
        BOOST_M,
        free_bytes=4 * GIB,
        wanted=14,
        sizes=SIZES,
        copies=2,
        rate=SsdCost(178_00, "EUR"),
    )
    assert found is not None
    assert (found.size.ssd_bytes, found.size.saved_seconds_per_day) == (960 * GB, 7200.0)
    assert (found.copies, found.more, found.wanted) == (2, 14, 14)
    assert (found.minor, found.currency) == (6860, "EUR")
    assert (found.cost_minor, found.payback_months) == (341_76, 5)


def test_it_earns_what_is_wanted_and_no_more() -> None:
    """3 wanted, 1 fits: 2 x 4.90 = 9.80 although 480 GB has room for 7; 178 x 0.48 = 85.44 are
    paid back in 9 months, the 9th of which pays 7.04 of it."""
    found = purchase(
        BOOST_M, free_bytes=70 * GIB, wanted=3, sizes=SIZES, rate=SsdCost(178_00, "EUR")
    )
    assert found is not None
    assert (found.size.ssd_bytes, found.more, found.wanted) == (480 * GB, 7, 2)
    assert (found.minor, found.cost_minor, found.payback_months) == (980, 8544, 9)


def test_the_largest_one_where_none_has_room_for_all() -> None:
    """90 wanted: 1,920 GB has room for 27."""
    found = purchase(BOOST_M, free_bytes=0, wanted=90, sizes=SIZES)
    assert found is not None
    assert (found.size.ssd_bytes, found.more, found.wanted) == (1920 * GB, 27, 27)


def test_nothing_where_all_fit_or_no_ssd_has_room() -> None:
    assert purchase(BOOST_M, free_bytes=128 * GIB, wanted=2, sizes=SIZES) is None
    assert purchase(BOOST_M, free_bytes=0, wanted=2, sizes=[]) is None
    assert purchase(BOOST_M, free_bytes=0, wanted=2, sizes=[SsdSize(GB)]) is None


def test_no_pay_back_without_a_price_in_the_plans_currency() -> None:
    for rate in (None, SsdCost(178_00, "USD"), SsdCost(0, "EUR")):
        found = purchase(BOOST_M, free_bytes=0, wanted=2, sizes=SIZES, rate=rate)
        assert found is not None
        assert (found.cost_minor, found.payback_months) == (None, None)


def test_a_plan_that_costs_nothing_pays_nothing_back() -> None:
    free = SoldUnit("Gift", "g", 64 * GIB, 0, "EUR")
    found = purchase(free, free_bytes=0, wanted=2, sizes=SIZES, rate=SsdCost(178_00, "EUR"))
    assert found is not None and found.minor == 0
    assert found.payback_months is None

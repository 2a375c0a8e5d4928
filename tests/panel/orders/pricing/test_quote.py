"""What a change costs, for any prices at any moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from panel.orders.pricing.quote import period, quote, quote_later

MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2031, 1, 1), timezones=st.just(UTC))
PRICES = st.integers(0, 10**9)


@given(MOMENTS, PRICES, PRICES)
def test_never_negative_and_never_both_a_charge_and_a_credit(
    now: datetime, before: int, after: int
) -> None:
    found = quote(now, before, after, "EUR")
    assert found.charge_minor >= 0
    assert found.credit_minor >= 0
    assert not (found.charge_minor and found.credit_minor)
    assert found.charge_minor <= max(0, after - before)
    assert found.credit_minor <= max(0, before - after)
    assert found.next_invoice_minor == after - found.credit_minor


@given(MOMENTS, PRICES)
def test_the_same_price_costs_nothing(now: datetime, price: int) -> None:
    found = quote(now, price, price, "EUR")
    assert (found.charge_minor, found.credit_minor) == (0, 0)
    assert found.next_invoice_minor == price


@given(MOMENTS, PRICES, PRICES)
def test_a_whole_month_costs_the_whole_difference(now: datetime, before: int, after: int) -> None:
    found = quote(period(now)[0], before, after, "EUR")
    assert found.charge_minor - found.credit_minor == after - before


@given(MOMENTS, PRICES, PRICES)
def test_there_and_back_at_once_costs_nothing(now: datetime, before: int, after: int) -> None:
    there, back = quote(now, before, after, "EUR"), quote(now, after, before, "EUR")
    assert (there.charge_minor, there.credit_minor) == (back.credit_minor, back.charge_minor)


@given(MOMENTS, st.integers(0, 27), PRICES, PRICES)
def test_later_in_the_month_costs_no_more(
    now: datetime, days: int, before: int, after: int
) -> None:
    end = period(now)[1]
    later = min(now + timedelta(days=days), end - timedelta(microseconds=1))
    first, second = quote(now, before, after, "EUR"), quote(later, before, after, "EUR")
    assert second.charge_minor <= first.charge_minor
    assert second.credit_minor <= first.credit_minor


@given(MOMENTS)
def test_the_period_holds_its_moment_and_ends_on_the_first(now: datetime) -> None:
    begin, end = period(now)
    assert begin <= now < end
    assert (end.day, end.hour, end.minute) == (1, 0, 0)
    assert period(end)[0] == end
    assert timedelta(days=28) <= end - begin <= timedelta(days=31)


def test_half_a_month_rounds_half_up() -> None:
    middle = datetime(2026, 11, 16, tzinfo=UTC)
    assert quote(middle, 0, 491, "EUR").charge_minor == 246
    assert quote(middle, 990, 490, "EUR").credit_minor == 250
    assert quote(middle, 990, 490, "EUR").next_invoice_minor == 240


def test_at_the_end_of_the_period_nothing_is_due_today() -> None:
    found = quote_later(datetime(2026, 12, 31, 23, 59, tzinfo=UTC), 490, "EUR")
    assert (found.charge_minor, found.credit_minor, found.next_invoice_minor) == (0, 0, 490)
    assert found.period_end == found.next_invoice_at == datetime(2027, 1, 1, tzinfo=UTC)

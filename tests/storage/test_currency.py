"""Amounts of money, as typed and as shown."""

from __future__ import annotations

import pytest

from storage.currency import BadAmount, major_of, minor_of
from storage.templatetags.money import amount, money


@pytest.mark.parametrize(
    ("typed", "currency", "minor"),
    [
        ("4.90", "EUR", 490),
        (" 4,9 ", "EUR", 490),
        ("0", "EUR", 0),
        ("12", "USD", 1200),
        ("490", "JPY", 490),
        ("1.234", "KWD", 1234),
    ],
)
def test_what_is_typed_becomes_whole_minor_units(typed: str, currency: str, minor: int) -> None:
    assert minor_of(typed, currency) == minor
    assert minor_of(major_of(minor, currency), currency) == minor


@pytest.mark.parametrize("typed", ["", "x", "-1", "4.905", "NaN", "Infinity", "1e20", "1.2.3"])
def test_what_is_no_amount_is_refused(typed: str) -> None:
    with pytest.raises(BadAmount):
        minor_of(typed, "EUR")


def test_prices_are_shown_with_their_currency() -> None:
    assert money(490, "EUR") == "4.90 EUR"
    assert money(5, "EUR") == "0.05 EUR"
    assert money(490, "JPY") == "490 JPY"
    assert money(0, "EUR") == "no charge"
    assert money(None, "") == "-"


def test_in_a_column_of_amounts_nothing_is_an_amount_too() -> None:
    assert (amount(490, "EUR"), amount(0, "EUR"), amount(None, "EUR")) == (
        "4.90 EUR",
        "0.00 EUR",
        "-",
    )

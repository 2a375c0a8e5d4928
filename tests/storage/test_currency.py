"""Amounts of money, as typed and as shown."""

from __future__ import annotations

import pytest

from storage.currency import CURRENCIES, BadAmount, digits_of, major_of, minor_of, not_iso
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
        ("5000", "UGX", 5000),
        ("4.900", "LYD", 4900),
        ("4.9", "IQD", 4900),
        ("1.2345", "UYW", 12345),
    ],
)
def test_what_is_typed_becomes_whole_minor_units(typed: str, currency: str, minor: int) -> None:
    assert minor_of(typed, currency) == minor
    assert minor_of(major_of(minor, currency), currency) == minor


@pytest.mark.parametrize("typed", ["", "x", "-1", "4.905", "NaN", "Infinity", "1e20", "1.2.3"])
def test_what_is_no_amount_is_refused(typed: str) -> None:
    with pytest.raises(BadAmount):
        minor_of(typed, "EUR")


def test_every_currency_has_the_decimal_places_of_iso_4217() -> None:
    """The standard's list: a currency that is not named here has two."""
    none = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
    three = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]
    places = dict.fromkeys(none.split(), 0) | dict.fromkeys(three, 3) | {"CLF": 4, "UYW": 4}
    assert {code: digits_of(code) for code in CURRENCIES} == {
        code: places.get(code, 2) for code in CURRENCIES
    }
    assert set(places) <= CURRENCIES
    assert {"EUR", "USD", "GBP", "CHF", "INR", "ZAR"} <= CURRENCIES


@pytest.mark.parametrize("code", ["", "eur", "EURO", "ABC", "XXX", "XAU", "DEM"])
def test_what_iso_4217_does_not_list_is_no_currency_for_prices(code: str) -> None:
    assert "ISO 4217" in not_iso(code)
    assert not not_iso("EUR")


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

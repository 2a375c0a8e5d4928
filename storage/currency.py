"""Amounts of money: whole minor units (cents) and an ISO 4217 currency, never a float."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

DIGITS = dict.fromkeys(("JPY", "KRW", "VND", "CLP", "ISK", "XAF", "XOF"), 0) | dict.fromkeys(
    ("BHD", "JOD", "KWD", "OMR", "TND"), 3
)
"""Decimal places where they are not 2."""
MOST_MINOR = 10**12


class BadAmount(ValueError):
    """The text is no amount of this currency; the message says how to write one."""


def digits_of(currency: str) -> int:
    """Decimal places of a currency."""
    return DIGITS.get(currency, 2)


def minor_of(text: str, currency: str) -> int:
    """Minor units of an amount typed in major ones: "4.90" or "4,90" EUR is 490."""
    digits = digits_of(currency)
    example = f"4.{'90'.ljust(digits, '0')[:digits]}" if digits else "490"
    try:
        amount = Decimal(text.strip().replace(",", "."))
    except InvalidOperation:
        raise BadAmount(f"Enter the amount like {example}.") from None
    if not amount.is_finite() or amount < 0:
        raise BadAmount(f"Enter an amount of 0 or more, like {example}.")
    if amount > MOST_MINOR:
        raise BadAmount("The amount is too large.")
    minor = amount.scaleb(digits)
    if minor != int(minor):
        raise BadAmount(f"{currency} has {digits} decimal places. Enter the amount like {example}.")
    return int(minor)


def major_of(minor: int, currency: str) -> str:
    """The amount in major units: 490 EUR is "4.90"."""
    return f"{Decimal(minor).scaleb(-digits_of(currency)):f}"

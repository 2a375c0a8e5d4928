"""Amounts of money: whole minor units (cents) and an ISO 4217 currency, never a float."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final

ISO_4217: Final = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL
GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW
KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD
NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP
SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS
VED VES VND VUV WST XAD XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CURRENCIES: Final = frozenset(ISO_4217.split())
"""Without what has no minor unit (gold, codes for tests)."""
WITHOUT_DECIMALS: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
DIGITS: Final = (
    dict.fromkeys(WITHOUT_DECIMALS.split(), 0)
    | dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3)
    | dict.fromkeys(("CLF", "UYW"), 4)
)
"""Decimal places where they are not 2."""
MOST_MINOR = 10**12


class BadAmount(ValueError):
    """The text is no amount of this currency; the message says how to write one."""


def digits_of(currency: str) -> int:
    """Decimal places of a currency."""
    return DIGITS.get(currency, 2)


def with_digits(currency: str) -> dict[str, str | int]:
    """The currency of amounts, as each answer and message has it: with its decimal places, so
    that no reader guesses them."""
    return {"currency": currency, "currency_digits": digits_of(currency)}


def not_iso(currency: str) -> str:
    """Why prices cannot be in this currency, "" where they can: the decimal places of an unknown
    one are a guess, and a wrong guess charges a hundredfold."""
    if currency in CURRENCIES:
        return ""
    return "Enter a currency of ISO 4217 as three capital letters, for example EUR."


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

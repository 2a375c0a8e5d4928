"""The cost of a plan change: today, on the next invoice, and from then on. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import floor
from typing import Final

HALF: Final = Fraction(1, 2)
TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Quote:
    """Amounts are minor units of `currency`. `price_minor` is a month's price from then on,
    `charge_minor` due today, `credit_minor` what the next invoice is less by (never both above 0),
    `next_invoice_minor` this volume's line on it, at `next_invoice_at`: below 0 where the credit is
    more than the price. `period_end` is the end of the billing period, a calendar month in UTC.
    """

    currency: str
    price_minor: int
    charge_minor: int
    credit_minor: int
    next_invoice_minor: int
    next_invoice_at: datetime
    period_end: datetime


def quote(now: datetime, from_price_minor: int, to_price_minor: int, currency: str) -> Quote:
    """A change at once: what is left of the month on the new plan, less the same of the old one,
    rounded half up. Prices are those of a month."""
    begin, end = period(now)
    share_left = Fraction((end - now) // TICK, (end - begin) // TICK)
    # The amount is rounded, not the difference: a change and its way back cost the same.
    amount = _half_up(abs(to_price_minor - from_price_minor) * share_left)
    charge = amount if to_price_minor > from_price_minor else 0
    credit = amount if to_price_minor < from_price_minor else 0
    return Quote(currency, to_price_minor, charge, credit, to_price_minor - credit, end, end)


def quote_later(now: datetime, to_price_minor: int, currency: str) -> Quote:
    """A change at the end of the period: nothing today, the new price on the next invoice."""
    end = period(now)[1]
    return Quote(currency, to_price_minor, 0, 0, to_price_minor, end, end)


def period(now: datetime) -> tuple[datetime, datetime]:
    """Begin and end of the billing period that `now` (with its time zone) lies in; the end belongs
    to the next one."""
    utc = now.astimezone(UTC)
    begin = utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return begin, (begin + timedelta(days=32)).replace(day=1)


def _half_up(amount: Fraction) -> int:
    return floor(amount + HALF)

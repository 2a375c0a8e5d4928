"""What a month earned at the end of each month, by plan. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from storage.analysis.sales.plan_periods import PlanPeriod


class Sold(NamedTuple):
    """What is summed apart: a plan, by its primary key, in one currency."""

    currency: str
    plan_id: int


@dataclass(frozen=True, slots=True)
class RevenueMonth:
    """`minor` is by plan what the plans of the month's end cost for a whole month."""

    begin: datetime
    minor: Mapping[int, int]

    @property
    def total(self) -> int:
        return sum(self.minor.values())


def revenue_at(periods: Iterable[PlanPeriod], moment: datetime) -> Counter[Sold]:
    """What was paid a month at that moment."""
    paid = Counter[Sold]()
    for each in periods:
        if each.covers(moment):
            paid[Sold(each.currency, each.plan_id)] += each.minor
    return paid


def revenue_months(
    periods: Sequence[PlanPeriod], begins: Sequence[datetime], now: Mapping[Sold, int]
) -> dict[str, list[RevenueMonth]]:
    """By currency, the oldest month first, without months before the first revenue. `begins` are
    the beginnings of months; the last month is the present one, which earns `now`.

    One volume pays 4.90 EUR for Boost S from February 10 to March 5, another one 7.90 EUR for Boost
    M from March 20 on, and April is the present month: February 4.90 for S, March 7.90 for M, April
    what `now` says.
    """
    ended = [revenue_at(periods, end) for end in begins[1:]]
    months = [*zip(begins, ended, strict=False), (begins[-1], Counter(now))]
    result = {}
    for currency in sorted({sold.currency for _, paid in months for sold in paid}):
        rows = [
            RevenueMonth(
                begin,
                {sold.plan_id: minor for sold, minor in paid.items() if sold.currency == currency},
            )
            for begin, paid in months
        ]
        first = next((n for n, row in enumerate(rows) if row.total), len(rows) - 1)
        result[currency] = rows[first:]
    return result


@dataclass(frozen=True, slots=True)
class RevenueChange:
    """By currency in minor units a month: what was `gained` and, below 0, `lost`."""

    gained: Mapping[str, int]
    lost: Mapping[str, int]


def revenue_change(periods: Sequence[PlanPeriod], since: datetime, at: datetime) -> RevenueChange:
    """What each volume pays at `at` more or less than at `since`.

    One volume went from 4.90 to 7.90 EUR, a new one pays 4.90, one that paid 2.90 left: 7.90 EUR
    gained, 2.90 EUR lost.
    """
    changes = Counter[tuple[int, str]]()
    for each in periods:
        of = each.volume_id, each.currency
        changes[of] += each.minor * (each.covers(at) - each.covers(since))
    gained, lost = Counter[str](), Counter[str]()
    for (_, currency), minor in changes.items():
        (gained if minor > 0 else lost)[currency] += minor
    return RevenueChange(
        {currency: minor for currency, minor in sorted(gained.items()) if minor},
        {currency: minor for currency, minor in sorted(lost.items()) if minor},
    )

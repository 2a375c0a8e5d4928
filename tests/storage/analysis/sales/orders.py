"""Completed orders of 2026 for the tests of what plans earned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from storage.analysis.sales.plan_periods import PlanOrder

BOOST_S: Final = 11
BOOST_M: Final = 12


def day(month: int, of: int) -> datetime:
    return datetime(2026, month, of, tzinfo=UTC)


def order(
    order_id: int,
    at: datetime,
    plan_id: int | None,
    minor: int,
    *,
    volume_id: int = 1,
    currency: str = "EUR",
    trial_until: datetime | None = None,
    undoes: int | None = None,
) -> PlanOrder:
    return PlanOrder(
        order_id=order_id,
        volume_id=volume_id,
        at=at,
        plan_id=plan_id,
        currency=currency,
        minor=minor,
        trial_until=trial_until,
        undoes=undoes,
    )

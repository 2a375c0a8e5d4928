"""The completed orders of all volumes, and what they say: revenue by month and plan, who stayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.db.models import Max

from panel.models import Intent, Order, OrderState
from panel.staff.customers.revenue import Money, SoldCache, months
from storage.access import Person
from storage.analysis.sales.plan_periods import PlanOrder, plan_periods, standing
from storage.analysis.sales.retention import Share, churn, trials_kept
from storage.analysis.sales.revenue_months import (
    RevenueMonth,
    Sold,
    revenue_change,
    revenue_months,
)
from storage.models import CachePlan, Volume

LATELY: Final = timedelta(days=30)
TRIALS: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class SalesHistory:
    """The history of sales: `months` by currency, with the names of their plans by primary key;
    `gained` and `lost` a month, and `churn`, in 30 days; `trials` that ended in 90 days, and were
    kept. `undated` volumes pay for a plan that no order gave: they are in the present month
    alone."""

    months: dict[str, list[RevenueMonth]]
    names: dict[int, str]
    gained: list[Money]
    lost: list[Money]
    churn: Share
    trials: Share
    undated: int


def sales_history(user: Person, caches: Collection[SoldCache], at: datetime) -> SalesHistory:
    """`caches` is what is sold now. Five queries at most."""
    orders = plan_orders(user)
    periods = plan_periods(orders, _ends(orders, caches, at))
    now = Counter[Sold]()
    for cache in caches:
        if cache.minor and cache.volume.cache_plan_id is not None:
            now[Sold(cache.agreed.price.currency, cache.volume.cache_plan_id)] += cache.minor
    change = revenue_change(periods, at - LATELY, at)
    dated = {each.volume_id for each in periods if each.covers(at)}
    return SalesHistory(
        months=revenue_months(periods, months(at), now),
        names=dict(CachePlan.objects.visible_to(user).values_list("pk", "name")),
        gained=_money(change.gained.items()),
        lost=_money(change.lost.items()),
        churn=churn(periods, at - LATELY, at),
        trials=trials_kept(orders, at - TRIALS, at),
        undated=sum(bool(each.minor) and each.volume.pk not in dated for each in caches),
    )


def _money(amounts: Iterable[tuple[str, int]]) -> list[Money]:
    return [Money(minor, currency) for currency, minor in amounts]


def plan_orders(user: Person) -> list[PlanOrder]:
    """Every completed order."""
    rows = Order.objects.visible_to(user).filter(state=OrderState.COMPLETED, ended_at__isnull=False)
    fields = ("pk", "volume_id", "ended_at", "to_plan_id", "currency", "price_minor", "intent")
    return [
        PlanOrder(
            order_id=pk,
            volume_id=volume_id,
            at=ended_at,
            plan_id=plan_id,
            currency=currency,
            minor=minor,
            trial_until=(trial_until or ended_at) if intent == Intent.TRIAL else None,
            undoes=undoes,
        )
        for pk, volume_id, ended_at, plan_id, currency, minor, intent, trial_until, undoes in (
            rows.order_by("pk").values_list(*fields, "trial_until", "reverts_id")
        )
    ]


def _ends(
    orders: Sequence[PlanOrder], caches: Collection[SoldCache], at: datetime
) -> dict[int, datetime]:
    """When volumes lost the plan of their last order without another one: they were retired, or a
    person took it away. Its history says when the row last had that plan; a row without a history
    is taken for changed now."""
    have = {each.volume.pk: each.volume.cache_plan_id for each in caches}
    last = {each.volume_id: each.plan_id for each in standing(orders)}
    lost = {pk: plan for pk, plan in last.items() if plan is not None and have.get(pk) != plan}
    if not lost:
        return {}
    events = cast("Any", Volume).pgh_event_model.objects  # the tracker's model, which no type knows
    rows = events.filter(pgh_obj__in=lost, cache_plan__isnull=False)
    seen = {
        (pk, plan): when
        for pk, plan, when in rows.values_list("pgh_obj", "cache_plan").annotate(
            when=Max("pgh_created_at")
        )
    }
    return {pk: seen.get((pk, plan), at) for pk, plan in lost.items()}

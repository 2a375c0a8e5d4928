"""Lines for invoices: what an order costs at once, and each month of a plan. Each is written once,
under a name that says what it is for, and sent as `usage.line` in the same transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from panel.billing import outbox
from panel.billing.payload import line_json
from panel.models import Intent, LineKind, MessageType, Order, OrderState, UsageLine
from panel.models.order import OPEN
from panel.orders import trial
from panel.orders.prices import paid
from panel.orders.quote import period
from storage.models import CachePlan, Volume

UNSETTLED = (*OPEN, OrderState.SCHEDULED)


def write_of(order: Order) -> None:
    """What a completed order costs until the end of its month, or saves."""
    for kind, amount in (
        (LineKind.CHARGE, order.charge_minor),
        (LineKind.CREDIT, order.credit_minor),
    ):
        if amount:
            _write(
                f"{order.key}-{kind}",
                kind=kind,
                customer=order.customer,
                volume=order.volume,
                order=order,
                description=_change(order),
                currency=order.currency,
                amount_minor=amount,
                period_start=order.created_at,
                period_end=order.next_invoice_at,
            )


def write_month(now: datetime) -> int:
    """The lines of the month that `now` lies in, for each volume that began it with a plan; how
    many were written now. A month that began before there was a billing system is not ours."""
    begin, end = period(now)
    if not outbox.is_on() or outbox.endpoint().created_at > begin:
        return 0
    month = f"{begin:%Y-%m}"
    written = UsageLine.objects.filter(kind=LineKind.RECURRING, period_start=begin)
    changed = Order.objects.filter(state=OrderState.COMPLETED, created_at__gte=begin)
    open_ones = Order.objects.filter(state__in=UNSETTLED, created_at__lt=begin)
    unsettled = open_ones.exclude(state=OrderState.SCHEDULED, due_at__gt=now)
    with_plan = Volume.objects.filter(cache_plan__isnull=False) | Volume.objects.filter(
        pk__in=changed.filter(from_plan__isnull=False).values("volume")
    )
    found = with_plan.exclude(customer=None).exclude(pk__in=written.values("volume"))
    # What an order of last month comes to is not known while it is at work.
    found = found.exclude(pk__in=unsettled.values("volume"))
    made = 0
    for volume in found.select_related("customer", "cache_plan"):
        plan, price, currency = _then(volume, begin)
        if plan is None or not price or volume.customer is None:
            continue
        made += _write(
            f"{volume.key}-{month}",
            kind=LineKind.RECURRING,
            customer=volume.customer,
            volume=volume,
            description=f"{plan.name} for {volume.label}, {month}"[:200],
            currency=currency,
            amount_minor=price,
            period_start=begin,
            period_end=end,
        )
    return made


def _then(volume: Volume, begin: datetime) -> tuple[CachePlan | None, int, str]:
    """Plan and price the volume had when the month began: what was agreed on for it, else what the
    plan costs. A trial that runs over the turn of the month costs nothing."""
    done = Order.objects.filter(volume=volume, state=OrderState.COMPLETED)
    done = done.select_related("from_plan", "to_plan")
    first = done.filter(created_at__gte=begin).order_by("id").first()
    if first is None:
        price = paid(volume) if trial.running(volume) is None else None
        return volume.cache_plan, price.minor if price else 0, price.currency if price else ""
    plan = first.from_plan
    before = done.filter(created_at__lt=begin).order_by("-id").first()
    if plan is None:
        return None, 0, ""
    if before is not None and before.to_plan_id == plan.pk:
        return plan, 0 if before.intent == Intent.TRIAL else before.price_minor, before.currency
    return plan, plan.price_minor, plan.currency


def _change(order: Order) -> str:
    before = order.from_plan.name if order.from_plan is not None else "no cache"
    after = order.to_plan.name if order.to_plan is not None else "no cache"
    return f"{before} to {after} for {order.volume.label}"[:200]


@transaction.atomic
def _write(name: str, **fields: Any) -> bool:
    """False where it was written before."""
    line, is_new = UsageLine.objects.get_or_create(name=name, defaults=fields)
    if is_new:
        outbox.write(MessageType.USAGE, name, line_json(line), line.order)
    return is_new

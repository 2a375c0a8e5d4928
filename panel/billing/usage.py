"""Lines for invoices: what an order costs at once, and each month of a plan. Each is written once,
under a name that says what it is for, and sent as `usage.line` in the same transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from panel.billing import months, outbox
from panel.billing.payload import line_json
from panel.models import LineKind, MessageType, Order, UsageLine
from panel.orders.texts import unplanned


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


def write_months(now: datetime) -> int:
    """The lines of each volume that began a month with a plan, for this month and for those that
    were missed; how many were written now. A month that began before there was a billing system is
    not ours."""
    if not outbox.is_on():
        return 0
    return sum(map(_write_month, months.owed(now, outbox.endpoint().created_at)))


def _write_month(month: months.Month) -> int:
    made = 0
    for volume in months.volumes(month):
        cost = months.cost(volume, month)
        if cost is None or not cost.minor:
            continue
        made += _write(
            f"{volume.key}-{month.name}",
            kind=LineKind.RECURRING,
            customer=cost.customer,
            volume=volume,
            description=f"{cost.plan.name} for {volume.label}, {month.name}"[:200],
            currency=cost.currency,
            amount_minor=cost.minor,
            period_start=month.begin,
            period_end=month.end,
        )
    return made


def _change(order: Order) -> str:
    before = order.from_plan.name if order.from_plan is not None else unplanned(order)
    after = order.to_plan.name if order.to_plan is not None else "no cache"
    return f"{before} to {after} for {order.volume.label}"[:200]


@transaction.atomic
def _write(name: str, **fields: Any) -> bool:
    """False where it was written before."""
    line, is_new = UsageLine.objects.get_or_create(name=name, defaults=fields)
    if is_new:
        outbox.write(MessageType.USAGE, name, line_json(line), line.order)
    return is_new

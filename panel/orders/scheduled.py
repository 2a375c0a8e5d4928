"""Orders that begin at the end of the period."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from panel.models import Order, OrderState
from panel.orders import backoff, events
from panel.orders.choices import offers_of
from panel.orders.evaluate import KINDS, Weighed, no_offer
from panel.orders.place import begin as begin_job
from panel.orders.place import demand_free, lock
from panel.orders.refusal import OrderRefused
from storage.database_clock import database_now
from storage.models import Customer, Volume
from storage.volumes.snapshot import snapshots_of

PATIENCE: Final = timedelta(days=1)
"""So long after its time an order is tried; then it has failed."""


def due(now: datetime) -> list[Order]:
    """Those whose time has come."""
    scheduled = Order.objects.filter(state=OrderState.SCHEDULED, due_at__lte=now)
    found = scheduled.filter(backoff.ready(now))
    return list(found.order_by("due_at"))


def begin(order: Order) -> bool:
    """Begin one; False where it is not scheduled any more, or something is in the way: then it is
    tried again, for a day."""
    try:
        with transaction.atomic():
            has_begun = _begin(order)
    except OrderRefused as refused:
        backoff.put_off(order, refused, order.due_at)
        return _give_up(order, refused)
    if has_begun:
        backoff.clear(order)
    return has_begun


def _begin(order: Order) -> bool:
    customer, volume = lock(order.volume)
    held = Order.objects.select_for_update(no_key=True)
    now = held.filter(pk=order.pk, state=OrderState.SCHEDULED).first()
    if now is None:
        return False
    if (told := _groundless(now, customer, volume)) is not None:
        if now.transition(OrderState.SCHEDULED, OrderState.CANCELLED, **told):
            events.cancelled.send(sender=Order, order=now)
        return False
    demand_free(volume)
    row = snapshots_of([volume])[0]
    offered = offers_of(row, now.to_plan)
    offer = next((each for each in offered if each.plan == now.to_plan), None)
    if offer is None:
        raise OrderRefused("plan_retired", "This plan no longer exists.", "Choose another plan.")
    if offer.reason:
        raise no_offer(offer.reason)
    found = Weighed(
        None,
        None,
        None,
        wish=row.wish if offer.is_current else offer.wish,
        kind=KINDS[offer.change],
    )
    job = begin_job(now, found)
    return now.transition(OrderState.SCHEDULED, OrderState.RUNNING, job=job)


def _groundless(order: Order, customer: Customer, volume: Volume) -> dict[str, str] | None:
    """Why there is nothing left to change, as fields of the order; None where there is."""
    if customer.pk != order.customer_id:
        return {"reason_code": "not_allowed", "reason": "The volume no longer belongs to you."}
    # A wish for a cache is one for a volume in service: it would switch this one on again.
    if volume.retired_at is not None or volume.destroyed_at is not None:
        return {"reason_code": "not_allowed", "reason": "The volume was retired."}
    if volume.cache_plan_id != order.from_plan_id:
        return {"reason_code": "changed_since", "reason": "The plan has changed since then."}
    return None


def _give_up(order: Order, refused: OrderRefused) -> bool:
    if order.due_at is None or database_now() - order.due_at < PATIENCE:
        return False
    with transaction.atomic():
        told = {"reason_code": refused.code, "reason": refused.message[:500]}
        if order.transition(OrderState.SCHEDULED, OrderState.FAILED, **told):
            events.failed.send(sender=Order, order=order)
    return False

"""Undoing an order: the reverse order, and whether it is allowed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef

from panel.models import Intent, Order, OrderState, User
from panel.orders.order_request import OrderRefused, OrderRequest
from storage.models import Volume
from storage.planner.wish import CacheWish, cache_from_json


def reversal_of(order: Order, actor: User | None, **fields: Any) -> OrderRequest:
    """The request for the plan that the volume had before `order`, at once and at the price it had;
    `fields` are more fields of `OrderRequest`."""
    return OrderRequest(
        order.volume, order.plan_back, actor, when="now", takes_back=order, **fields
    )


def restored_by(order: Order) -> CacheWish | None:
    """The cache that undoing `order` restores, even one that staff set up; None for none, or for
    that of its plan."""
    return cache_from_json(order.cache_back) if order.cache_back is not None else None


def reversal_refusal(order: Order, volume: Volume, now: datetime) -> OrderRefused | None:
    """Why `order` of `volume` (just read) cannot be undone; None where it can."""
    late = order.revert_until is None or order.revert_until <= now
    if order.state != OrderState.COMPLETED or order.intent == Intent.REVERT or late:
        return OrderRefused(
            "too_late",
            "You can no longer undo this order: the time limit has passed.",
            "Choose another plan instead.",
            order=order,
        )
    return changed_since(order, volume)


def last_standing(volume: Volume) -> Order | None:
    """The last order that was completed and not undone since."""
    undone = Order.objects.filter(reverts=OuterRef("pk"), state=OrderState.COMPLETED)
    done = Order.objects.filter(volume=volume, customer=volume.customer)
    standing = (
        done.filter(state=OrderState.COMPLETED)
        .exclude(intent=Intent.REVERT)
        .exclude(Exists(undone))
    )
    return standing.order_by("-ended_at", "-pk").first()


def changed_since(order: Order, volume: Volume) -> OrderRefused | None:
    """Whether the volume has gone on since. An order that was itself undone has led back here."""
    last = last_standing(volume)
    if last is not None and last.pk == order.pk and volume.cache_plan_id == order.to_plan_id:
        return None
    return _changed(last)


def cached_since(order: Order, has_cache: bool) -> OrderRefused | None:
    """Whether the volume got another cache after `order` had removed it: a new one is not replaced
    by the old one."""
    return _changed(order) if has_cache and order.to_plan_id is None else None


def _changed(last: Order | None) -> OrderRefused:
    return OrderRefused(
        "changed_since",
        "The plan or the cache has changed again since this order.",
        "Undo the last order, or choose a plan.",
        order=last,
    )

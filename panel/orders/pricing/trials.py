"""Free trials: once for a volume without a cache, and ended automatically."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.utils.translation import gettext_noop as marked

from panel.models import Intent, Order, OrderState
from panel.models.order import OPEN
from panel.orders.order_request import OrderRefused
from panel.orders.pricing.prices import last_completed
from storage.models import Volume
from storage.volumes.snapshot import VolumeSnapshot


def length() -> timedelta:
    """How long a trial lasts; zero where none is offered."""
    return timedelta(days=settings.TIERCEL_TRIAL_DAYS)


def trial_refusal(row: VolumeSnapshot) -> OrderRefused | None:
    """Why the volume gets no trial; None where it does."""
    if not length():
        return _refused(marked("Free trials are not offered."))
    if row.cache is not None or row.volume.cache_plan_id is not None:
        return _refused(marked("A free trial is for volumes without a cache."))
    tried = Order.objects.filter(volume=row.volume, intent=Intent.TRIAL)
    if tried.filter(state__in=(*OPEN, OrderState.COMPLETED)).exists():
        return _refused(marked("This volume has already had its free trial."))
    return None


def running_trial(volume: Volume) -> Order | None:
    """The trial that the volume's plan comes from; None where it is paid for, or has none."""
    last = last_completed(volume)
    if last is None or last.intent != Intent.TRIAL or last.to_plan_id != volume.cache_plan_id:
        return None
    return last


def all_running(volumes: Iterable[Volume]) -> dict[int, Order]:
    """The same for many volumes, by primary key. One query."""
    having = {volume.pk: volume for volume in volumes if volume.cache_plan_id is not None}
    done = Order.objects.filter(volume__in=having, state=OrderState.COMPLETED)
    last = done.order_by("volume_id", "-ended_at", "-id").distinct("volume_id")
    return {
        order.volume_id: order
        for order in last.filter(customer=F("volume__customer"))
        if order.intent == Intent.TRIAL
        and order.to_plan_id == having[order.volume_id].cache_plan_id
    }


def ending(order: Order, now: datetime) -> OrderRefused | None:
    """Why nothing can be bought while the expired trial `order` is being ended: an order
    that waits for its payment would keep it meanwhile, and one after the other for ever."""
    if order.trial_until is None or order.trial_until > now:
        return None
    return OrderRefused(
        "trial",
        "Your free trial has ended and is being removed.",
        "Order the plan again in a few minutes.",
        order=order,
    )


def _refused(why: str) -> OrderRefused:
    return OrderRefused(
        "trial", why, "Order the plan. You can undo the order within the time limit."
    )

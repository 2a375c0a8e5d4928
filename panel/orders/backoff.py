"""Orders that the panel begins by itself while something is in the way: tried again, the longer it
lasts the less often, and told in the log when what is in the way changes."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from panel.models import Order
from panel.orders.refusal import OrderRefused
from storage.database_clock import database_now

log = logging.getLogger(__name__)

LEAST: Final = timedelta(seconds=5)
MOST: Final = timedelta(minutes=5)
SHARE: Final = 4
"""The pause is this part of the time that it lasts already."""


def ready(now: datetime) -> Q:
    """Orders that may be tried now."""
    return Q(again_at=None) | Q(again_at__lte=now)


def put_off(order: Order, refused: OrderRefused, since: datetime | None) -> None:
    """It could not begin or be taken back, though it should have `since` then."""
    now = database_now()
    pause = min(max((now - (since or now)) / SHARE, LEAST), MOST)
    if order.obstacle != refused.code:
        log.info("order %s has to wait: %s", order.key, refused.message)
    Order.objects.filter(pk=order.pk).update(again_at=now + pause, obstacle=refused.code)


def clear(order: Order) -> None:
    """Nothing is in the way any more."""
    if order.obstacle:
        log.info("order %s need not wait any more", order.key)
    Order.objects.filter(pk=order.pk).update(again_at=None, obstacle="")

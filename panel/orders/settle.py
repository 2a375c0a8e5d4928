"""What becomes of orders by themselves, level-triggered: it does what the rows say is due, and any
number of processes may do so at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from jobs.models import OVER
from panel.models import Order
from panel.orders import authorisation, backoff, scheduled
from panel.orders.completion import settle
from panel.orders.place import take
from panel.orders.pricing import trials
from panel.orders.refusal import OrderRefused
from storage.database_clock import database_now

__all__ = ["overdue", "settle", "sweep"]

log = logging.getLogger(__name__)

TOO_LATE = "Your provider's billing did not answer in time. Nothing was charged. Try again later."


def sweep() -> None:
    """End the orders whose jobs are over; decide what nobody decided in time; begin what is due;
    take back the trials that are over. One order that fails the program stops no other."""
    now = database_now()
    running = Order.objects.open().select_related("volume").order_by("id")
    _each(settle, running.filter(job__state__in=OVER))
    _each(overdue, running.filter(state__in=authorisation.ASKED, authorise_by__lte=now))
    _each(scheduled.begin, scheduled.due(now))
    _each(_end_trial, trials.due(now))


def overdue(order: Order) -> bool:
    """The billing system did not answer: the provider said beforehand what that means."""
    if settings.TIERCEL_BILLING_TIMEOUT == "approve":
        return authorisation.approve(order)
    return authorisation.refuse(order, TOO_LATE, "billing_timeout")


def _end_trial(order: Order) -> bool:
    try:
        take(trials.way_back(order))
    except OrderRefused as refused:
        backoff.put_off(order, refused, order.trial_until)
        return False
    backoff.clear(order)
    return True


def _each(act: Callable[[Order], bool], orders: Iterable[Order]) -> None:
    for order in orders:
        try:
            act(order)
        except (OperationalError, InterfaceError):
            # A deadlock or a time-out is one order's trouble, a lost database that of all.
            if not connection.is_usable():
                raise
            log.exception("order %s", order.key)
        except Exception:
            log.exception("order %s", order.key)

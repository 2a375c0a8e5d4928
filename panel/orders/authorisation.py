"""Approve, refuse or cancel an order that waits for authorisation.

Only the first decision counts: a later one changes nothing and gets False.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext_noop as marked

from jobs.models import Job
from jobs.queue import submit as submission
from jobs.requester import Requester
from panel.models import Order, OrderState
from panel.orders import events
from panel.orders.order_request import OrderRefused

DECLINED = marked("Your provider's billing did not approve this order.")
ASKED = (OrderState.AUTHORISING, OrderState.PENDING)


def approve(order: Order) -> bool:
    """The work may begin."""
    with transaction.atomic():
        if not _decided(order, OrderState.RUNNING):
            return False
        submission.release(_job(order))
    return True


def refuse(order: Order, reason: str = "", code: str = "refused") -> bool:
    """The work never begins; `reason` is shown to the customer."""
    shown = reason.strip()[:500] or DECLINED
    with transaction.atomic():
        if not _decided(order, OrderState.REFUSED, reason_code=code, reason=shown):
            return False
        submission.cancel(_job(order), None)
        events.refused.send(sender=Order, order=order)
    return True


def hold_order(order: Order) -> bool:
    """The billing system will say later; `authorise_by` stays."""
    return order.transition(OrderState.AUTHORISING, OrderState.PENDING)


def cancel_order(order: Order, requester: Requester | None) -> None:
    """The customer thought better of it, before any work. Raises `OrderRefused` (`too_late`)."""
    with transaction.atomic():
        fields = {"reason_code": "cancelled", "reason": marked("Cancelled before it started.")}
        if order.transition(OrderState.SCHEDULED, OrderState.CANCELLED, **fields):
            events.cancelled.send(sender=Order, order=order)
            return
        if not _decided(order, OrderState.CANCELLED, **fields):
            order.refresh_from_db()
            raise OrderRefused(
                "too_late",
                "This order can no longer be cancelled: it has started or ended.",
                "Wait until the order has ended. You can then undo it.",
                order=order,
            )
        submission.cancel(_job(order), requester)
        events.cancelled.send(sender=Order, order=order)


def _decided(order: Order, to: OrderState, **fields: str) -> bool:
    return any(order.transition(state, to, **fields) for state in ASKED)


def _job(order: Order) -> Job:
    if order.job is None:
        raise RuntimeError(f"order {order.key} waits for authorisation without a job")
    return order.job

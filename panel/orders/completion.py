"""Ends an order when its job has ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from jobs.models import Job, State
from panel.models import Intent, Order, OrderState
from panel.orders import events, order_texts
from panel.orders.pricing.quote import quote
from panel.orders.pricing.trials import length


@transaction.atomic
def settle_order(order: Order) -> bool:
    """End the order if its job has ended; False if it has not, or another process was faster.
    A job that needs a person leaves its order running."""
    if not order.is_open or order.job_id is None:
        return False
    job = Job.objects.get(pk=order.job_id)
    if job.state == State.SUCCEEDED:
        return _complete(order)
    if job.state in (State.FAILED, State.CANCELLED):
        return _fail(order, job)
    return False


def _complete(order: Order) -> bool:
    fields: dict[str, object] = {}
    if order.intent == Intent.TRIAL:
        # The provider may no longer offer trials, but this one was promised.
        promised = length() or (order.trial_until or order.created_at) - order.created_at
        fields = dict.fromkeys(("trial_until", "revert_until"), Now() + promised)
    elif order.intent != Intent.REVERT:
        fields = {"revert_until": Now() + timedelta(days=settings.TIERCEL_REVERT_DAYS)}
    if not order.transition(OrderState.RUNNING, OrderState.COMPLETED, **fields):
        return False
    if order.costs_more and order.ended_at is not None:
        _charge_from(order, order.ended_at)
    events.completed.send(sender=Order, order=order)
    return True


def _charge_from(order: Order, completed_at: datetime) -> None:
    """A higher price is charged from the completion on, not for the time that the work took. Of a
    month that began meanwhile, the invoice has the old plan."""
    due = quote(completed_at, order.from_price_minor, order.price_minor, order.currency)
    is_same_month = due.period_end == order.next_invoice_at
    agreed_minor = order.charge_minor if is_same_month else due.charge_minor
    order.charge_minor = min(due.charge_minor, agreed_minor)
    order.next_invoice_minor, order.next_invoice_at = due.next_invoice_minor, due.next_invoice_at
    order.save(update_fields=["charge_minor", "next_invoice_minor", "next_invoice_at"])


def _fail(order: Order, job: Job) -> bool:
    fields = {
        "reason_code": "stopped" if job.state == State.CANCELLED else "failed",
        "reason": order_texts.sentence(job, list(job.step_set.all())),
    }
    if not order.transition(OrderState(order.state), OrderState.FAILED, **fields):
        return False
    events.failed.send(sender=Order, order=order)
    return True

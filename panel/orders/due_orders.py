"""Changes of orders that happen automatically: an order ends with its job, is decided when
the billing system did not answer in time, and begins at the end of the period; a trial is reverted.

Level-triggered: it does what the rows say is due, and any number of processes may run it at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_noop as marked

from jobs.models import OVER
from panel.models import Intent, Order, OrderState
from panel.models.order import OPEN
from panel.orders import authorisation, events, rights
from panel.orders.completion import settle_order
from panel.orders.evaluate import KINDS, Evaluation, cache_before, no_offer
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.place_order import begin_job, demand_free, lock, place_order
from panel.orders.plan_choices import offers_of
from panel.orders.pricing import mandate_limits
from panel.orders.pricing.quote import quote
from storage.database_clock import database_now
from storage.models import Customer, Volume
from storage.volumes.snapshot import snapshots_of

log = logging.getLogger(__name__)

PATIENCE: Final = timedelta(days=1)
"""So long after its time an order is tried; then it has failed."""
LEAST: Final = timedelta(seconds=5)
MOST: Final = timedelta(minutes=5)
SHARE: Final = 4
"""The pause is this part of the time that it lasts already."""
TRIAL_PAUSE: Final = timedelta(minutes=10)
"""Pause before another attempt to end a trial."""
TOO_LATE: Final = marked(
    "Your provider's billing did not answer in time. Nothing was charged. Try again later."
)


def sweep_orders() -> None:
    """End the orders whose jobs have ended; decide those without an answer in time; start what is
    due; end expired trials. An error in one order stops no other."""
    now = database_now()
    running = Order.objects.open().select_related("volume").order_by("id")
    _each(settle_order, running.filter(job__state__in=OVER))
    _each(overdue, running.filter(state__in=authorisation.ASKED, authorise_by__lte=now))
    _each(begin_scheduled, due_at_period_end(now))
    _each(_end_trial, due_trials(now))


def overdue(order: Order) -> bool:
    """The billing system did not answer: the provider said beforehand what that means."""
    if settings.TIERCEL_BILLING_TIMEOUT != "approve":
        return authorisation.refuse(order, TOO_LATE, "billing_timeout")
    with transaction.atomic():
        refused = _forbidden_since(order)
        if refused is not None:
            return authorisation.refuse(order, refused.message, refused.code)
        return authorisation.approve(order)


def _forbidden_since(order: Order) -> OrderRefused | None:
    """Why the unanswered order may not begin any more: the customer was suspended, or
    the mandate lowered, after it was placed."""
    customer = Customer.objects.select_for_update(no_key=True).get(pk=order.customer_id)
    if (refused := rights.suspended(customer)) is not None:
        return refused
    now, mandate = database_now(), mandate_limits.mandate_of(customer)
    left_minor = others_minor = None
    if mandate is not None:
        left_minor = mandate_limits.left_minor(mandate, now, but_for=order)
        others_minor = mandate_limits.others_minor(mandate, order.volume)
    due = quote(now, order.from_price_minor, order.price_minor, order.currency)
    return mandate_limits.mandate_refusal(mandate, left_minor, others_minor or 0, due, now)


def _end_trial(order: Order) -> bool:
    try:
        place_order(
            OrderRequest(order.volume, order.from_plan, takes_back=order, by="panel", when="now")
        )
    except OrderRefused as refused:
        put_off(order, refused, order.trial_until)
        return False
    clear(order)
    return True


def due_trials(now: datetime) -> list[Order]:
    """Trials whose time is up and that were not ordered for money, of customers who still have the
    volume; a failed attempt is repeated after `TRIAL_PAUSE`."""
    done = Order.objects.filter(state=OrderState.COMPLETED)
    later = done.filter(volume=OuterRef("volume"), ended_at__gt=OuterRef("ended_at"))
    backs = Order.objects.filter(reverts=OuterRef("pk"))
    tried = backs.filter(state=OrderState.FAILED, ended_at__gt=now - TRIAL_PAUSE)
    over = done.filter(
        ~Exists(later), ~Exists(backs.filter(state__in=OPEN)), ~Exists(tried), intent=Intent.TRIAL
    ).filter(
        ready(now),
        trial_until__lte=now,
        volume__cache_plan=F("to_plan"),
        volume__customer=F("customer"),
        volume__retired_at=None,
    )
    return list(over.order_by("id"))


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


def due_at_period_end(now: datetime) -> list[Order]:
    """Those whose time has come."""
    scheduled = Order.objects.filter(state=OrderState.SCHEDULED, due_at__lte=now)
    return list(scheduled.filter(ready(now)).order_by("due_at"))


def begin_scheduled(order: Order) -> bool:
    """Begin one; False where it is not scheduled any more, or something is in the way: then it is
    tried again, for a day."""
    try:
        with transaction.atomic():
            has_begun = _begin(order)
    except OrderRefused as refused:
        put_off(order, refused, order.due_at)
        return _give_up(order, refused)
    if has_begun:
        clear(order)
    return has_begun


def _begin(order: Order) -> bool:
    customer, volume = lock(order.volume)
    orders = Order.objects.select_for_update(no_key=True)
    scheduled = orders.filter(pk=order.pk, state=OrderState.SCHEDULED).first()
    if scheduled is None:
        return False
    if (reason := _groundless(scheduled, customer, volume)) is not None:
        if scheduled.transition(OrderState.SCHEDULED, OrderState.CANCELLED, **reason):
            events.cancelled.send(sender=Order, order=scheduled)
        return False
    demand_free(volume)
    row = snapshots_of([volume])[0]
    offered = offers_of(row, scheduled.to_plan)
    offer = next((each for each in offered if each.plan == scheduled.to_plan), None)
    if offer is None:
        raise OrderRefused("plan_retired", "This plan no longer exists.", "Choose another plan.")
    if offer.reason:
        raise no_offer(offer.reason)
    evaluation = Evaluation(
        None,
        None,
        None,
        wish=row.wish if offer.is_current else offer.wish,
        kind=KINDS[offer.change],
    )
    job = begin_job(scheduled, evaluation)
    had = cache_before(row)
    return scheduled.transition(OrderState.SCHEDULED, OrderState.RUNNING, job=job, from_cache=had)


def _groundless(order: Order, customer: Customer, volume: Volume) -> dict[str, str] | None:
    """Why there is nothing left to change, as fields of the order; None where there is."""
    if customer.pk != order.customer_id:
        return {
            "reason_code": "not_allowed",
            "reason": marked("The volume no longer belongs to you."),
        }
    # A wish for a cache is one for a volume in service: it would switch this one on again.
    if volume.retired_at is not None or volume.destroyed_at is not None:
        return {"reason_code": "not_allowed", "reason": marked("The volume was retired.")}
    if volume.cache_plan_id != order.from_plan_id:
        reason = marked("The plan has changed since then.")
        return {"reason_code": "changed_since", "reason": reason}
    return None


def _give_up(order: Order, refused: OrderRefused) -> bool:
    if order.due_at is None or database_now() - order.due_at < PATIENCE:
        return False
    with transaction.atomic():
        reason = {"reason_code": refused.code, "reason": refused.message[:500]}
        if order.transition(OrderState.SCHEDULED, OrderState.FAILED, **reason):
            events.failed.send(sender=Order, order=order)
    return False


def ready(now: datetime) -> Q:
    """Orders that may be tried now."""
    return Q(again_at=None) | Q(again_at__lte=now)


def put_off(order: Order, refused: OrderRefused, since: datetime | None) -> None:
    """Note that the order could not start or be undone, although it was due `since` then."""
    now = database_now()
    pause = min(max((now - (since or now)) / SHARE, LEAST), MOST)
    if order.obstacle != refused.code:
        log.info("order %s has to wait: %s", order.key, refused.message)
    Order.objects.filter(pk=order.pk).update(again_at=now + pause, obstacle=refused.code)


def clear(order: Order) -> None:
    """Nothing is in the way any more."""
    if order.obstacle:
        log.info("order %s no longer has to wait", order.key)
    Order.objects.filter(pk=order.pk).update(again_at=None, obstacle="")

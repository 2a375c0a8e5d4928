"""Places an order: in one transaction, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from jobs.models import Job, Origin
from jobs.queue.submit import Busy, ChangeRequest, holder_of, submit
from jobs.requester import Requester
from panel.models import Intent, Order, OrderState
from panel.orders import events, rights
from panel.orders.completion import settle_order
from panel.orders.evaluate import Evaluation, account_of, evaluate, no_offer
from panel.orders.order_expectations import expected_of
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.order_texts import unplanned_after
from panel.orders.plan_choices import offers_of
from panel.orders.reversal import restored_by
from storage.database_clock import database_now
from storage.models import Customer, Volume
from storage.planner import Refused
from storage.row_locks import hold
from storage.volumes.plan_offers import NOT_NOW, REASONS
from storage.volumes.snapshot import snapshots_of

AWAITS = "the billing system's answer"
WAIT = marked("Wait a few minutes until that change has ended.")


@transaction.atomic
def place_order(ask: OrderRequest) -> Order:
    """Place the requested order; raises `OrderRefused`, and then writes nothing.

    A request `by` the billing system needs no person, no mandate and no authorisation. The same
    `idempotency_key` of the customer again is the same order. Customer and volume stay locked
    to the end: of two orders at once the second one sees the first one's charge and job.
    """
    customer, volume = lock(ask.volume)
    rights.demand_customer(ask, volume)
    if (known := _known(ask, customer)) is not None:
        return known
    refusal = rights.suspended(customer) if ask.by != "panel" else None
    if refusal is not None and ask.by == "person":
        raise refusal
    demand_free(volume)
    now = database_now()
    evaluation = evaluate_now(ask, volume, now)
    if evaluation.refusal is not None:
        raise evaluation.refusal
    # The billing system that suspended the customer may still end or lower the plan.
    if refusal is not None and evaluation.costs_more:
        raise refusal
    _supersede(volume)
    order = _order(ask, customer, volume, evaluation, now)
    if order.state != OrderState.SCHEDULED:
        order.job = begin_job(order, evaluation, ask.token)
        if order.state == OrderState.AUTHORISING:
            order.authorise_by = now + timedelta(seconds=settings.TIERCEL_AUTHORISE_SECONDS)
    order.save(force_insert=True)
    events.placed.send(sender=Order, order=order)
    return order


def lock(volume: Volume) -> tuple[Customer, Volume]:
    """The customer and the volume as they are now, locked until the transaction ends. Raises
    `OrderRefused` where the volume has no customer."""
    # To the customer whose volume it was a moment ago, it is not there any more
    # (`storage.row_security`).
    volumes = Volume.objects.filter(pk=volume.pk)
    at_first = volumes.values_list("customer_id", flat=True).first()
    customers = Customer.objects.select_for_update(no_key=True)
    customer = customers.filter(pk=at_first or 0).first()
    locked = hold(volume)
    if customer is None or not locked or locked[0].customer_id != customer.pk:
        raise OrderRefused("not_allowed", "This volume is not yours.", "Ask your provider.")
    return customer, locked[0]


def preview(ask: OrderRequest) -> Evaluation:
    """What the order would be, and what is in its way. Nothing is ordered or locked; at most an
    earlier order whose job has ended is closed."""
    volume = ask.volume
    try:
        customer = rights.demand_customer(ask, volume)
        refusal = rights.suspended(customer)
        if refusal is None:
            demand_free(volume)
    except OrderRefused as refused:
        return Evaluation(None, None, refused)
    if refusal is not None:
        return Evaluation(None, None, refusal)
    return evaluate_now(ask, volume, database_now())


def evaluate_now(ask: OrderRequest, volume: Volume, now: datetime) -> Evaluation:
    """The order evaluated on what the volume's host last said."""
    row = snapshots_of([volume])[0]
    offered = offers_of(row)
    if ask.takes_back is not None:
        offered = offers_of(row, ask.plan, restored_by(ask.takes_back))
    offer = next((each for each in offered if each.plan == ask.plan), None)
    return evaluate(ask, row, offer, now, account_of(row, now))


def begin_job(order: Order, evaluation: Evaluation, token: str = "") -> Job:
    """The job of an order; raises `OrderRefused` where the host's space is promised meanwhile, or
    another job was faster."""
    if evaluation.wish is None:
        raise no_offer("")
    try:
        return submit(
            ChangeRequest(
                evaluation.kind,
                order.volume,
                evaluation.wish,
                cache_plan=order.to_plan,
                price_minor=order.price_minor,
                currency=order.currency,
                awaits=AWAITS if order.state == OrderState.AUTHORISING else "",
            ),
            Requester(order.actor, address=order.address, origin=Origin(order.origin), token=token),
        )
    except Refused as refused:
        raise no_offer(REASONS.get(refused.code, NOT_NOW)) from refused
    except Busy as busy:
        raise _busy() from busy


def demand_free(volume: Volume) -> None:
    """Raises `OrderRefused` (`order_running`) where an order or a job holds the volume."""
    running = Order.objects.open().filter(volume=volume).select_related("job").first()
    if running is not None and not settle_order(running):
        plan = running.to_plan
        name = plan.name if plan is not None else unplanned_after(running)
        raise OrderRefused(
            "order_running",
            gettext("Another change is running: {plan}.").format(plan=name),
            WAIT,
            order=running,
        )
    if holder_of(volume) is not None:
        raise _busy()


def _known(ask: OrderRequest, customer: Customer) -> Order | None:
    """The order that the customer's same key made before."""
    if not ask.idempotency_key:
        return None
    known = Order.objects.filter(customer=customer, idempotency_key=ask.idempotency_key).first()
    if known is None:
        return None
    had = (known.volume_id, known.to_plan_id, known.intent == Intent.TRIAL, known.reverts_id)
    plan_id = ask.plan.pk if ask.plan is not None else None
    back_id = ask.takes_back.pk if ask.takes_back is not None else None
    was_later = "period_end" if known.due_at is not None else "now"
    same_time = ask.when is None or ask.when == was_later
    if had == (ask.volume.pk, plan_id, ask.trial, back_id) and same_time:
        return known
    raise OrderRefused(
        "idempotency",
        "This idempotency key was already used for a different request.",
        "Reload the page, or use a new Idempotency-Key.",
        order=known,
    )


def _supersede(volume: Volume) -> None:
    """A new order takes the place of the one that waits for the end of the period."""
    waiting = Order.objects.filter(volume=volume, state=OrderState.SCHEDULED).first()
    reason = {"reason_code": "replaced", "reason": "Replaced by another order."}
    if waiting and waiting.transition(OrderState.SCHEDULED, OrderState.CANCELLED, **reason):
        events.cancelled.send(sender=Order, order=waiting)


def _order(
    ask: OrderRequest, customer: Customer, volume: Volume, evaluation: Evaluation, now: datetime
) -> Order:
    if evaluation.intent is None or evaluation.quote is None:
        raise RuntimeError("an order without an obstacle has an intent and a quote")
    asks = settings.TIERCEL_BILLING_URL and ask.by == "person" and evaluation.costs_more
    state = OrderState.AUTHORISING if asks else OrderState.RUNNING
    return Order(
        customer=customer,
        volume=volume,
        intent=evaluation.intent,
        state=OrderState.SCHEDULED if evaluation.due_at is not None else state,
        actor=ask.actor,
        origin=ask.origin,
        address=ask.address,
        idempotency_key=ask.idempotency_key,
        from_plan=volume.cache_plan,
        to_plan=ask.plan,
        replaces_trial=evaluation.replaces_trial,
        from_cache=evaluation.from_cache,
        currency=evaluation.quote.currency,
        from_price_minor=evaluation.from_minor,
        price_minor=evaluation.quote.price_minor,
        charge_minor=evaluation.quote.charge_minor,
        credit_minor=evaluation.quote.credit_minor,
        next_invoice_minor=evaluation.quote.next_invoice_minor,
        next_invoice_at=evaluation.quote.next_invoice_at,
        due_at=evaluation.due_at,
        trial_until=evaluation.trial_until,
        reverts=ask.takes_back,
        expected=ask.expected or expected_of(volume, ask.plan, now),
        # The moment it is priced for.
        created_at=now,
    )


def _busy() -> OrderRefused:
    return OrderRefused(
        "order_running", "Your provider is changing this volume at the moment.", WAIT
    )

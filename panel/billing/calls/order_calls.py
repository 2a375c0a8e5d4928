"""Calls about orders: change a plan, answer a pending question, ask for the status."""

from __future__ import annotations

from django.db.models import Q

from jobs.models import Job, Origin, State
from jobs.models.job import OVER
from panel.api.framework.problem import ApiProblem
from panel.api.framework.shape import Json
from panel.billing.answer import plain_reason
from panel.billing.calls.calling import ACTOR, Caller, CallResult, missing, volume_of
from panel.models import Order, OrderState
from panel.orders import authorisation
from panel.orders.order_request import OrderRequest
from panel.orders.place_order import place_order
from storage import currency
from storage.models import CachePlan


def change_plan(body: Json, caller: Caller) -> CallResult:
    """An order of the billing system: it needs no authorisation."""
    volume = volume_of(body)
    agreed = (body["price_minor"], body["currency"]) if "price_minor" in body else None
    order = place_order(
        OrderRequest(
            volume=volume,
            plan=_plan(body["plan"]),
            actor=None,
            agreed=agreed,
            when=body.get("when"),
            by="billing",
            origin=Origin.API,
            token=ACTOR,
            address=caller.address,
            # No idempotency_key: its names are the customer's, and `call_log` does each call once.
        )
    )
    return _of_order(order)


def decide_order(body: Json, _: Caller) -> CallResult:
    """Approves or refuses an order that was answered with pending."""
    order = _order(body["order"])
    same: tuple[OrderState, ...]
    if body["decision"] == "approve":
        is_done, same = authorisation.approve(order), (OrderState.RUNNING, OrderState.COMPLETED)
    else:
        reason = plain_reason(body.get("reason", ""))
        is_done, same = authorisation.refuse(order, reason), (OrderState.REFUSED,)
    order.refresh_from_db()
    if not is_done and order.state not in same:
        raise ApiProblem(
            409,
            "decided",
            f"The order no longer waits for an answer; its state is {order.get_state_display()}.",
            "Release the authorised amount, unless the order is completed.",
        )
    return CallResult({"order": order.key, "state": order.state})


def status(body: Json, _: Caller) -> CallResult:
    """An order or a job; `pending` until it has ended."""
    if body.get("order"):
        return _of_order(_order(body["order"]))
    job = Job.objects.filter(key=body["job"]).first()
    if job is None:
        raise missing("job", "Use an id from an earlier answer.")
    data = {"job": job.key, "state": job.state, "reason": job.error.get("message", "")}
    return _result(data, is_over=job.state in OVER, is_good=job.state == State.SUCCEEDED)


def _of_order(order: Order) -> CallResult:
    data = {
        "order": order.key,
        "state": order.state,
        "job": order.job.key if order.job is not None else None,
        "charge_minor": order.charge_minor,
        "credit_minor": order.credit_minor,
        "price_minor": order.price_minor,
        **currency.with_digits(order.currency),
        "reason": order.reason,
    }
    is_over = order.ended_at is not None
    return _result(data, is_over=is_over, is_good=order.state == OrderState.COMPLETED)


def _result(data: Json, *, is_over: bool, is_good: bool) -> CallResult:
    if is_over and not is_good:
        data = {"result": "error", **data}
    return CallResult(data, is_pending=not is_over)


def _order(key: str) -> Order:
    order = Order.objects.select_related("job", "volume", "customer").filter(key=key).first()
    if order is None:
        raise missing("order", "Use the order of a message.")
    return order


def _plan(name: str | None) -> CachePlan | None:
    if name is None:
        return None
    plans = CachePlan.objects.filter(Q(key=name) | Q(name=name))
    # A key goes before a name of the same text.
    plan = min(plans, key=lambda each: each.key != name, default=None)
    if plan is None:
        raise missing("plan", "The list is at /api/v1/cache-plans/.")
    return plan

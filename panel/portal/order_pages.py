"""Pages of one order: its progress, its result, and its undo."""

from __future__ import annotations

import secrets
from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.models import Origin
from jobs.requester import Requester
from panel.accounts.authentication import step_up
from panel.accounts.client_address import address_of
from panel.accounts.member_scope import member_view, orders_of
from panel.models import Order, OrderState, Proof, ProofState, User
from panel.orders import authorisation, order_texts, reversal, rights
from panel.orders.order_request import OrderRefused
from panel.orders.place_order import place_order, preview
from panel.orders.pricing import prices
from panel.orders.reversal import reversal_of
from panel.portal import order_progress, plan_texts
from panel.portal.ordering import agreed_price, status_of
from panel.portal.volume_cards import Card, cards_of
from storage.database_clock import database_now

EARLY = (OrderState.SCHEDULED, OrderState.AUTHORISING, OrderState.PENDING)


@require_safe
@member_view
def order(request: HttpRequest, key: str) -> HttpResponse:
    """One order while it runs, and its outcome."""
    return render(request, "portal/order.html", _context(request, _order_of(request, key)))


@require_safe
@member_view
def order_status(request: HttpRequest, key: str) -> HttpResponse:
    """The part of that page that refreshes."""
    return render(request, "portal/_order.html", _context(request, _order_of(request, key)))


@require_POST
@member_view
def order_cancel(request: HttpRequest, key: str) -> HttpResponse:
    """Cancel an order before its work begins; later the request is refused with the reason."""
    order = _order_of(request, key)
    refused = rights.outsider(request.user, order.volume)
    try:
        if refused is not None:
            raise refused
        requester = Requester(cast("User", request.user), address_of(request), Origin.PORTAL)
        authorisation.cancel_order(order, requester)
    except OrderRefused as late:
        messages.warning(request, f"{late.message} {late.correction}")
        return redirect("my-order", order.key)
    messages.success(request, gettext("Cancelled. Nothing was charged or changed."))
    return redirect("my-order", order.key)


@require_http_methods(["GET", "HEAD", "POST"])
@member_view
def order_revert(request: HttpRequest, key: str) -> HttpResponse:
    """Show what undoing an order costs and does; a POST orders it."""
    order = _order_of(request, key)
    if request.method != "POST":
        return _revert(request, order, None)
    if _charges(request, order):
        asked = step_up.demand(request, reverse("my-order-revert", args=[order.key]))
        if asked is not None:
            return asked
    try:
        back = place_order(
            reversal_of(
                order,
                cast("User", request.user),
                agreed=agreed_price(request),
                address=address_of(request),
                idempotency_key=request.POST.get("idempotency_key", "")[:255],
            )
        )
    except OrderRefused as refused:
        return _revert(request, order, refused)
    return redirect("my-order", back.key)


def _charges(request: HttpRequest, order: Order) -> bool:
    """Whether undoing costs money: only then must the customer confirm their identity."""
    return preview(reversal_of(order, cast("User", request.user))).costs_more


def _revert(request: HttpRequest, order: Order, refused: OrderRefused | None) -> HttpResponse:
    evaluation = preview(reversal_of(order, cast("User", request.user)))
    obstacle = refused or evaluation.refusal
    # A changed price must be confirmed again.
    is_shown = obstacle is None or obstacle.code == "price_changed"
    quote = evaluation.quote if is_shown and evaluation.refusal is None else None
    context = {
        "order": order,
        "volume": order.volume,
        "title": order_progress.title(order),
        "money": quote,
        "price_lines": plan_texts.price_lines(quote, prices.paid(order.volume))
        if quote is not None
        else [],
        "back_to": plan_texts.back_to(order),
        "what_follows": plan_texts.after_reversal(order),
        "refused": obstacle,
        "order_in_the_way": obstacle.order
        if obstacle is not None and obstacle.order != order
        else None,
        "must_prove": evaluation.costs_more and not step_up.is_proven(request),
        "idempotency_key": secrets.token_urlsafe(16),
    }
    status = status_of(refused) if refused is not None else 200
    return render(request, "portal/revert.html", context, status=status)


def _order_of(request: HttpRequest, key: str) -> Order:
    return get_object_or_404(orders_of(request.user), key=key)


def _warming(order: Order, proof: Proof | None) -> Card | None:
    """How fast the volume is while the report waits for the new cache to be warm."""
    is_warming = order.state == OrderState.COMPLETED and order.to_plan_id is not None
    if not is_warming or proof is None or proof.is_over:
        return None
    return cards_of([order.volume], {}, timezone.now())[0]


def _way_back(order: Order) -> tuple[bool, Order | None]:
    """Whether the order can be undone now, and else the later one that has to be undone first."""
    now = database_now()
    refusal = reversal.reversal_refusal(order, order.volume, now)
    later = refusal.order if refusal is not None and refusal.code == "changed_since" else None
    if later is None or reversal.reversal_refusal(later, order.volume, now) is not None:
        return refusal is None, None
    return False, later


def _context(request: HttpRequest, order: Order) -> dict[str, object]:
    steps = list(order.job.step_set.all()) if order.job is not None else []
    proof = getattr(order, "proof", None)
    may_order = rights.barred(request.user, order.volume) is None
    can_go_back, later = _way_back(order)
    is_ready = proof is not None and proof.state == ProofState.READY
    return {
        "order": order,
        "volume": order.volume,
        "title": order_progress.title(order),
        "plans": order_progress.plans_of(order),
        "sentence": order_progress.sentence_of(order, steps, proof),
        "phases": order_progress.phases_of(order, steps, proof),
        "progress": order_texts.progress(order.job, steps) if order.job is not None else None,
        "poll_seconds": order_progress.poll_seconds(order, proof),
        "warming": _warming(order, proof),
        "report_url": reverse("my-report", args=[order.key]) if is_ready else "",
        # Also after ordering was closed: a customer may always cancel an order that has not begun.
        "may_cancel": rights.outsider(request.user, order.volume) is None and order.state in EARLY,
        "may_revert": may_order and can_go_back,
        "then": plan_texts.after_reversal(order) if can_go_back else "",
        "later": later if may_order else None,
    }

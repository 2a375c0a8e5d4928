"""Customers choose a cache plan: cards, a confirmation, an order.

The price shown on the confirmation is the price agreed on: the form returns it, and a plan whose
price has changed meanwhile must be confirmed again. `panel.orders` decides what may be ordered and
what it costs.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final, cast

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from jobs.models import Job
from panel.accounts.authentication import step_up
from panel.accounts.client_address import address_of
from panel.accounts.member_scope import (
    changes_of,
    member_view,
    orders_of,
    row_of,
    several_customers,
    volume_notices,
)
from panel.models import Order, User
from panel.orders import rights
from panel.orders.order_expectations import expected_for
from panel.orders.order_request import OrderRefused, OrderRequest, When
from panel.orders.place_order import place_order
from panel.orders.plan_choices import PlanChoice, choices, offers_of
from panel.orders.plan_choices import weighed_choice as weighed
from panel.orders.pricing import prices, trials
from panel.orders.sold_out import note_sold_out
from panel.portal import order_progress, plan_texts
from panel.portal.plan_cards import (
    best,
    dearest,
    has_already,
    headroom,
    no_help,
    obstacle,
    plan_cards,
    says_today,
    shared_forecast,
    spares_dearer,
)
from storage.analysis.forecast import Expectation, today
from storage.analysis.measured_use import use_of
from storage.database_clock import database_now
from storage.models import CachePlan, Volume
from storage.volumes.snapshot import VolumeSnapshot

STATUS: Final = {
    "over_cap": HTTPStatus.PAYMENT_REQUIRED,
    "too_soon": HTTPStatus.PAYMENT_REQUIRED,
    "cap_unknown": HTTPStatus.PAYMENT_REQUIRED,
    "order_running": HTTPStatus.CONFLICT,
}
WHENS: Final[dict[str, When]] = {"now": "now", "period_end": "period_end"}


def status_of(refused: OrderRefused) -> int:
    """The HTTP status that answers this refusal."""
    return STATUS.get(refused.code, HTTPStatus.UNPROCESSABLE_ENTITY)


@require_safe
@member_view
def plans(request: HttpRequest, key: str) -> HttpResponse:
    """The volume today, and what may be chosen for it: a card each."""
    row, now = row_of(request, key), database_now()
    use, all_choices = use_of(row, now), choices(row, now)
    note_sold_out(row.volume, [each.offer for each in all_choices], now)
    expected = expected_for(row, use, [each.offer for each in all_choices], now)
    trial = trials.running_trial(row.volume)
    cards = plan_cards(row, all_choices, expected, trial)
    barred = rights.barred(request.user, row.volume)
    notices = volume_notices(request.user, row.volume)
    context = {
        "volume": row.volume,
        # A forecast that has only today's figures repeats them.
        "today": None if says_today(cards, use) else today(use),
        "cards": cards,
        "obstacle": obstacle(cards) if barred is None and not notices["suspended"] else None,
        "no_help": no_help(cards),
        "shared": shared_forecast(cards),
        # The page suggests one thing; keeping a trial comes first.
        "best": best(cards) if trial is None else None,
        "enough": spares_dearer(cards) if trial is None else None,
        "headroom": headroom(row.volume.customer, now, of=dearest(cards)),
        "explains": "why" in request.GET,
        "barred": barred,
        "has_cache": row.cache is not None,
        "on_ssd": use.on_ssd,
        "trial_words": plan_texts.trial_words(),
        "revert_days": settings.TIERCEL_REVERT_DAYS,
        "several_customers": several_customers(request.user),
        **notices,
        **order_progress.running_change(_running(request, row.volume)),
    }
    return render(request, "portal/plans.html", context)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one request speaks of."""

    row: VolumeSnapshot
    choice: PlanChoice
    expected: Expectation | None
    is_trial: bool
    when: When | None
    now: datetime

    @property
    def refusal(self) -> OrderRefused | None:
        """Why it cannot be ordered at the usual time."""
        return self.choice.refusal

    @property
    def agreed_minor(self) -> int:
        """The price a month that is agreed on by confirming."""
        return 0 if self.is_trial else self.choice.offer.price_minor

    @property
    def is_charged(self) -> bool:
        """Whether a month costs more than now: only then is the identity confirmed first."""
        paid = prices.paid(self.row.volume)
        return self.agreed_minor > (paid.minor if paid is not None else 0)

    @property
    def address(self) -> str:
        """Where it is shown."""
        path = reverse("my-plan-confirm", args=[self.row.volume.key, self.choice.offer.key])
        query = {"trial": "1"} if self.is_trial else {}
        if self.when is not None:
            query["when"] = self.when
        return f"{path}?{urlencode(query)}" if query else path


@require_http_methods(["GET", "HEAD", "POST"])
@member_view
def confirm_choice(request: HttpRequest, key: str, choice: str) -> HttpResponse:
    """Show what a choice costs and does; a POST orders it. In the address, `trial` is for nothing
    and for a time, and `when` the time that was chosen before."""
    row, is_post, now = row_of(request, key), request.method == "POST", database_now()
    # A plan that was retired since the page was opened is refused with the reason.
    seen = CachePlan.objects.filter(key=choice).first() if is_post else None
    offer = next((offer for offer in offers_of(row, seen) if offer.key == choice), None)
    if offer is None:
        raise Http404
    if not is_post and (running := _running(request, row.volume)):
        return redirect("my-change", running.key)
    answers = request.POST if is_post else request.GET
    proposal = Wanted(
        row,
        weighed(row, offer, now),
        expected_for(row, use_of(row, now), [offer], now).get(offer.key),
        "trial" in request.GET,
        WHENS.get(answers.get("when", "")),
        now,
    )
    barred = rights.barred(request.user, row.volume)
    if barred is not None or not is_post:
        return _confirm(
            request, proposal, barred, HTTPStatus.UNPROCESSABLE_ENTITY if is_post else 200
        )
    asked = step_up.demand(request, proposal.address) if proposal.is_charged else None
    return asked or _order(request, proposal)


def _order(request: HttpRequest, proposal: Wanted) -> HttpResponse:
    plan = proposal.choice.offer.plan
    try:
        order = place_order(
            OrderRequest(
                volume=proposal.row.volume,
                plan=plan,
                actor=cast("User", request.user),
                agreed=agreed_price(request),
                when=proposal.when,
                trial=proposal.is_trial,
                address=address_of(request),
                idempotency_key=request.POST.get("idempotency_key", "")[:255],
            )
        )
    except OrderRefused as refused:
        if refused.code == "order_running" and (same := _same(request, refused, proposal)):
            return redirect("my-order", same.key)
        return _confirm(request, proposal, refused, status_of(refused))
    return redirect("my-order", order.key)


def _confirm(
    request: HttpRequest, proposal: Wanted, refused: OrderRefused | None, status: int = 200
) -> HttpResponse:
    row, choice, is_trial = proposal.row, proposal.choice, proposal.is_trial
    refused = refused or (None if proposal.is_trial and choice.trial else proposal.refusal)
    is_later = choice.when == "period_end"
    quote = choice.trial if is_trial else choice.other if is_later else choice.quote
    paid, plan, has_cache = prices.paid(row.volume), row.volume.cache_plan, row.cache is not None
    on_trial = trials.running_trial(row.volume) is not None
    is_kept = on_trial and choice.offer.is_current
    context = {
        "volume": row.volume,
        "offer": choice.offer,
        "question": plan_texts.question(choice.offer, is_trial=is_trial, is_kept=is_kept),
        "button": plan_texts.button(choice.offer, is_trial=is_trial),
        "money": quote,
        "price_lines": plan_texts.price_lines(quote, paid) if quote is not None else [],
        "at_period_end": plan_texts.at_period_end(choice.quote)
        if is_later and choice.quote is not None
        else "",
        "at_once": plan_texts.at_once(quote) if quote is not None else "",
        "what_happens": plan_texts.what_happens(
            choice.offer,
            proposal.expected,
            is_trial=is_trial,
            is_kept=is_kept,
            mode=row.cache.mode if row.cache is not None else "",
            is_smaller=row.cache is not None
            and (row.cache.size_bytes or 0) > choice.offer.size_bytes,
            window=row.placement.host.cache_window if row.placement is not None else None,
        ),
        "has_already": has_already(row, choice.offer),
        "terms": plan_texts.terms(
            choice.offer,
            None if on_trial else plan,
            is_trial=is_trial,
            is_later=is_later,
            has_own_cache=has_cache and plan is None,
            ends_trial=on_trial,
        ),
        "when": proposal.when,
        "expected": proposal.expected,
        "is_trial": is_trial,
        "agreed_minor": proposal.agreed_minor,
        "address": proposal.address,
        "refused": refused,
        "order_in_the_way": refused.order if refused is not None else None,
        # A changed price must be confirmed again.
        "can_confirm": refused is None or refused.code == "price_changed",
        "now": plan_texts.plan_now(plan, on_trial=on_trial) if plan is not None else "",
        "paid": paid,
        "has_cache": has_cache,
        "cache_bytes": row.cache.size_bytes if row.cache is not None else None,
        "headroom": headroom(row.volume.customer, proposal.now),
        "must_prove": proposal.is_charged and not step_up.is_proven(request),
        "idempotency_key": secrets.token_urlsafe(16),
    }
    return render(request, "portal/confirm.html", context, status=status)


def _same(request: HttpRequest, refused: OrderRefused, proposal: Wanted) -> Order | None:
    """The running order, if it is for the same plan: the customer ordered in a second window."""
    if refused.order is None or refused.order.to_plan != proposal.choice.offer.plan:
        return None
    return orders_of(request.user).filter(pk=refused.order.pk).first()


def agreed_price(request: HttpRequest) -> tuple[int, str]:
    """The price that the form showed; an impossible price where the form has none."""
    typed = request.POST.get("price_minor", "")
    minor = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 15 else -1
    return minor, request.POST.get("currency", "")


def _running(request: HttpRequest, volume: Volume) -> Job | None:
    return changes_of(request.user).unfinished().filter(volume=volume).first()

"""The customers' pages of volumes and their changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from jobs.models import CHANGING_SPEED, Job, State
from panel.accounts.member_scope import (
    changes_of,
    member_view,
    orders_of,
    paid_for,
    row_of,
    several_customers,
    volume_notices,
    volumes_of,
)
from panel.accounts.name_search import cleaned
from panel.charts.chart_context import chart_context
from panel.models import Proof, ProofState
from panel.orders import order_texts, reversal, rights
from panel.orders.order_expectations import expected_for
from panel.orders.plan_choices import choices, smallest_plan_bytes
from panel.orders.pricing import mandate_limits, trials
from panel.orders.pricing.prices import last_completed
from panel.portal import order_progress, plan_texts
from panel.portal.billing_summary import billing_of
from panel.portal.last_hour import Hour
from panel.portal.plan_cards import PlanCard, best, plan_cards
from panel.portal.plan_history import ROWS, plan_history
from panel.portal.slowness_page import slowness_card
from panel.portal.speed_summary import change_in_words
from panel.portal.volume_cards import LARGE, Card, cards_of
from panel.proofs.job_comparison import last_change
from panel.proofs.proof_texts import brief
from storage.analysis.heat_forecast import heat_obstacle
from storage.analysis.heat_store import set_counting
from storage.analysis.measured_use import use_of
from storage.database_clock import database_now
from storage.models import Volume
from storage.volumes.snapshot import VolumeSnapshot

PAGE_CARDS = 24
SEARCH_FROM = 7
"""So many volumes are worth a search."""


@require_safe
@member_view
def volumes(request: HttpRequest) -> HttpResponse:
    """Every volume of the person's customers: is it fast, and what is its plan? `q` searches."""
    own = volumes_of(request.user)
    count, text = own.count(), cleaned(request.GET.get("q", ""))
    matching = own.filter(label__icontains=text) if text else own
    page = Paginator(matching, PAGE_CARDS).get_page(request.GET.get("page"))
    changes = changes_of(request.user).unfinished()
    orderable = _orderable(request, page.object_list)
    running = {job.volume_id: job for job in changes if job.volume_id is not None}
    context = {
        "page": page,
        "cards": cards_of(
            page.object_list,
            running,
            timezone.now(),
            orderable=orderable,
            trials=trials.all_running(page.object_list),
        ),
        "count": count,
        "q": text,
        "has_search": count >= SEARCH_FROM or text,
        "several_customers": several_customers(request.user),
        "billing": billing_of(request.user, timezone.now()),
        "invoices_url": settings.TIERCEL_INVOICES_URL,
    }
    return render(request, "portal/volumes.html", context)


def _orderable(request: HttpRequest, volumes: Iterable[Volume]) -> set[int]:
    """The primary keys of those that the person may order a plan for, and can pay for, and that
    are large enough for one."""
    least = smallest_plan_bytes() if settings.TIERCEL_CUSTOMERS_MAY_ORDER else None
    if least is None:
        return set()
    theirs = Volume.objects.orderable_by(request.user).filter(
        pk__in=[volume.pk for volume in volumes], customer__suspended_at=None, size_bytes__gte=least
    )
    customers = dict(theirs.values_list("pk", "customer"))
    paying = mandate_limits.payable(customers.values(), timezone.now())
    return {pk for pk, customer in customers.items() if customer in paying}


@require_POST
@member_view
def count_heat(request: HttpRequest, key: str) -> HttpResponse:
    """Turn the measurement of how soon the volume's data is used again on, or off (`end`)."""
    volume = get_object_or_404(volumes_of(request.user), key=key)
    if not Volume.objects.orderable_by(request.user).filter(pk=volume.pk).exists():
        messages.warning(request, gettext("Your role does not allow this."))
        return redirect("my-volume", key)
    is_end = "end" in request.POST
    set_counting(volume, allowed=not is_end)
    if is_end:
        messages.success(
            request, gettext("The measurement is off. The data measured so far was deleted.")
        )
    else:
        messages.success(request, gettext("The measurement is allowed."))
    return redirect("my-volume", key)


@require_safe
@member_view
def member_volume(request: HttpRequest, key: str) -> HttpResponse:
    """One volume: is it fast, what runs, its plan, what the last change did, and the newest
    changes; `changes=all` shows every one."""
    volume, now = get_object_or_404(volumes_of(request.user), key=key), database_now()
    changes = changes_of(request.user).filter(volume=volume)
    running, notices = changes.unfinished().first(), volume_notices(request.user, volume)
    card, last = _card(volume, running), _last(request, volume)
    done = changes.filter(state=State.SUCCEEDED, kind__in=CHANGING_SPEED).first()
    is_all = request.GET.get("changes") == "all"
    trial = trials.running_trial(volume)
    history, has_older = plan_history(request.user, volume, None if is_all else ROWS)
    context: dict[str, object] = {
        "card": card,
        "row": card.row,
        "volume": volume,
        "paid": paid_for(request.user, volume),
        **order_progress.running_change(running),
        **(_last_change(done, now, card.hour) if last is None else {}),
        "history": history,
        "has_older": has_older,
        "last": last,
        "several_customers": several_customers(request.user),
        **notices,
        "counts_heat": heat_obstacle(card.row) is None,
        "trial": trial,
        "trial_left": plan_texts.trial_left(trial, now) if trial is not None else "",
        "suggested": None,
        "slowness": slowness_card(card, request.user),
    }
    is_slow = card.row.cache is None and volume.cache_plan_id is None
    if is_slow and running is None and not notices["suspended"]:
        context["suggested"] = _suggested(request, card.row, now)
        context["trial_words"] = plan_texts.trial_words()
    return render(request, "portal/volume.html", context)


def _last_change(done: Job | None, now: datetime, hour: Hour | None = None) -> dict[str, object]:
    """`hour` is what the same page says of the last hour: it then has one figure for it."""
    change = last_change(done, now)
    if change is None or change.before is None or change.after is None:
        return {}
    after = hour.whole if hour is not None and not change.cut else change.after
    return {
        "change": change,
        "after": after,
        "change_words": change_in_words(change.before.read_ms, after.read_ms),
        "changed_at": cast("Job", done).ended_at,
    }


def _suggested(request: HttpRequest, row: VolumeSnapshot, now: datetime) -> PlanCard | None:
    """The plan suggested for a volume without a cache, to try or to buy; None for no suggestion."""
    if rights.barred(request.user, row.volume) is not None:
        return None
    use, every = use_of(row, now), choices(row, now)
    if use.on_ssd:
        return None
    expected = expected_for(row, use, [each.offer for each in every], now)
    return best(plan_cards(row, every, expected, None))


def _last(request: HttpRequest, volume: Volume) -> dict[str, object] | None:
    """The order that the volume's plan comes from, with what may be done with it."""
    order = last_completed(volume)
    if order is None or order.to_plan_id != volume.cache_plan_id:
        return None
    proof = Proof.objects.visible_to(request.user).defer("before").filter(order=order).first()
    is_open = reversal.reversal_refusal(order, volume, database_now()) is None
    return {
        "order": order,
        "has_report": proof is not None and proof.state == ProofState.READY,
        "brought": brief(proof) if proof is not None else None,
        "may_revert": is_open and rights.barred(request.user, volume) is None,
        "back_to": plan_texts.back_to(order),
    }


@require_safe
@member_view
def volume_glance(request: HttpRequest, key: str) -> HttpResponse:
    """The answer alone: the element of the volume's page that refreshes."""
    volume = get_object_or_404(volumes_of(request.user), key=key)
    return render(request, "portal/_glance.html", {"card": _card(volume, None), "volume": volume})


@require_safe
@member_view
def volume_running(request: HttpRequest, key: str) -> HttpResponse:
    """The change that runs, as the pages of a volume show it. At its end the page reloads, since
    plan, price and history have changed."""
    volume = get_object_or_404(volumes_of(request.user), key=key)
    running = changes_of(request.user).filter(volume=volume).unfinished().first()
    if running is None and request.headers.get("HX-Request"):
        return HttpResponseClientRefresh()
    return render(
        request,
        "portal/_running.html",
        {"volume": volume, **order_progress.running_change(running)},
    )


@require_safe
@member_view
def charts(request: HttpRequest, key: str) -> HttpResponse:
    """The technical view of a volume: figures of this moment, and charts."""
    row = row_of(request, key)
    context = {
        **chart_context(row.volume, request, plain=True),
        "row": row,
        "volume": row.volume,
        "several_customers": several_customers(request.user),
    }
    return render(request, "portal/charts.html", context)


def _card(volume: Volume, running: Job | None) -> Card:
    return cards_of([volume], {volume.pk: running} if running else {}, timezone.now(), LARGE)[0]


@require_safe
@member_view
def member_figures(request: HttpRequest, key: str) -> HttpResponse:
    """The latest figures alone: the element of the charts' page that refreshes."""
    row = row_of(request, key)
    return render(request, "portal/_figures.html", {"row": row, "volume": row.volume})


@require_safe
@member_view
def plan_change(request: HttpRequest, key: str) -> HttpResponse:
    """One change of plan while it runs, and its outcome, also after newer ones; the change of an
    order is on the order's page."""
    order = orders_of(request.user).filter(job__key=key).first()
    if order is not None:
        return redirect("my-order", order.key)
    context = _status(request, key)
    job = cast("Job", context["job"])
    effect = _last_change(job, database_now()) if job.state == State.SUCCEEDED else {}
    return render(request, "portal/change.html", {**context, **effect})


@require_safe
@member_view
def change_status(request: HttpRequest, key: str) -> HttpResponse:
    """The part of that page that refreshes until the change is over."""
    return render(request, "portal/_change.html", _status(request, key))


def _status(request: HttpRequest, key: str) -> dict[str, object]:
    job = get_object_or_404(changes_of(request.user), key=key)
    return {"job": job, "volume": job.its_volume, **order_texts.change_context(job)}

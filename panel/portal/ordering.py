"""Customers change the cache plan of a volume: cards, a confirmation, a real job.

The price shown on the confirmation is the price agreed on: it comes back with the answer, and a
plan whose price has changed meanwhile is asked about again.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from jobs.address import address_of
from jobs.models import Door, Job, Kind
from jobs.queue import Busy, submit
from jobs.reservations import reserved
from panel.portal import words
from panel.portal.rows import changes_of, member_view, paid_for, row_of, several_customers
from storage.models import CachePlan, Volume
from storage.offers import NOT_NOW, REASONS, Change, Offer, offers
from storage.plan import Refused
from storage.rows import VolumeRow

KINDS: dict[Change, Kind] = {
    "add": Kind.ADD_CACHE,
    "set": Kind.SET_CACHE,
    "replace": Kind.REPLACE_CACHE,
    "remove": Kind.REMOVE_CACHE,
}
UNPROCESSABLE, CONFLICT = 422, 409
PRICE_CHANGED = "The price has changed since you opened this page. Look at it and confirm again."


@require_safe
@member_view
def plans(request: HttpRequest, key: str) -> HttpResponse:
    """What may be chosen for a volume: a card each."""
    row = row_of(request, key)
    context = {
        "volume": row.volume,
        "offers": _offers(request, row),
        "barred": barred(request, row.volume),
        "has_other_cache": row.cache is not None and row.volume.cache_plan is None,
        "several_customers": several_customers(request.user),
        **words.running(_running(request, row.volume)),
    }
    return render(request, "portal/plans.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@member_view
def confirm(request: HttpRequest, key: str, choice: str) -> HttpResponse:
    """What a choice costs and does; sent back, it is done."""
    row = row_of(request, key)
    offer = next((offer for offer in _offers(request, row) if offer.key == choice), None)
    if offer is None:
        raise Http404
    if running := _running(request, row.volume):
        # A double click, or a second window: there is one change, and this is it.
        return redirect("my-change", running.key)
    reason = barred(request, row.volume) or offer.reason
    if offer.is_current:
        reason = "This is your plan already."
    if request.method == "POST" and not reason:
        if _agreed(request) == (str(offer.price_minor), offer.currency):
            return _order(request, row, offer)
        return _confirm(request, row, offer, warning=PRICE_CHANGED, status=UNPROCESSABLE)
    status = UNPROCESSABLE if request.method == "POST" else 200
    return _confirm(request, row, offer, reason=reason, status=status)


def _confirm(
    request: HttpRequest,
    row: VolumeRow,
    offer: Offer,
    *,
    reason: str = "",
    warning: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "volume": row.volume,
        "offer": offer,
        "reason": reason,
        "warning": warning,
        "now": row.volume.cache_plan,
        "paid": paid_for(request.user, row.volume),
        "has_cache": row.cache is not None,
        "cache_bytes": row.cache.size_bytes if row.cache is not None else None,
    }
    return render(request, "portal/confirm.html", context, status=status)


def _order(request: HttpRequest, row: VolumeRow, offer: Offer) -> HttpResponse:
    if offer.wish is None:
        raise Http404
    actor = request.user if isinstance(request.user, AbstractBaseUser) else None
    try:
        with transaction.atomic():
            job = submit(
                kind=KINDS[offer.change],
                volume=row.volume,
                wish=offer.wish,
                actor=actor,
                door=Door.PORTAL,
                cache_plan=offer.plan,
                price_minor=offer.price_minor,
                currency=offer.currency,
                address=address_of(request),
            )
            # It may have been taken from the customer between the first look and the job's row.
            if barred(request, row.volume):
                raise Http404
    except Refused as refused:
        reason = REASONS.get(refused.code, NOT_NOW)
        return _confirm(request, row, offer, reason=reason, status=UNPROCESSABLE)
    except Busy:
        if running := _running(request, row.volume):
            return redirect("my-change", running.key)
        return render(request, "portal/busy.html", {"volume": row.volume}, status=CONFLICT)
    return redirect("my-change", job.key)


def _agreed(request: HttpRequest) -> tuple[str, str]:
    return request.POST.get("price_minor", ""), request.POST.get("currency", "")


def _offers(request: HttpRequest, row: VolumeRow) -> list[Offer]:
    held = 0
    if row.host is not None and row.facts is not None and row.placement is not None:
        promised = reserved(row.host, row.facts, but_for=row.volume)
        held = promised.get(row.placement.vg_uuid, 0)
    # The volume's own plan is shown also when it is on offer no more.
    own = CachePlan.objects.filter(pk=row.volume.cache_plan_id or 0)
    found = CachePlan.objects.visible_to(request.user) | own
    return offers(row, found.prefetch_related("hosts"), held)


def _running(request: HttpRequest, volume: Volume) -> Job | None:
    return changes_of(request.user).unfinished().filter(volume=volume).first()


def barred(request: HttpRequest, volume: Volume) -> str:
    """Why this person may change no plan of this volume; "" where they may."""
    if not settings.TIERCEL_CUSTOMERS_MAY_ORDER:
        return "Plans cannot be ordered here at the moment. Ask your provider to change yours."
    if not Volume.objects.orderable_by(request.user).filter(pk=volume.pk).exists():
        return "You may look, but not order: ask an owner or operator of your account."
    return ""

"""Customers change the cache plan of a volume: cards, a confirmation, a real job.

The price shown on the confirmation is the price agreed on: it comes back with the answer, and a
plan whose price has changed meanwhile is asked about again.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from jobs.address import address_of
from jobs.models import Job
from panel.models import User
from panel.orders import rights
from panel.orders.choices import offers_of
from panel.orders.place import place
from panel.orders.refusal import OrderRefused
from panel.portal import words
from panel.portal.rows import changes_of, member_view, paid_for, row_of, several_customers
from storage.models import Volume
from storage.offers import Offer
from storage.rows import VolumeRow

UNPROCESSABLE, CONFLICT = 422, 409
PRICE_CHANGED = "The price has changed since you opened this page. Look at it and confirm again."


@require_safe
@member_view
def plans(request: HttpRequest, key: str) -> HttpResponse:
    """What may be chosen for a volume: a card each."""
    row = row_of(request, key)
    context = {
        "volume": row.volume,
        "offers": offers_of(row),
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
    offer = next((offer for offer in offers_of(row) if offer.key == choice), None)
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
    actor = request.user if isinstance(request.user, User) else None
    try:
        made = place(
            volume=row.volume,
            plan=offer.plan,
            actor=actor,
            agreed=(offer.price_minor, offer.currency),
            when="now",
            address=address_of(request),
        )
    except OrderRefused as refused:
        if refused.code == "order_running":
            if running := _running(request, row.volume):
                return redirect("my-change", running.key)
            return render(request, "portal/busy.html", {"volume": row.volume}, status=CONFLICT)
        reason = f"{refused.message} {refused.way_out}"
        return _confirm(request, row, offer, reason=reason, status=UNPROCESSABLE)
    if made.job is None:
        raise RuntimeError(f"order {made.key} at once has no job")
    return redirect("my-change", made.job.key)


def _agreed(request: HttpRequest) -> tuple[str, str]:
    return request.POST.get("price_minor", ""), request.POST.get("currency", "")


def _running(request: HttpRequest, volume: Volume) -> Job | None:
    return changes_of(request.user).unfinished().filter(volume=volume).first()


def barred(request: HttpRequest, volume: Volume) -> str:
    """Why this person may change no plan of this volume; "" where they may."""
    refusal = rights.barred(request.user, volume)
    return f"{refusal.message} {refusal.way_out}" if refusal is not None else ""

"""Advice for a host: which volume to cache first, and the figures behind it. Nothing is changed."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from storage.access import staff_view
from storage.analysis.advice import Outlook, outlook
from storage.inventory.stored import inventory_of
from storage.models import Host, Volume
from storage.volumes.snapshot import snapshots_of

ADVICE_SHOWN: Final = 10


@staff_view()
@require_safe
def advice_card(request: HttpRequest, key: str) -> HttpResponse:
    """The short form: the fragment that the host's page loads."""
    host, analysis = _outlook(request, key)
    return render(request, "staff/hosts/_host_advice.html", {"host": host, "outlook": analysis})


@staff_view()
@require_safe
def advice(request: HttpRequest, key: str) -> HttpResponse:
    """Who uses the slow disks, hit rates, what to cache first, risks, and commands to copy."""
    host, analysis = _outlook(request, key)
    top = next((each for each in analysis.suggestions if each.commands is not None), None)
    context = {
        "host": host,
        "outlook": analysis,
        "recent": analysis.recent[:ADVICE_SHOWN],
        "uses": analysis.uses[:ADVICE_SHOWN],
        "guests": analysis.guests[:ADVICE_SHOWN],
        "suggestions": analysis.suggestions[:ADVICE_SHOWN],
        "top": top,
    }
    return render(request, "staff/hosts/advice.html", context)


def _outlook(request: HttpRequest, key: str) -> tuple[Host, Outlook]:
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    volumes = Volume.objects.visible_to(request.user).placed_on(host).in_service()
    rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
    return host, outlook(host, facts, rows, timezone.now())

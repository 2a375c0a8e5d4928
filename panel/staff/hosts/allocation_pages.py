"""Who gets how much SSD: what each volume has and would best have, and the change to that."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from jobs.queue.ssd_allocation import allocation_drafts, allocation_of
from panel.staff.hosts.pages import find_host, frame
from panel.staff.volumes.bulk_pages import preview_context
from storage.access import Right, staff_view
from storage.analysis.host_allocation import LIFE_DAYS
from storage.bulk_changes import TITLES, Action
from storage.database_clock import database_now

YIELDS_SHOWN = 12
NOTHING = "No change is proposed any longer."


@staff_view()
@require_safe
def allocation(request: HttpRequest, key: str) -> HttpResponse:
    """Each group with SSD: now and proposed, what the next SSD would save, and what each cache does
    for its SSD."""
    host = find_host(request, key)
    proposed = allocation_of(host, database_now())
    context = {
        **frame(request, host, "host-allocation"),
        "allocation": proposed,
        "years": LIFE_DAYS // 365,
        "yields": proposed.yields[:YIELDS_SHOWN],
        "yield_count": len(proposed.yields),
    }
    return render(request, "staff/hosts/host_allocation.html", context)


@staff_view(Right.OPERATE)
@require_POST
def preview_allocation(request: HttpRequest, key: str) -> HttpResponse:
    """All that is proposed now as one change, with its steps; nothing is stored."""
    host, now = find_host(request, key), database_now()
    proposed = allocation_of(host, now)
    if not proposed.changes:
        messages.info(request, NOTHING)
        return redirect("host-allocation", key)
    asked, drafted = allocation_drafts(host, proposed, now)
    context = {
        "title": f"{TITLES[Action.ALLOCATE]}: {host.name}",
        "rows": [each.row for each in drafted],
        "back": reverse("host-allocation", args=[key]),
        "back_to": host.name,
        **preview_context(request, asked, drafted),
    }
    return render(request, "staff/volumes/bulk.html", context)

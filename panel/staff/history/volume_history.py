"""What happened to one volume, as a tab of its page."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs.timeline import TimelinePlace
from panel.lists.listing import ListDefinition
from panel.staff.history.timeline_rows import timeline_context
from panel.staff.job_requests import row_of
from panel.staff.volumes.volume_frame import frame
from storage.access import staff_view

LISTING: Final = ListDefinition("volume-history", (), ())


@staff_view()
@require_safe
def volume_history(request: HttpRequest, key: str) -> HttpResponse:
    """The volume, and meanwhile the hosts that it lay on."""
    row = row_of(request, key)
    context = {
        **frame(request, row, "volume-history"),
        **timeline_context(request, TimelinePlace(volume=row.volume), LISTING),
    }
    return render(request, "staff/volumes/history.html", context)

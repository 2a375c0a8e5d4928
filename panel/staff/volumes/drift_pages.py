"""Pages of a volume's drift: accept or repair."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Kind
from jobs.queue import adoption
from jobs.queue.submit import Busy, holder_of
from panel.http.fragments import fragment_or_page
from panel.staff.job_requests import preview_of, row_of, show_holder, show_refusal
from storage.access import Right, staff_view
from storage.health.drift import accept_refusal, allowed_repair, drift_of
from storage.models import Volume
from storage.planner import Refused


@staff_view()
@require_safe
def volume_drift(request: HttpRequest, key: str) -> HttpResponse:
    """How a volume differs from its record: the fragment its page loads. While a job changes the
    volume there is nothing to say."""
    row = row_of(request, key)
    drift = None if holder_of(row.volume) is not None else drift_of(row)
    return fragment_or_page(
        request,
        "staff/volumes/_drift.html",
        {
            "drift": drift,
            "no_accept": accept_refusal(row, drift) if drift is not None else None,
            "volume": row.volume,
        },
        title="Not as recorded",
        of=row.volume,
        is_quiet=drift is None,
    )


@staff_view(Right.OPERATE)
@require_POST
def accept_drift(request: HttpRequest, key: str) -> HttpResponse:
    """What the host has becomes the record. Nothing on the host changes."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    try:
        adoption.accept_drift(volume)
    except Refused as refused:
        return show_refusal(request, refused, volume)
    except Busy as busy:
        return show_holder(request, busy.job, volume)
    messages.success(
        request, f"The current state on the host is now the recorded state of {volume.label}."
    )
    return redirect("volume", volume.key)


@staff_view(Right.OPERATE)
@require_POST
def repair_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview the job that brings a volume back to its record."""
    return preview_of(request, key, Kind.REPAIR_VOLUME, allowed_repair)

"""Traces of a volume: a part of its curve."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from jobs.engine.heat_traces import ask_for_trace, cancel_trace, trace_refusal
from panel.charts.size_chart import lines_chart
from panel.staff.job_requests import requester_of, row_of, show_refusal
from storage.access import Right, staff_view
from storage.analysis.trace_outcome import TracedSize, outcome_of
from storage.database_clock import database_now
from storage.formatting import size
from storage.models import HeatTrace
from storage.models.heat_trace import MOST_MINUTES
from storage.planner import Refused
from storage.volumes.snapshot import VolumeSnapshot

MINUTES = 15
POLL_SECONDS = 10


class TraceForm(forms.Form):
    """How long."""

    minutes = forms.IntegerField(min_value=1, max_value=MOST_MINUTES, initial=MINUTES)


@staff_view()
@require_safe
def volume_trace(request: HttpRequest, key: str) -> HttpResponse:
    """The newest trace of the volume, as a part of its page."""
    row = row_of(request, key)
    if request.headers.get("HX-Request") != "true":
        return redirect("volume-curve", key)
    return render(request, "staff/volumes/_trace.html", trace_context(row))


@staff_view(Right.OPERATE)
@require_POST
def new_trace(request: HttpRequest, key: str) -> HttpResponse:
    """Request a trace; a worker starts it on the host."""
    row, form = row_of(request, key), TraceForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"A trace takes 1 to {MOST_MINUTES} minutes.")
        return redirect("volume-curve", key)
    try:
        ask_for_trace(row, form.cleaned_data["minutes"], requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused, row.volume)
    messages.success(request, f"{row.volume.label}: The trace was requested.")
    return redirect("volume-curve", key)


@staff_view(Right.OPERATE)
@require_POST
def end_trace(request: HttpRequest, key: str, trace: str) -> HttpResponse:
    """Cancel one that is not over."""
    row = row_of(request, key)
    rows = HeatTrace.objects.visible_to(request.user).filter(volume=row.volume)
    try:
        cancel_trace(get_object_or_404(rows, key=trace))
    except Refused as refused:
        return show_refusal(request, refused, row.volume)
    messages.success(request, f"{row.volume.label}: The trace is cancelled.")
    return redirect("volume-curve", key)


def trace_context(row: VolumeSnapshot) -> dict[str, object]:
    """What the part shows: the newest trace, and why there can be no other."""
    rows = HeatTrace.objects.filter(volume=row.volume).select_related("volume", "host")
    trace, now = rows.first(), database_now()
    sizes = outcome_of(trace) if trace is not None else ()
    context: dict[str, object] = {
        "volume": row.volume,
        "trace": trace,
        "minutes": MINUTES,
        "most_minutes": MOST_MINUTES,
        "refusal": trace_refusal(row),
        "sizes": sizes,
    }
    if trace is not None and not trace.is_over:
        left = trace.seconds_left(now)
        context |= {"seconds_left": left, "poll_seconds": POLL_SECONDS}
    if sizes:
        context["best"] = _nearest(sizes, row.cache.size_bytes if row.cache is not None else None)
        context["chart"] = lines_chart(
            [each.size_bytes for each in sizes],
            {
                size(share.chunk_bytes): [each.shares[n].likely for each in sizes]
                for n, share in enumerate(sizes[0].shares)
            },
        )
    return context


def _nearest(sizes: tuple[TracedSize, ...], size_now: int | None) -> TracedSize:
    """The size of the present cache, or of those shown the one next to it; else the middle one."""
    if size_now is None:
        return sizes[len(sizes) // 2]
    return min(sizes, key=lambda each: abs(each.size_bytes - size_now))

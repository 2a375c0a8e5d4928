"""What SSD of each size would bring to a volume: a part of its page."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from panel.charts.size_chart import size_chart
from panel.staff.job_requests import row_of
from panel.staff.volumes.volume_traces import trace_context
from storage.access import Right, staff_view
from storage.analysis.heat_forecast import missing_heat
from storage.analysis.heat_store import set_counting
from storage.analysis.size_curve import size_curve
from storage.database_clock import database_now

ALLOWED, FORBIDDEN = "Heat is counted again.", "Heat is no longer counted. What was is deleted."
MODES = ("writethrough", "writeback")


@staff_view()
@require_safe
def volume_curve(request: HttpRequest, key: str) -> HttpResponse:
    """`mode` is that of the cache, one of `MODES`."""
    row, now = row_of(request, key), database_now()
    mode = request.GET.get("mode", "")
    mode = mode if mode in MODES else MODES[0]
    curve = size_curve(row, now, writeback=mode == "writeback")
    context: dict[str, object] = {"mode": mode, "modes": MODES, **trace_context(row)}
    if curve is None:
        context["reason"] = missing_heat(row, now)
    else:
        enough = curve.enough
        context |= {
            "curve": curve,
            "enough": enough,
            "curve_chart": size_chart(
                curve.prospects, curve.size_now, enough.size_bytes if enough else None
            ),
        }
    is_part = request.headers.get("HX-Request") == "true"
    name = "staff/volumes/_curve.html" if is_part else "staff/volumes/curve.html"
    return render(request, name, context)


@staff_view(Right.OPERATE)
@require_POST
def volume_heat(request: HttpRequest, key: str) -> HttpResponse:
    """Count the heat of the volume, or no more (`end`)."""
    row, is_end = row_of(request, key), "end" in request.POST
    set_counting(row.volume, allowed=not is_end)
    messages.success(request, f"{row.volume.label}: {FORBIDDEN if is_end else ALLOWED}")
    return redirect("volume", key)

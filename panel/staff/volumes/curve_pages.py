"""What SSD of each size would bring to a volume: a part of its page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from panel.charts.size_chart import size_chart
from panel.staff.job_requests import row_of
from storage.access import staff_view
from storage.analysis.heat_forecast import missing_heat
from storage.analysis.size_curve import size_curve
from storage.database_clock import database_now

MODES = ("writethrough", "writeback")


@staff_view()
@require_safe
def volume_curve(request: HttpRequest, key: str) -> HttpResponse:
    """`mode` is that of the cache, one of `MODES`."""
    row, now = row_of(request, key), database_now()
    mode = request.GET.get("mode", "")
    mode = mode if mode in MODES else MODES[0]
    curve = size_curve(row, now, writeback=mode == "writeback")
    context: dict[str, object] = {"volume": row.volume, "mode": mode, "modes": MODES}
    if curve is None:
        context["reason"] = missing_heat(row, now)
    else:
        enough = curve.enough
        context |= {
            "curve": curve,
            "enough": enough,
            "chart": size_chart(
                curve.prospects, curve.size_now, enough.size_bytes if enough else None
            ),
        }
    is_part = request.headers.get("HX-Request") == "true"
    name = "staff/volumes/_curve.html" if is_part else "staff/volumes/curve.html"
    return render(request, name, context)

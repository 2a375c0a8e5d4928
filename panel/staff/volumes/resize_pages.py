"""A volume that becomes larger, or goes to the other tier. Each makes a preview first."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from jobs.models import Kind
from panel.staff.job_requests import UNPROCESSABLE, preview_of, row_of, show_refusal
from panel.staff.volumes.resize_form import (
    ExtendForm,
    extend_refusal,
    growth_offers,
    move_refusal,
    on_tier,
)
from storage.access import Right, staff_view
from storage.planner import Refused
from storage.planner.wish import Tier


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def extend_volume(request: HttpRequest, key: str) -> HttpResponse:
    """A new size: form, then preview."""
    row = row_of(request, key)
    refusal = extend_refusal(row)
    form = ExtendForm(row, request.POST or None)
    if refusal is None and request.method == "POST" and form.is_valid() and form.wish is not None:
        return preview_of(request, Kind.EXTEND_VOLUME, row.volume, form.wish)
    context = {"row": row, "volume": row.volume, "form": form, "refusal": refusal}
    context["room_bytes"] = growth_offers(row).room_bytes
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/volumes/volume_extend.html", context, status=code)


@staff_view(Right.OPERATE)
@require_POST
def move_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview the move to the tier that was named (`hdd` or `ssd`)."""
    row = row_of(request, key)
    tier = request.POST.get("tier", "")
    if tier not in ("hdd", "ssd"):
        refusal = Refused(
            "bad_request", ("The tier must be hdd or ssd."), "Go back and choose a tier."
        )
        return show_refusal(request, refusal, row.volume)
    chosen = cast("Tier", tier)
    wish = on_tier(row, chosen)
    if (found := move_refusal(row, chosen)) or wish is None:
        return show_refusal(request, found, row.volume)
    return preview_of(request, Kind.MOVE_VOLUME, row.volume, wish)

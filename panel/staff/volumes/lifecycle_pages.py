"""The end of a volume: retire it, restore it, destroy it. Each makes a preview first."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from jobs.models import Kind
from panel.staff.volumes.actions import UNPROCESSABLE, preview_of, row_of, show_refusal
from storage.access import Right, staff_view
from storage.volumes.lifecycle_forms import DestroyForm, Life, life_refusal, life_wish


@staff_view(Right.OPERATE)
@require_POST
def retire_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview switching a volume off; its data stays."""
    return _preview(request, key, Kind.RETIRE_VOLUME, "retired")


@staff_view(Right.OPERATE)
@require_POST
def restore_volume(request: HttpRequest, key: str) -> HttpResponse:
    """Preview switching a retired volume on again under its old name."""
    return _preview(request, key, Kind.RESTORE_VOLUME, "live")


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def destroy_volume(request: HttpRequest, key: str) -> HttpResponse:
    """What would be lost, and the label to be typed; then the preview."""
    row = row_of(request, key)
    form = DestroyForm(row, request.POST or None)
    refusal = life_refusal(row, "gone", timezone.now())
    if request.method == "POST" and refusal is None and form.is_valid():
        return _preview(request, key, Kind.DESTROY_VOLUME, "gone")
    context = {"row": row, "volume": row.volume, "form": form, "refusal": refusal}
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/volumes/destroy.html", context, status=code)


def _preview(request: HttpRequest, key: str, kind: Kind, life: Life) -> HttpResponse:
    row = row_of(request, key)
    wish = life_wish(row, life)
    if (refusal := life_refusal(row, life, timezone.now())) or wish is None:
        return show_refusal(request, refusal, row.volume)
    return preview_of(request, kind, row.volume, wish)

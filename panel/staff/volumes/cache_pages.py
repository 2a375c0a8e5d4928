"""What a person does to the cache of a volume beside adding and removing it: each a preview."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs.engine.flush_rate import raise_rate
from jobs.models import Job, Kind
from panel.http.fragments import form_again, is_in_place
from panel.staff.volumes.actions import (
    UNPROCESSABLE,
    preview_of,
    requester_of,
    row_of,
    show_refusal,
)
from storage.access import Right, staff_view
from storage.planner import Refused
from storage.planner.bcache import with_flush
from storage.volumes.replace_cache_form import ResizeForm


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def replace_cache(request: HttpRequest, key: str) -> HttpResponse:
    """A bigger or smaller cache in the place of the one that is there: form, then preview."""
    row = row_of(request, key)
    form = ResizeForm(row, request.POST or None)
    refusal = row.refusal(row.wish) or _without_cache(row.cache is not None) or form.refusal
    if refusal is None and request.method == "POST" and form.is_valid() and form.wish is not None:
        return preview_of(request, Kind.REPLACE_CACHE, row.volume, form.wish)
    context = {"row": row, "volume": row.volume, "form": form, "refusal": refusal}
    if refusal is None and is_in_place(request):
        context["resize"] = form
        return form_again(
            request, "staff/volumes/_resize_form.html", context, "#resize-form", UNPROCESSABLE
        )
    if refusal is not None and is_in_place(request):
        return show_refusal(request, refusal, row.volume)
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/volumes/cache_resize.html", context, status=code)


@staff_view(Right.OPERATE)
@require_POST
def flush_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview writing dirty data back to the slow disk."""
    row = row_of(request, key)
    now = row.wish
    refusal = row.refusal(now) or _without_cache(row.cache is not None)
    if refusal or now is None:
        return show_refusal(request, refusal, row.volume)
    return preview_of(request, Kind.FLUSH_CACHE, row.volume, with_flush(row.facts, now))


@staff_view(Right.OPERATE)
@require_POST
def raise_flush_rate(request: HttpRequest, key: str) -> HttpResponse:
    """Let the flush of a job move more at once."""
    found = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    try:
        raise_rate(found, requester_of(request))
    except Refused as refused:
        messages.warning(request, f"{refused.message} {refused.correction}")
    return redirect("job", found.key)


def _without_cache(has_cache: bool) -> Refused | None:
    if has_cache:
        return None
    return Refused("not_found", "The volume has no cache.", "Add a cache first.")

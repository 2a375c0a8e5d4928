"""Changes of a volume's cache: each is a form or a button, then a preview."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.models import Kind
from panel.http.fragments import fragment_or_page
from panel.staff.job_requests import (
    preview_of,
    row_of,
    show_form,
    show_refusal,
)
from panel.staff.volumes.volume_forms import CacheForm
from storage.access import Right, staff_view
from storage.health.lost_cache import dropped, loss_of_row
from storage.planner import Refused
from storage.planner.current_wish import uncached
from storage.planner.technologies.lookup import with_flush
from storage.volumes.cache_wish import no_size


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def cache_form(request: HttpRequest, key: str) -> HttpResponse:
    """A new cache, or another mode and settings for the one that is there: form, then preview."""
    row = row_of(request, key)
    form = CacheForm(row, request.POST or None)
    refusal = row.refusal(row.wish)
    if refusal is None and row.cache is None and not form.sizes:
        refusal = no_size(row)
    if refusal is None and request.method == "POST" and form.is_valid() and form.wish is not None:
        kind = Kind.SET_CACHE if row.cache is not None else Kind.ADD_CACHE
        return preview_of(request, kind, row.volume, form.wish)
    title = "Cache mode and settings" if row.cache is not None else "Add a cache"
    template = "staff/volumes/_cache_form.html"
    return show_form(request, row, form, title, template, refusal=refusal)


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def replace_cache(request: HttpRequest, key: str) -> HttpResponse:
    """A bigger or smaller cache in the place of the one that is there: form, then preview."""
    row = row_of(request, key)
    form = CacheForm(row, request.POST or None, is_replacement=True)
    refusal = row.refusal(row.wish) or _without_cache(row.cache is not None)
    if refusal is None and not form.sizes:
        refusal = no_size(row)
    if refusal is None and request.method == "POST" and form.is_valid() and form.wish is not None:
        return preview_of(request, Kind.REPLACE_CACHE, row.volume, form.wish)
    template = "staff/volumes/_resize_form.html"
    return show_form(request, row, form, "Cache size", template, refusal=refusal)


@staff_view(Right.OPERATE)
@require_POST
def remove_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview the removal of a cache."""
    row = row_of(request, key)
    current_wish = row.wish
    if (refusal := row.refusal(current_wish)) or current_wish is None:
        return show_refusal(request, refusal, row.volume)
    wish = uncached(row.facts, row.lv, current_wish)
    return preview_of(request, Kind.REMOVE_CACHE, row.volume, wish)


@staff_view(Right.OPERATE)
@require_POST
def flush_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview writing dirty data back to the slow disk."""
    row = row_of(request, key)
    current_wish = row.wish
    refusal = row.refusal(current_wish) or _without_cache(row.cache is not None)
    if refusal or current_wish is None:
        return show_refusal(request, refusal, row.volume)
    return preview_of(request, Kind.FLUSH_CACHE, row.volume, with_flush(row.facts, current_wish))


def _without_cache(has_cache: bool) -> Refused | None:
    if has_cache:
        return None
    return Refused("not_found", "The volume has no cache.", "Add a cache first.")


@staff_view()
@require_safe
def volume_loss(request: HttpRequest, key: str) -> HttpResponse:
    """What a volume's page loads: nothing, unless its SSD is gone."""
    row = row_of(request, key)
    loss = loss_of_row(row)
    return fragment_or_page(
        request,
        "staff/volumes/_lost.html",
        {"loss": loss, "volume": row.volume, "row": row},
        title="A lost cache",
        of=row.volume,
        is_quiet=loss is None,
    )


@staff_view(Right.OPERATE)
@require_POST
def drop_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview giving up a lost cache that held nothing but copies."""
    row = row_of(request, key)
    try:
        wish = dropped(row, loss_of_row(row))
    except Refused as refused:
        return show_refusal(request, refused, row.volume)
    return preview_of(request, Kind.DROP_CACHE, row.volume, wish)

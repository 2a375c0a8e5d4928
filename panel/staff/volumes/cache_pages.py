"""Changes of a volume's cache: each is a form or a button, then a preview."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.models import Kind
from panel.http.fragments import fragment_or_page
from panel.staff.job_requests import (
    form_action,
    preview_of,
    row_of,
)
from panel.staff.volumes.volume_forms import CacheForm
from storage.access import Right, staff_view
from storage.health.lost_cache import dropped, loss_of_row
from storage.planner import Refused
from storage.planner.current_wish import uncached
from storage.planner.technologies.lookup import with_flush
from storage.planner.wish import Wish
from storage.volumes.cache_wish import no_size
from storage.volumes.snapshot import VolumeSnapshot


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def cache_form(request: HttpRequest, key: str) -> HttpResponse:
    """A new cache, or another mode and settings for the one that is there: form, then preview."""
    row = row_of(request, key)
    form = CacheForm(row, request.POST or None)
    refusal = row.refusal(row.wish)
    if refusal is None and row.cache is None and not form.sizes:
        refusal = no_size(row)
    kind, title = Kind.ADD_CACHE, "Add a cache"
    if row.cache is not None:
        kind, title = Kind.SET_CACHE, "Cache mode and settings"
    template = "staff/volumes/_cache_form.html"
    return form_action(request, row, form, kind, title, template, refusal=refusal)


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def replace_cache(request: HttpRequest, key: str) -> HttpResponse:
    """A bigger or smaller cache in the place of the one that is there: form, then preview."""
    row = row_of(request, key)
    form = CacheForm(row, request.POST or None, is_replacement=True)
    refusal = row.refusal(row.wish) or (None if row.cache else _without_cache())
    if refusal is None and not form.sizes:
        refusal = no_size(row)
    shown = "Cache size", "staff/volumes/_resize_form.html"
    return form_action(request, row, form, Kind.REPLACE_CACHE, *shown, refusal=refusal)


@staff_view(Right.OPERATE)
@require_POST
def remove_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview the removal of a cache."""

    def wish_of(row: VolumeSnapshot) -> Wish:
        return uncached(row.facts, row.lv, row.allowed(row.wish))

    return preview_of(request, key, Kind.REMOVE_CACHE, wish_of)


@staff_view(Right.OPERATE)
@require_POST
def flush_cache(request: HttpRequest, key: str) -> HttpResponse:
    """Preview writing dirty data back to the slow disk."""
    return preview_of(request, key, Kind.FLUSH_CACHE, _flushed)


def _flushed(row: VolumeSnapshot) -> Wish:
    wish = row.allowed(row.wish)
    if row.cache is None:
        raise _without_cache()
    return with_flush(row.facts, wish)


def _without_cache() -> Refused:
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
    return preview_of(request, key, Kind.DROP_CACHE, lambda row: dropped(row, loss_of_row(row)))

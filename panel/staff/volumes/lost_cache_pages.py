"""A volume whose SSD is gone: what can be done about it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Kind
from panel.http.fragments import fragment_or_page
from panel.staff.volumes.actions import preview_of, row_of, show_refusal
from storage.access import Right, staff_view
from storage.health.lost_cache import dropped, loss_of_row
from storage.planner import Refused


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

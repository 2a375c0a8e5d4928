"""The list of volumes. It reads; what changes a volume is offered by URL name."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.staff.volumes.filters import SORTS, VolumeFilter
from panel.staff.volumes.volume_list import listed
from storage.access import staff_view
from storage.bulk_changes import ACTIONS
from storage.models import Volume

PAGE_ROWS = 50
COLUMNS = (
    ("volume", "Volume", ""),
    ("customer", "Customer", ""),
    ("host", "Host", ""),
    ("size", "Size", "num"),
    ("cache", "Cache", ""),
    ("ratio", "Share", "num"),
    ("hits", "Read hit rate", "num"),
    ("iops", "IOPS", "num"),
    ("latency", "Read time", "num"),
    ("dirty", "Dirty", "num"),
)
TITLES = {
    "ratio": "Size of the cache as a share of the volume",
    "hits": "Reads served by the cache in the last minute",
    "latency": "Average time of a read",
    "dirty": "Data that exists only in the cache",
}


@staff_view()
@require_safe
def volumes(request: HttpRequest) -> HttpResponse:
    """Volumes with their latest figures; the address says which ones and in which order
    (`panel.staff.volumes.filters.VolumeFilter`)."""
    now = timezone.now()
    filters = VolumeFilter(request.GET.dict(), request.user)
    page = Paginator(filters.found(now), PAGE_ROWS).get_page(request.GET.get("page"))
    rows = listed(page.object_list, now)
    context = {
        "filters": filters,
        "page": page,
        "rows": rows,
        "columns": _columns(filters),
        "actions": ACTIONS,
        "is_empty": not rows
        and not filters.is_narrow
        and not Volume.objects.visible_to(request.user).exists(),
        "link": request.build_absolute_uri(),
    }
    return render(request, "staff/volumes/volumes.html", context)


def _columns(filters: VolumeFilter) -> list[dict[str, str]]:
    """The head of the table: each column with the order that a click on it asks for."""
    name_now, is_descending = filters.order
    columns = []
    for name, title, css_class in COLUMNS:
        is_first_descending = SORTS[name][1]
        wants_descending = not is_descending if name == name_now else is_first_descending
        columns.append(
            {
                "name": name,
                "title": title,
                "help": TITLES.get(name, ""),
                "class": css_class,
                "sort": f"-{name}" if wants_descending else name,
                "aria": ("descending" if is_descending else "ascending")
                if name == name_now
                else "",
            }
        )
    return columns

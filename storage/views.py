"""Pages that show volumes. They read; what changes a host is offered by URL name."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from storage.access import staff_view
from storage.models import Volume
from storage.rows import rows_of

PAGE_ROWS = 50


@staff_view()
@require_safe
def volumes(request: HttpRequest) -> HttpResponse:
    """Volumes with their latest figures; `q` searches names (of volumes, guests, customers, hosts)
    and external ids; `gone=1` shows those too that were destroyed."""
    text = request.GET.get("q", "").strip()
    found = Volume.objects.visible_to(request.user).select_related("customer")
    with_gone = request.GET.get("gone") == "1"
    if not with_gone:
        found = found.existing()
    if text:
        found = found.filter(
            Q(label__icontains=text)
            | Q(guest__icontains=text)
            | Q(external_id=text)
            | Q(customer__name__icontains=text)
            | Q(placement__lv_name__icontains=text, placement__until=None)
            | Q(placement__host__name__icontains=text, placement__until=None)
        ).distinct()
    page = Paginator(found, PAGE_ROWS).get_page(request.GET.get("page"))
    rows = rows_of(page.object_list)
    context = {"page": page, "rows": rows, "q": text, "with_gone": with_gone}
    return render(request, "storage/volumes.html", context)

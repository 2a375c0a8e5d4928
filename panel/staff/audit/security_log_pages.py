"""The page of the security log, for admins."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs.audit.query import BadSince, moment
from panel.models import SecurityEntry, SecurityKind
from storage.access import Right, staff_view

PAGE_ROWS = 50
BAD_REQUEST = 400
FILTERS = ("who", "kind", "since")
GRAVE = frozenset({SecurityKind.FAILED, SecurityKind.LOCKED_OUT, SecurityKind.FACTOR_REMOVED})


@staff_view(Right.ADMINISTER)
@require_safe
def security_log(request: HttpRequest) -> HttpResponse:
    """One line for each event, newest first."""
    filters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    found, error = SecurityEntry.objects.visible_to(request.user), ""
    try:
        since = moment(filters["since"])
    except BadSince as bad:
        found, error = found.none(), str(bad)
    else:
        found = found.about(who=filters["who"], kind=filters["kind"], since=since)
    context = {
        "page": Paginator(found, PAGE_ROWS).get_page(request.GET.get("page")),
        "filters": filters,
        "kinds": SecurityKind.choices,
        "grave": GRAVE,
        "is_filtered": any(filters.values()),
        "error": error,
    }
    return render(
        request, "staff/audit/security.html", context, status=BAD_REQUEST if error else 200
    )

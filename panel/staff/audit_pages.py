"""The audit trail as a page and as a file; and the page of the security log, for admins."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.audit_trail import (
    FILTERS,
    BadSince,
    audited_operations,
    csv_lines,
    filtered,
    json_lines,
    moment,
)
from jobs.models import AuditEntry, AuditQuerySet, Phase
from panel.models import SecurityEntry, SecurityKind
from storage.access import Right, staff_view

PAGE_ROWS = 50
CHUNK_ROWS = 500
BAD_REQUEST = 400
FORMATS = {"csv": (csv_lines, "text/csv; charset=utf-8"), "json": (json_lines, "application/json")}
SECURITY_FILTERS = ("who", "kind", "since")
GRAVE = frozenset({SecurityKind.FAILED, SecurityKind.LOCKED_OUT, SecurityKind.FACTOR_REMOVED})


@staff_view()
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """One line for each operation, newest first."""
    filters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    error = ""
    try:
        entries = _rows(request)
    except BadSince as bad:
        entries, error = AuditEntry.objects.none(), str(bad)
    page = Paginator(entries.filter(phase=Phase.INTENT).newest_first(), PAGE_ROWS).get_page(
        request.GET.get("page")
    )
    context = {
        "page": page,
        "operations": audited_operations(page),
        "filters": filters,
        "is_filtered": any(filters.values()),
        "error": error,
    }
    return render(request, "staff/audit/audit.html", context, status=BAD_REQUEST if error else 200)


@staff_view()
@require_safe
def export(request: HttpRequest) -> HttpResponseBase:
    """Every entry that matches the page's filters, oldest first, as `format` csv (default) or
    json. It is read and sent in pieces, so its size does not matter."""
    kind = request.GET.get("format", "csv")
    if kind not in FORMATS:
        return HttpResponse("format is csv or json.\n", "text/plain", BAD_REQUEST)
    try:
        rows = _rows(request).order_by("id")
    except BadSince as bad:
        return HttpResponse(f"{bad}\n", "text/plain", BAD_REQUEST)
    lines, media_type = FORMATS[kind]
    name = f"tiercel-audit-{timezone.now():%Y%m%d-%H%M%S}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    streamed = lines(rows.iterator(CHUNK_ROWS))
    return StreamingHttpResponse(streamed, content_type=media_type, headers=headers)


def _rows(request: HttpRequest) -> AuditQuerySet:
    return filtered(AuditEntry.objects.all().visible_to(request.user), request.GET)


@staff_view(Right.ADMINISTER)
@require_safe
def security_log(request: HttpRequest) -> HttpResponse:
    """One line for each event, newest first."""
    filters = {name: request.GET.get(name, "").strip() for name in SECURITY_FILTERS}
    entries, error = SecurityEntry.objects.visible_to(request.user), ""
    try:
        since = moment(filters["since"])
    except BadSince as bad:
        entries, error = entries.none(), str(bad)
    else:
        entries = entries.about(who=filters["who"], kind=filters["kind"], since=since)
    context = {
        "page": Paginator(entries, PAGE_ROWS).get_page(request.GET.get("page")),
        "filters": filters,
        "kinds": SecurityKind.choices,
        "grave": GRAVE,
        "is_filtered": any(filters.values()),
        "error": error,
    }
    return render(
        request, "staff/audit/security.html", context, status=BAD_REQUEST if error else 200
    )

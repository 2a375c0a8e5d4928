"""The audit trail as a page and as a file; the page of the security log, for admins; and one trail
of everything."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict

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
    parsed_moment,
)
from jobs.models import AuditEntry, AuditQuerySet, Phase
from panel.accounts.security_log import security_entries
from panel.models import SecurityEntry, SecurityKind
from panel.staff import trail
from panel.staff.trail import TrailFilter
from storage.access import Right, may, staff_view

PAGE_ROWS = 50
CHUNK_ROWS = 500
BAD_REQUEST = 400
FORMATS = {"csv": (csv_lines, "text/csv; charset=utf-8"), "json": (json_lines, "application/json")}
SECURITY_FILTERS = ("who", "kind", "since", "until")
PRESETS = (
    ("Last hour", timedelta(hours=1)),
    ("Last 24 h", timedelta(days=1)),
    ("Last 7 days", timedelta(days=7)),
    ("Last 30 days", timedelta(days=30)),
)
GRAVE = frozenset({SecurityKind.FAILED, SecurityKind.LOCKED_OUT, SecurityKind.FACTOR_REMOVED})


@staff_view()
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """One line for each operation, newest first."""
    filters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    span = _span(request)
    entries = AuditEntry.objects.none() if span["error"] else _rows(request)
    page = Paginator(entries.filter(phase=Phase.INTENT).newest_first(), PAGE_ROWS).get_page(
        request.GET.get("page")
    )
    context = {
        "page": page,
        "operations": audited_operations(page),
        "filters": filters,
        "is_filtered": any(filters.values()),
        **span,
    }
    status = BAD_REQUEST if span["error"] else 200
    return render(request, "staff/audit/audit.html", context, status=status)


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
    who = request.user.get_username()
    security_entries.note(SecurityKind.EXPORTED, who, f"audit trail, {kind.upper()}")
    streamed = lines(rows.iterator(CHUNK_ROWS))
    return StreamingHttpResponse(streamed, content_type=media_type, headers=headers)


def _rows(request: HttpRequest) -> AuditQuerySet:
    return filtered(AuditEntry.objects.all().visible_to(request.user), request.GET)


@staff_view(Right.ADMINISTER)
@require_safe
def security_log(request: HttpRequest) -> HttpResponse:
    """One line for each event, newest first."""
    filters = {name: request.GET.get(name, "").strip() for name in SECURITY_FILTERS}
    entries, span = SecurityEntry.objects.visible_to(request.user), _span(request)
    about = entries.about(
        who=filters["who"], kind=filters["kind"], since=span["since"], until=span["until"]
    )
    if span["error"]:
        about = entries.none()
    context = {
        "page": Paginator(about, PAGE_ROWS).get_page(request.GET.get("page")),
        "filters": filters,
        "kinds": SecurityKind.choices,
        "grave": GRAVE,
        "is_filtered": any(filters.values()),
        **span,
    }
    status = BAD_REQUEST if span["error"] else 200
    return render(request, "staff/audit/security.html", context, status=status)


@staff_view()
@require_safe
def trail_page(request: HttpRequest) -> HttpResponse:
    """Operations, changes of records and, for admins, the security log, in one order."""
    filters = {name: request.GET.get(name, "").strip() for name in SECURITY_FILTERS}
    span = _span(request)
    kinds = {
        name: words
        for name, words in trail.KINDS.items()
        if name != "security" or may(request.user, Right.ADMINISTER)
    }
    kind = filters["kind"] if filters["kind"] in kinds else ""
    asked = TrailFilter(filters["who"], kind, span["since"], span["until"])
    context = {
        "page": trail.trail(request.user, asked, request.GET.get("page"))
        if not span["error"]
        else None,
        "filters": filters | {"kind": kind},
        "kinds": list(kinds.items()),
        "grave": GRAVE,
        "is_filtered": any(filters.values()),
        **span,
    }
    status = BAD_REQUEST if span["error"] else 200
    return render(request, "staff/audit/trail.html", context, status=status)


class AskedTime(TypedDict):
    """The time that a page shows, why it is none, and links to usual ones."""

    since: datetime | None
    until: datetime | None
    error: str
    presets: list[tuple[str, str]]


def _span(request: HttpRequest) -> AskedTime:
    now = timezone.now()
    presets = [(text, f"{now - ago:%Y-%m-%dT%H:%M}") for text, ago in PRESETS]
    span: AskedTime = {"since": None, "until": None, "error": "", "presets": presets}
    try:
        span["since"], span["until"] = (
            parsed_moment(request.GET),
            parsed_moment(request.GET, "until"),
        )
    except BadSince as bad:
        span["error"] = str(bad)
    return span

"""Pages for outages: maintenance, no database, an internal error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse

log = logging.getLogger(__name__)

UNAVAILABLE, BROKEN = 503, 500
RETRY_SECONDS = 30
API = "/api/"
PROBLEM = "application/problem+json"
NO_DATABASE = "The panel cannot reach its database."


class MaintenanceMiddleware:
    """While `TIERCEL_MAINTENANCE` is set, everything but the health check answers with it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, or say that the panel is being worked on."""
        text: str = settings.TIERCEL_MAINTENANCE
        if not text or request.path == reverse("health"):
            return self.get_response(request)
        return unavailable(request, "Back soon", text)


def broken(request: HttpRequest) -> HttpResponse:
    """Django's handler of what nobody foresaw: 503 where the database is away, else 500."""
    if is_outage(sys.exc_info()[1]):
        return unavailable(request, "Back soon", NO_DATABASE)
    return HttpResponse(render_to_string("500.html"), status=BROKEN)


def is_outage(error: BaseException | None) -> bool:
    """Whether it came of a database that is away, and not of one statement that went wrong."""
    return isinstance(error, InterfaceError | OperationalError) and not reaches_database()


def unavailable(request: HttpRequest, title: str, text: str) -> HttpResponse:
    """A page (for programs a problem) that needs neither session nor database."""
    headers = {"Retry-After": str(RETRY_SECONDS)}
    if request.path_info.startswith(API):
        body = {
            "type": "urn:tiercel:problem:unavailable",
            "title": "Service Unavailable",
            "status": UNAVAILABLE,
            "detail": text,
            "code": "unavailable",
            "correction": "Try again later.",
        }
        return JsonResponse(body, status=UNAVAILABLE, headers=headers, content_type=PROBLEM)
    context = {"title": title, "text": text, "retry_seconds": RETRY_SECONDS}
    html = render_to_string("503.html", context)
    return HttpResponse(html, status=UNAVAILABLE, headers=headers)


def reaches_database() -> bool:
    """Whether PostgreSQL answers now, by a new connection where the old one broke."""
    try:
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("the database does not answer: %s", error)
        return False
    return True

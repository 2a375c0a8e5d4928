"""Who may come in: everybody signs in, also those whose session ended while a page was open."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

UNAUTHORIZED = 401


class GateMiddleware(LoginRequiredMiddleware):
    """Django's, except that a part of a page that renews itself is not answered with the sign-in
    form in its place: the whole page is loaded again, and leads there."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseBase:
        """Send to the sign-in page."""
        if "HX-Request" in request.headers:
            return HttpResponse(status=UNAUTHORIZED, headers={"HX-Refresh": "true"})
        return super().handle_no_permission(request, view_func)

"""Who may come in: everybody signs in, also those whose session ended while a page was open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

UNAUTHORIZED = 401


class GateMiddleware(LoginRequiredMiddleware):
    """Django's, except that a part of a page that renews itself is not answered with the sign-in
    form in its place: the whole page is loaded again, and leads there."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Let in, or send to the sign-in page."""
        answer = super().process_view(request, view_func, view_args, view_kwargs)
        if answer is not None and "HX-Request" in request.headers:
            return HttpResponse(status=UNAUTHORIZED, headers={"HX-Refresh": "true"})
        return answer

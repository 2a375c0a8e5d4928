"""Who may come in: everybody signs in, also those whose session ended while a page was open; staff
who need a second factor set it up first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from panel import factor

UNAUTHORIZED, FORBIDDEN = 401, 403
# Pages of one's own account: the password, the factors, signing out.
ACCOUNT = ("account_", "mfa_")


class GateMiddleware(LoginRequiredMiddleware):
    """Django's, except that a part of a page that renews itself is not answered with another page
    in its place: the whole page is loaded again and leads to the sign-in, or the browser is sent
    to where a second factor is set up."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Let in, or send to the sign-in page or to the page of second factors."""
        answer = super().process_view(request, view_func, view_args, view_kwargs)
        is_part = "HX-Request" in request.headers
        if answer is not None:
            if is_part:
                return HttpResponse(status=UNAUTHORIZED, headers={"HX-Refresh": "true"})
            return answer
        if not _is_closed(request, view_func) or not factor.is_missing(request.user):
            return None
        place = reverse("mfa_index")
        if is_part:
            return HttpResponse(status=FORBIDDEN, headers={"HX-Redirect": place})
        return redirect(place)


def _is_closed(request: HttpRequest, view_func: Callable[..., HttpResponseBase]) -> bool:
    """Whether a page is for those alone who have all the factors they need."""
    name = (request.resolver_match.url_name if request.resolver_match else None) or ""
    return getattr(view_func, "login_required", True) and not name.startswith(ACCOUNT)

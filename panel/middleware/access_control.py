"""Access control: everybody must sign in, including people whose session ended while a page was
open; staff who need a second factor set it up first; actions that destroy, cost or give lasting
power need a fresh proof (`panel.authentication.protected_actions`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from panel.authentication import protected_actions, second_factor, step_up
from storage.access import ProofNeeded

log = logging.getLogger(__name__)

UNAUTHORIZED, FORBIDDEN = 401, 403
# Pages of one's own account: the password, the factors, signing out.
ACCOUNT = ("account_", "mfa_")
# What a one-time link alone does not open: with a password, a factor, another address or a token
# of their own, whoever took the link would prove themselves from then on.
OWN_KEYS = (*ACCOUNT, "tokens")


class AccessMiddleware(LoginRequiredMiddleware):
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
        cast("Any", request).is_proven = lambda: step_up.is_proven(request)
        if _opens_by_key(request, view_func) and (proof_demand := step_up.demand_of_link(request)):
            return proof_demand
        if _is_closed(request, view_func) and second_factor.is_missing(request.user):
            place = reverse("mfa_index")
            if is_part:
                return HttpResponse(status=FORBIDDEN, headers={"HX-Redirect": place})
            return redirect(place)
        back = (
            protected_actions.demand(request)
            if getattr(view_func, "login_required", True)
            else None
        )
        return None if back is None else step_up.demand(request, back)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Where a view found that it takes a fresh proof, ask for it. Who asked for what they may
        not is written down."""
        if isinstance(exception, PermissionDenied):
            name = request.resolver_match.view_name if request.resolver_match else ""
            log.warning("%s may not %s %s", request.user, request.method, name)
        return step_up.ask(request, exception.back) if isinstance(exception, ProofNeeded) else None


def _opens_by_key(request: HttpRequest, view_func: Callable[..., HttpResponseBase]) -> bool:
    """Whether a page changes how one's account is opened."""
    name = (request.resolver_match.url_name if request.resolver_match else None) or ""
    is_closed: bool = getattr(view_func, "login_required", True)
    return is_closed and name.startswith(OWN_KEYS) and name != "account_logout"


def _is_closed(request: HttpRequest, view_func: Callable[..., HttpResponseBase]) -> bool:
    """Whether a page is for those alone who have all the factors they need."""
    name = (request.resolver_match.url_name if request.resolver_match else None) or ""
    return getattr(view_func, "login_required", True) and not name.startswith(ACCOUNT)

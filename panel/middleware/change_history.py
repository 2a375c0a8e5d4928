"""Passes the acting person to the database, for the events that its triggers write."""

from __future__ import annotations

from collections.abc import Callable

import pghistory
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from panel.http.client_address import address_of

SAFE = ("GET", "HEAD", "OPTIONS")


class HistoryMiddleware:
    """Whatever a request that may change something writes carries its person, address and route.
    The API adds the token, once it knows it (`panel.api.framework.resource`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request within its context."""
        if request.method in SAFE:
            return self.get_response(request)
        actor = getattr(request.user, "email", "")
        with pghistory.context(actor=actor, address=address_of(request)):
            return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> None:
        """Add the route's name; the path itself may hold a one-time token."""
        if request.method not in SAFE and request.resolver_match is not None:
            pghistory.context(route=request.resolver_match.url_name)

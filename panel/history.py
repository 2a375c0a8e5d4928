"""Tells the database who changes a record, for the events that its triggers write."""

from __future__ import annotations

from collections.abc import Callable

import pghistory
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from jobs.address import address_of

SAFE = ("GET", "HEAD", "OPTIONS")


class HistoryMiddleware:
    """Whatever a request that may change something writes carries its person and address. The API
    adds the token, once it knows it (`panel.api.resource`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request within its context."""
        if request.method in SAFE:
            return self.get_response(request)
        actor = getattr(request.user, "email", "")
        with pghistory.context(actor=actor, address=address_of(request), path=request.path):
            return self.get_response(request)

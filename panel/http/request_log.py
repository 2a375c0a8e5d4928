"""Every request has an id: `X-Request-Id` from its sender, otherwise a new one. Each log line of
the request, the answer, and the resulting jobs and audit entries have it. With
TIERCEL_ACCESS_LOG=json each request leaves one line of JSON."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from panel.accounts.client_address import address_of
from storage.request_id import LIMIT, during_request

HEADER: Final = "X-Request-Id"
REQUEST_ID: Final = re.compile(rf"[\w.:-]{{1,{LIMIT}}}", re.ASCII)
access = logging.getLogger("panel.access")


def id_of(request: HttpRequest) -> str:
    """The name of a request: as its sender wrote it, where that is a plain word."""
    name: str | None = getattr(request, "tiercel_id", None)
    if name is None:
        sent = request.headers.get(HEADER, "")
        name = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
        request.tiercel_id = name  # type: ignore[attr-defined]
    return name


class RequestIdMiddleware:
    """Stands before all others, so that their lines carry the name too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request under its name."""
        began = time.monotonic()
        with during_request(id_of(request)):
            response = self.get_response(request)
            response.headers.setdefault(HEADER, id_of(request))
            if settings.TIERCEL_ACCESS_LOG == "json":
                access.info(json.dumps(_line(request, response, time.monotonic() - began)))
        return response


def _line(request: HttpRequest, response: HttpResponseBase, seconds: float) -> dict[str, Any]:
    """What is known of a request without looking anything up; `user` is a number. Neither the
    path, which may hold a one-time token, nor parameters: the route says where it went."""
    matched = request.resolver_match
    return {
        "request_id": id_of(request),
        "method": request.method,
        "route": matched.route if matched is not None else "",
        "status": response.status_code,
        "milliseconds": round(seconds * 1000),
        "bytes": None if response.streaming else len(getattr(response, "content", b"")),
        "address": address_of(request),
        "user": getattr(request, "asked_by", None),
        "token": getattr(request, "token_key", ""),
    }

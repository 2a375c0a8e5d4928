"""Requests that no page sees: those for a host name that is not the panel's, and those with a null
character, which no text in PostgreSQL may hold.

Nothing in the panel's output is built from the name in a request: links in e-mails come from
TIERCEL_PUBLIC_URL."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase

log = logging.getLogger(__name__)
BAD_REQUEST = 400
LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
PORTS = {"https": "443", "http": "80"}
SHOWN = 80
NUL: Final = "\0"
API: Final = "/api/"


class HostMiddleware:
    """A name that is not the panel's, or the public name with another port than the public
    address has, is refused with one line in the log. Django's own refusal is a traceback at the
    level of an error, which anybody could fill the log with."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, or refuse."""
        if _is_ours(request):
            return self.get_response(request)
        log.warning("a request for %r was refused", request.META.get("HTTP_HOST", "")[:SHOWN])
        return HttpResponse(
            "The panel does not serve this host name.\n", "text/plain", status=BAD_REQUEST
        )


def _is_ours(request: HttpRequest) -> bool:
    try:
        name, port = split_domain_port(request.get_host())
    except DisallowedHost:
        return False
    public = urlsplit(settings.TIERCEL_PUBLIC_URL)
    # A panel of this machine alone may be reached through a tunnel, which has a port of its own.
    if name != public.hostname or name in LOOPBACK or not port:
        return True
    return port == (str(public.port) if public.port else PORTS[public.scheme])


class NullCharacterMiddleware:
    """Nothing lies under a path with it (404), and a query with it is refused (400). The API says
    so in its own words (`panel.api.framework.resource`), and forms beside their fields."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        _view: Callable[..., HttpResponseBase],
        _args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Let the view answer; else raise `Http404` or `BadRequest`."""
        if has_nul(kwargs.values()):
            raise Http404
        if not request.path_info.startswith(API) and with_nul(request.GET):
            raise BadRequest


def has_nul(values: Iterable[object]) -> bool:
    """Whether some text among the values holds it."""
    return any(isinstance(value, str) and NUL in value for value in values)


def with_nul(sent: QueryDict) -> list[str]:
    """The names of the parameters that hold it."""
    return [name for name, texts in sent.lists() if has_nul([name, *texts])]

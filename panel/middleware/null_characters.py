"""Refuses requests with NUL, the one character that PostgreSQL cannot store, before a query fails
on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, QueryDict
from django.http.response import HttpResponseBase

NUL: Final = "\0"
API: Final = "/api/"


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

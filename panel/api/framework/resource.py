"""The base of every API view: rights, request ids, strict parameters."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, cast

import pghistory
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.models import Origin
from jobs.requester import Requester
from panel.api.framework.authentication import READING
from panel.api.framework.problem import ApiProblem
from panel.http.client_address import address_of
from panel.middleware import set_scope_for, with_nul
from panel.models import ApiToken, Scope, User
from storage.access import Right, is_staff, may

BODILESS = (*READING, "DELETE")
REQUEST_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)


class Resource(APIView):
    """`write_scope` is what a token needs for methods that change something. A `staff_only` view
    does not exist for anybody else (404). `parameters` are the query's, by method: any other is
    an error, so that a misspelt filter never answers with everything, and so is one that stands
    twice and is not `repeatable`. So is a body where none is read: with GET and DELETE, and in a
    view that `takes_no_body`."""

    permission_classes = (IsAuthenticated,)
    write_scope: ClassVar[str] = Scope.VOLUMES
    staff_only: ClassVar[bool] = False
    takes_no_body: ClassVar[bool] = False
    parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    repeatable: ClassVar[Collection[str]] = ()

    @property
    def user(self) -> User:
        """Whoever asks."""
        return cast("User", self.request.user)

    @property
    def token(self) -> ApiToken | None:
        """The token that was shown; None for a session."""
        return self.request.auth if isinstance(self.request.auth, ApiToken) else None

    @property
    def requester(self) -> Requester:
        """Whoever asks, for a job."""
        token = self.token.key if self.token is not None else ""
        return Requester(self.user, address_of(self.request._request), Origin.API, token)

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        """Name the request."""
        made = super().initialize_request(request, *args, **kwargs)
        made.id = id_of(request)  # type: ignore[attr-defined]
        return made

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who, then what they and their token may, then whether the question is well put."""
        super().initial(request, *args, **kwargs)
        set_scope_for(self.user)
        token = self.token.key if self.token is not None else ""
        pghistory.context(actor=getattr(self.user, "email", ""), token=token)
        if self.staff_only and not is_staff(self.user):
            raise Http404
        if not hasattr(self, (request.method or "").lower()):
            raise MethodNotAllowed(request.method or "")
        scope = Scope.READ if request.method in READING else self.write_scope
        if self.token is not None and scope not in self.token.scopes:
            raise ApiProblem(
                403,
                "insufficient_scope",
                f"The token is not for {scope}.",
                f"Make a token with the scope {scope}.",
            )
        method = "GET" if request.method == "HEAD" else request.method or ""
        known = self.parameters.get(method, ())
        for name, values in request.query_params.lists():
            if name not in known:
                raise bad_parameter(
                    name, "unknown", f"Known here: {', '.join(known) if known else 'none'}."
                )
            if len(values) > 1 and name not in self.repeatable:
                raise bad_parameter(name, "repeated", "Give it once.")
        for name in with_nul(request.query_params):
            raise bad_parameter(name, "invalid", "A text holds no NUL.")
        if (self.takes_no_body or method in BODILESS) and request.data:
            raise ApiProblem(
                400,
                "no_body_here",
                "This request has a body, and none is read here.",
                "Leave it out.",
            )

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Echo the name of the request; nothing of an answer is for a cache."""
        final: Response = super().finalize_response(request, response, *args, **kwargs)
        final["X-Request-Id"] = getattr(request, "id", "")
        final["Cache-Control"] = "private, no-store"
        return final

    def demand(self, right: Right) -> None:
        """Raises PermissionDenied (403) for whoever has not the right; ask once the rows are
        found, so that a foreign one is a 404."""
        if not may(self.user, right):
            raise PermissionDenied(right)


def id_of(request: HttpRequest) -> str:
    """The name of a request: as its sender wrote it, where that is a plain word."""
    given = request.headers.get("X-Request-Id", "")
    return given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def bad_parameter(name: str, code: str, message: str) -> ApiProblem:
    """A query parameter that is unknown or out of range."""
    return ApiProblem(
        400,
        "invalid_parameter",
        f"The parameter {name} cannot be used so.",
        message,
        errors=[{"parameter": name, "code": code, "message": message}],
    )


def choices(request: Request, name: str, allowed: Collection[str]) -> list[str]:
    """The values of a parameter that may be repeated; [] where it is missing."""
    values = request.query_params.getlist(name)
    if not set(values) <= set(allowed):
        raise bad_parameter(name, "invalid", f"One of {', '.join(allowed)}; repeat it for several.")
    return values


def whole(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1
    if not low <= number <= high:
        raise bad_parameter(name, "out_of_range", f"A whole number from {low} to {high}.")
    return number


def truth(request: Request, name: str) -> bool:
    """`true` or `false` of the query; false where it is missing."""
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise bad_parameter(name, "invalid", "true or false.")
    return text == "true"

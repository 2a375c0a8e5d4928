"""The base of every API view: rights, request ids, strict parameters."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Collection, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeVar, cast

import pghistory
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.models import DESTROYING, OF_HOST, Kind, Origin
from jobs.requester import Requester
from panel import VERSION
from panel.accounts.client_address import address_of
from panel.api.deprecations import Deprecation, headers_of, is_number
from panel.api.framework import entity_tags, idempotent_requests
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import DRY_RUN, Operation, operation_of
from panel.api.framework.authentication import READING
from panel.api.framework.bodies import read
from panel.api.framework.parameters import QUERY, bad_parameter
from panel.api.framework.problem import ApiProblem
from panel.api.framework.shape import Json, show
from panel.http.middleware import set_scope_for, with_nul
from panel.http.request_log import id_of
from panel.models import ApiToken, Scope, User
from panel.models.api_token import READS
from storage.access import Right, is_staff, may

M = TypeVar("M", bound=Model)
BODILESS = (*READING, "DELETE")
LEAST_PACKED: Final = 1024
PACKED: Final = "gzip"
REFUSED_WEIGHT: Final = re.compile(r"q=0(\.0*)?")
CHANGING: Final = ("put", "patch", "delete")
TAGGED: Final = ("GET", "HEAD", "PUT", "PATCH")


class Resource(APIView):
    """`write_scope` is what a token needs for methods that change something, or one of
    `other_scopes`; with `dry_run=true` the `preview_scope` is enough. `read_scope` is for the
    others: a part of `read`, or `read` itself where any part of it is enough. A view that changes
    something names its own: without one no token may. A `staff_only` view does not exist for
    anybody else (404).

    What a method takes and answers is its `operation`. A parameter that it does not know is an
    error, so that a misspelt filter never answers with everything, and so is one that is empty or
    stands twice, unless it says that it may. So is a body where none is read.

    Every method that changes something honours Idempotency-Key. Where it `needs_key`, each change
    has one, and only a dry run may do without, but for one that is `needs_key_for_dry_runs`.
    `once_only` are fields of an answer that its replay leaves out, such as a secret. What is read
    and changed at one address has a version (`panel.api.framework.entity_tags`), of which the
    `measured` fields are no part; a view that `checks_version` compares it itself, and one that is
    not `is_tagged` has none. With `old_keys` the address also understands the running number that
    its `key` was at first. Answers are packed at `packing_level`, of 1 (quick) to 9."""

    # An attribute of another method's name, such as `trace`, would answer it.
    http_method_names = ("get", "head", "options", "post", "put", "patch", "delete")
    permission_classes = (IsAuthenticated,)
    write_scope: ClassVar[str] = ""
    read_scope: ClassVar[str] = Scope.READ
    other_scopes: ClassVar[Collection[str]] = ()
    preview_scope: ClassVar[str] = ""
    staff_only: ClassVar[bool] = False
    keeps_key: ClassVar[bool] = False
    needs_key: ClassVar[bool] = False
    needs_key_for_dry_runs: ClassVar[bool] = False
    once_only: ClassVar[Collection[str]] = ("secret",)
    measured: ClassVar[Collection[str]] = ()
    checks_version: ClassVar[bool] = False
    is_tagged: ClassVar[bool] = True
    packing_level: ClassVar[int] = 4
    old_keys: ClassVar[Deprecation | None] = None
    is_comparing = False

    @property
    def user(self) -> User:
        """The caller."""
        return cast("User", self.request.user)

    @property
    def token(self) -> ApiToken | None:
        """The token that was shown; None for a session."""
        return self.request.auth if isinstance(self.request.auth, ApiToken) else None

    @property
    def requester(self) -> Requester:
        """The caller, as a job records it."""
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
        named: Any = request._request
        named.asked_by, named.token_key = self.user.pk, token
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(request.method or "")
        if self.staff_only and not is_staff(self.user):
            raise Http404
        is_dry = request.query_params.getlist(DRY_RUN.name) == ["true"]
        self.demand_scope(*self.scopes_for(request.method or "", is_dry=is_dry))
        self._demand_parameters(request)
        takes_none = self.operation is not None and self.operation.body is None
        if (takes_none or request.method in BODILESS) and request.data:
            raise ApiProblem(
                400,
                "no_body_here",
                "This request must not have a body.",
                "Leave it out.",
            )
        name = (request.method or "").lower()
        setattr(self, name, partial(self._answered, getattr(self, name)))

    def _demand_parameters(self, request: Request) -> None:
        """Raises `ApiProblem` (400) for what the method does not know, and what has no value."""
        known = {
            each.name: each
            for each in (self.operation.parameters if self.operation is not None else ())
            if each.location == QUERY and (not each.staff or is_staff(self.user))
        }
        for name, values in request.query_params.lists():
            if name not in known:
                raise bad_parameter(
                    name, "unknown", f"Known parameters: {', '.join(known) or 'none'}."
                )
            if len(values) > 1 and not known[name].repeatable:
                raise bad_parameter(name, "repeated", "Give it once.")
            if not known[name].may_be_empty and not all(map(str.strip, values)):
                # As an unset variable of a script gives it: it would find what has no such name.
                raise bad_parameter(name, "empty", "It has no value. Omit it.")
        for name in with_nul(request.query_params):
            raise bad_parameter(name, "invalid", "Text must not contain NUL.")
        for name in request.query_params:
            # Check all parameters before doing anything.
            known[name].of(request)

    @property
    def operation(self) -> Operation | None:
        """The requested operation, or the read operation while versions are compared before a
        change."""
        method = "GET" if self.is_comparing else self.request.method or ""
        return operation_of(type(self), method)

    def read(self) -> Json:
        """The valid values of the body; raises DRF's errors."""
        if self.operation is None or self.operation.body is None:
            raise LookupError("this operation has no body")
        is_part = self.request.method == "PATCH"
        return read(self.request, self.operation.body, partial=is_part)

    def shown(self, row: Any, status: int = 200, **given: Any) -> Response:
        """The row in detail; where it was just made, with its address."""
        if self.operation is None:
            raise LookupError("this operation is in no description")
        shape = self.operation.shape_of(status)
        data = show(shape, row, staff=is_staff(self.user), detail=True, **given)
        headers = {"Location": data["url"]} if status == HTTPStatus.CREATED else {}
        return Response(data, status=status, headers=headers)

    def page(
        self, rows: QuerySet[M], prepare: Callable[[list[M]], Iterable[Any]] = list
    ) -> Response:
        """A page of the view's `listing`."""
        listing = cast("Listing", cast("Any", self).listing)
        return listing.answer(self.request, rows, prepare, for_staff=is_staff(self.user))

    @classmethod
    def has_version(cls) -> bool:
        """Whether one thing is read and changed at the view's address."""
        return hasattr(cls, "get") and any(hasattr(cls, name) for name in CHANGING)

    def _answered(
        self, method: Callable[..., Response], request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        """The answer of the method, with what holds for all of them around it."""
        if request.method in READING:
            shown = method(request, *args, **kwargs)
            if entity_tags.IF_MATCH in request.headers:
                tag = shown.get("ETag") or entity_tags.entity_tag(shown.data, self.measured)
                entity_tags.demand_unchanged(request, tag)
            return shown
        if not self.has_version() or (request.method or "").lower() not in CHANGING:
            entity_tags.demand_no_condition(request)
        act = partial(self._changed, method, request, *args, **kwargs)
        if self.keeps_key:
            return act()
        is_dry = not self.needs_key_for_dry_runs and bool(DRY_RUN.of(request))
        is_needed = self.needs_key and not is_dry
        once = idempotent_requests.once if is_needed else idempotent_requests.once_if_named
        return self.finished(once(request, self.user, act, self.once_only))

    def finished(self, answer: Response) -> Response:
        """What becomes of an answer, the first one and its replay."""
        return answer

    def _changed(
        self, method: Callable[..., Response], request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        if not self.has_version() or self.checks_version:
            return method(request, *args, **kwargs)
        with transaction.atomic():
            entity_tags.one_at_a_time(request.path)
            if {entity_tags.IF_MATCH, entity_tags.IF_NONE_MATCH} & set(request.headers):
                entity_tags.demand_unchanged(request, self._tag_now(request, *args, **kwargs))
            return method(request, *args, **kwargs)

    def _tag_now(self, request: Request, *args: Any, **kwargs: Any) -> str | None:
        """The tag of what is there now; None where a PUT would make it."""
        self.is_comparing = True
        try:
            now = cast("Any", self).get(request, *args, **kwargs).data
        except Http404:
            if request.method != "PUT":
                raise
            return None
        finally:
            self.is_comparing = False
        return entity_tags.entity_tag(now, self.measured)

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Echo the id of the request; no cache may store an answer."""
        final: Response = super().finalize_response(request, response, *args, **kwargs)
        final["X-Request-Id"] = getattr(request, "id", "")
        if getattr(getattr(request, "_user", None), "is_authenticated", False):
            final["Tiercel-Version"] = VERSION
        final["Cache-Control"] = "private, no-store"
        for name, text in headers_of(self.used_deprecations()).items():
            final[name] = text
        if self.token is not None:
            final["Vary"] = "Accept-Encoding"
            if takes_gzip(request.headers.get("Accept-Encoding", "")):
                final.add_post_render_callback(partial(_packed, level=self.packing_level))
        is_shown = final.status_code == entity_tags.TAGGED_STATUS and request.method in TAGGED
        if is_shown and self.is_tagged and (request.method in READING or self.has_version()):
            if "ETag" not in final and not self.checks_version:
                final["ETag"] = entity_tags.entity_tag(final.data, self.measured)
            if request.method in READING and entity_tags.IF_NONE_MATCH in request.headers:
                entity_tags.answer_not_modified(request, final)
        return final

    def used_deprecations(self) -> list[Deprecation]:
        """The old forms that the request used."""
        operation = operation_of(type(self), self.request.method or "")
        if operation is None:
            return []
        asked = self.request.query_params
        declared = [
            operation.deprecated,
            *(each.deprecated for each in operation.parameters if each.name in asked),
            self.old_keys if is_number(str(self.kwargs.get("key", ""))) else None,
        ]
        return [each for each in declared if each is not None]

    @classmethod
    def scopes_for(cls, method: str, *, is_dry: bool = False) -> list[str]:
        """Those of which a token needs one."""
        if method in READING:
            parts: list[str] = list(READS) if cls.read_scope == Scope.READ else [cls.read_scope]
            return [Scope.READ, *parts] if set(parts) <= set(READS) else parts
        scopes = [cls.write_scope, *cls.other_scopes] if cls.write_scope else []
        return [cls.preview_scope, *scopes] if is_dry and cls.preview_scope else scopes

    def demand_scope(self, *scopes: str) -> None:
        """Raises `ApiProblem` (403) for a token with none of these scopes."""
        if self.token is not None and not set(scopes) & set(self.token.scopes):
            raise ApiProblem(
                403,
                "insufficient_scope",
                f"The token lacks the scope {' or '.join(scopes)}.",
                f"Create a token with the scope {scopes[0]}.",
            )

    def demand_scope_to(self, kind: str) -> None:
        """The same for a job, which goes by what the job does: many requests can end in one that
        destroys."""
        self.demand_scope(*scopes_of_job(kind))

    def demand(self, right: Right) -> None:
        """Raises PermissionDenied (403) where the caller lacks the right. Call it after the
        lookup, so that an object of another customer is a 404."""
        if not may(self.user, right):
            raise PermissionDenied(right)


def scopes_of_job(kind: str) -> tuple[str, ...]:
    """Scopes of which a token needs one to start or resume a job of this kind."""
    if kind in DESTROYING:
        return (Scope.DESTROY,)
    if kind == Kind.PREPARE_SSD:
        return (Scope.HOSTS, Scope.VOLUMES)
    return (Scope.HOSTS,) if kind in OF_HOST else (Scope.VOLUMES,)


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding says yes to gzip, by its name or as any (RFC 9110)."""
    allowed: dict[str, bool] = {}
    for part in accepted.lower().replace(" ", "").split(","):
        name, _, weight = part.partition(";")
        allowed[name] = REFUSED_WEIGHT.fullmatch(weight) is None
    return allowed.get(PACKED, allowed.get("*", False))


def _packed(response: Response, level: int) -> None:
    """The answer with gzip, where that is worth it. Its ETag stays: it names the content."""
    if len(response.content) >= LEAST_PACKED and "Content-Encoding" not in response:
        response.content = gzip.compress(response.content, level)
        response["Content-Encoding"] = PACKED

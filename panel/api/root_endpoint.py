"""The root of the API, its OpenAPI document, and the answer to unknown paths."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from difflib import get_close_matches
from http import HTTPStatus
from string import ascii_letters, digits
from typing import Any, ClassVar, Final, cast

from django.http import HttpResponse
from django.urls import resolve, reverse
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import (
    SpectacularAPIView,
    SpectacularJSONAPIView,
    SpectacularYAMLAPIView,
)
from rest_framework.request import Request
from rest_framework.response import Response

from panel import VERSION
from panel.api import API_VERSION, FEATURES
from panel.api.accounts.token_endpoints import TokenShape
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Map, Text, Texts
from panel.api.framework.problem import ApiProblem
from panel.api.framework.rendering import JsonRenderer
from panel.api.framework.resource import PACKED, Resource, takes_gzip
from panel.api.framework.shape import Shape
from panel.models import Scope
from storage.access import is_staff

NAMES = (
    "hosts",
    "volumes",
    "jobs",
    "alerts",
    "silences",
    "alert-routes",
    "audit",
    "customers",
    "cache-plans",
    "orders",
    "proofs",
    "events",
    "webhooks",
    "people",
    "invitations",
    "tokens",
    "bulk-changes",
    "messages",
    "tag-limits",
)
OPENAPI: Final = "/api/v1/openapi.json"
PLAIN: Final = frozenset(f"{ascii_letters}{digits}_./-")


class RootShape(Shape):
    """`urls`, by name, are the lists that the person may read; `features` only increase within a
    version of the API. `token` is the token of the request, null for a session of the pages."""

    version = Text("Version of Tiercel; panel and agent are released together.")
    api_version = Text("Version of the API.")
    features = Texts("Features of this panel; they only increase within a version.")
    user = Text("E-mail address of the caller.")
    scopes = Texts("What the token may do.")
    token = TokenShape("The token of the request; null for a session.", null=True)
    urls = Map("Addresses of the lists that you may read, by name.", Text())


class Root(Resource):
    """Where everything begins."""

    @operation("root", "What this panel can do, and who you are", RootShape)
    def get(self, request: Request) -> Response:
        """Version, features, and the scopes of the token."""
        data = {
            "version": VERSION,
            "api_version": API_VERSION,
            "features": FEATURES,
            "user": self.user.email,
            "scopes": self.token.scopes if self.token is not None else ["read"],
            "token": self.token,
            "urls": {name: reverse(f"api-{name}") for name in self._names()},
        }
        return self.shown(data)

    def _names(self) -> Iterator[str]:
        """The lists that exist for this person and that the token may read."""
        own = set(self.token.scopes) if self.token is not None else {Scope.READ}
        for name in NAMES:
            view: Any = resolve(reverse(f"api-{name}")).func
            is_there = is_staff(self.user) or not view.view_class.staff_only
            if is_there and own & set(view.view_class.scopes_for("GET")):
                yield name


class Nothing(Resource):
    """Any other address: to the one that differs by a slash, else a problem that names the near
    one, whatever is done there and asked of it."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Checks only the authentication first."""
        super(Resource, self).initial(request, *args, **kwargs)
        path = kwargs.get("path", "")
        if not set(path) <= PLAIN or slashed(path) is None:
            raise ApiProblem(
                404,
                "not_found",
                "The API has no such path.",
                f"The next one is {near(path)} and {OPENAPI} lists them all.",
            )

    @extend_schema(exclude=True)
    def get(self, request: Request, path: str = "") -> Response:
        """The same request at the address that was meant."""
        query = request._request.META.get("QUERY_STRING", "")
        place = f"{slashed(path)}?{query}" if query else str(slashed(path))
        return Response(status=HTTPStatus.PERMANENT_REDIRECT, headers={"Location": place})

    post = put = patch = delete = get
    options = get  # type: ignore[assignment]  # asked at an address that is none


def slashed(path: str) -> str | None:
    """The address that differs from this one below `/api/v1/` only by its last slash."""
    root = reverse("api-root")
    for other in (f"{path}/", path.rstrip("/")):
        if path and other != path and resolve(f"{root}{other}").url_name != "api-nothing":
            return f"{root}{other}"
    return None


def near(path: str) -> str:
    """The address that was probably meant by this one below `/api/v1/`."""
    if (other := slashed(path)) is not None:
        return other
    root = reverse("api-root")
    meant = get_close_matches(path.partition("/")[0], NAMES, 1)
    return reverse(f"api-{meant[0]}") if meant else root


class _Kept(SpectacularAPIView):
    """The OpenAPI description, which takes long to make and is the same for everybody: each process
    makes it once, and packs it once."""

    texts: ClassVar[dict[str, bytes]] = {}

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        """All of it."""
        renderer = cast("Any", request).accepted_renderer
        if renderer.format not in self.texts:
            schema = cast("Any", SchemaGenerator)().get_schema(request=None, public=True)
            self.texts[renderer.format] = renderer.render(schema, renderer_context={})
        text = self.texts[renderer.format]
        tag = f'"{hashlib.sha256(text).hexdigest()[:20]}"'
        headers = {
            "Content-Disposition": f'inline; filename="Tiercel.{renderer.format}"',
            "ETag": tag,
            "Vary": "Accept-Encoding",
        }
        if takes_gzip(request.headers.get("Accept-Encoding", "")):
            name = f"{renderer.format}.{PACKED}"
            if name not in self.texts:
                self.texts[name] = gzip.compress(text, mtime=0)
            text, headers["Content-Encoding"] = self.texts[name], PACKED
        whole = HttpResponse(text, content_type=_content_type(renderer), headers=headers)
        return get_conditional_response(request._request, tag, response=whole) or whole

    def handle_exception(self, exc: Exception) -> Response:
        """A problem stays JSON."""
        cast("Any", self.request).accepted_renderer = JsonRenderer()
        problem: Response = super().handle_exception(exc)
        return problem


def _content_type(renderer: Any) -> str:
    """JSON is UTF-8 and has no parameter that says so."""
    charset = f"; charset={renderer.charset}" if renderer.charset else ""
    return f"{renderer.media_type}{charset}"


class OpenApiJson(_Kept):
    """As JSON."""

    renderer_classes = SpectacularJSONAPIView.renderer_classes


class OpenApiYaml(_Kept):
    """As YAML."""

    renderer_classes = SpectacularYAMLAPIView.renderer_classes

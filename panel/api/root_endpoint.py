"""The root of the API, its OpenAPI document, and the answer to unknown paths."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, ClassVar, Final, cast

from django.http import Http404, HttpResponse
from django.urls import resolve, reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import (
    SpectacularAPIView,
    SpectacularJSONAPIView,
    SpectacularYAMLAPIView,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import FEATURES
from panel.api.framework import described
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.response_shapes import Json
from storage.agent import VERSION

NAMES = (
    *("hosts", "volumes", "jobs", "alerts", "silences", "alert-routes", "audit", "customers"),
    *("cache-plans", "orders", "proofs"),
)
OPENAPI: Final = "/api/v1/openapi.json"


class RootShape(serializers.Serializer[Json]):
    """`urls` by name; `features` only ever grow within a version of the API."""

    version = serializers.CharField()
    features = serializers.ListField(child=serializers.CharField())
    user = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    urls = serializers.DictField(child=serializers.CharField())


class Root(Resource):
    """Where everything begins."""

    @extend_schema(
        operation_id="root",
        summary="What this panel can do, and who you are",
        responses={200: RootShape, **described.problems(403)},
    )
    def get(self, request: Request) -> Response:
        """Version, features, and what the token is for."""
        data = {
            "version": VERSION,
            "features": FEATURES,
            "user": self.user.email,
            "scopes": self.token.scopes if self.token is not None else ["read"],
            "urls": {name: reverse(f"api-{name}") for name in NAMES},
        }
        return Response(RootShape(data).data)


class Nothing(Resource):
    """Any other address: a problem that names the near one, whatever is done there and asked of
    it."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Only who asks is looked at first."""
        super(Resource, self).initial(request, *args, **kwargs)
        raise ApiProblem(
            404,
            "not_found",
            "The API has no address like this.",
            f"The next one is {near(kwargs.get('path', ''))} and {OPENAPI} lists them all.",
        )

    @extend_schema(exclude=True)
    def get(self, request: Request, path: str = "") -> Response:
        """Never reached."""
        raise Http404(path)


def near(path: str) -> str:
    """The address that was probably meant by this one below `/api/v1/`."""
    root = reverse("api-root")
    for other in (f"{path}/", path.rstrip("/")):
        if path and other != path and resolve(f"{root}{other}").url_name != "api-nothing":
            return f"{root}{other}"
    meant = get_close_matches(path.partition("/")[0], NAMES, 1)
    return reverse(f"api-{meant[0]}") if meant else root


class _Kept(SpectacularAPIView):
    """The OpenAPI description, which takes long to make and is the same for everybody: each process
    makes it once."""

    texts: ClassVar[dict[str, bytes]] = {}

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        """All of it."""
        renderer = cast("Any", request).accepted_renderer
        if renderer.format not in self.texts:
            schema = cast("Any", SchemaGenerator)().get_schema(request=None, public=True)
            self.texts[renderer.format] = renderer.render(schema, renderer_context={})
        return HttpResponse(
            self.texts[renderer.format],
            content_type=f"{renderer.media_type}; charset={renderer.charset}",
            headers={"Content-Disposition": f'inline; filename="Tiercel.{renderer.format}"'},
        )


class OpenApiJson(_Kept):
    """As JSON."""

    renderer_classes = SpectacularJSONAPIView.renderer_classes


class OpenApiYaml(_Kept):
    """As YAML."""

    renderer_classes = SpectacularYAMLAPIView.renderer_classes

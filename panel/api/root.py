"""What this API is, its description, and what it is not."""

from __future__ import annotations

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularYAMLAPIView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import FEATURES, described
from panel.api.resource import Resource
from panel.api.shapes import Json
from storage.agent import VERSION

NAMES = ("hosts", "volumes", "jobs", "audit", "customers", "cache-plans", "orders", "proofs")


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
    """Any other path: a problem instead of a page."""

    @extend_schema(exclude=True)
    def get(self, request: Request, path: str) -> Response:
        """404."""
        raise Http404(path)

    post = put = patch = delete = get


class OpenApiJson(SpectacularJSONAPIView):
    """The OpenAPI description as JSON."""


class OpenApiYaml(SpectacularYAMLAPIView):
    """The same as YAML."""

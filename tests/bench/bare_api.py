"""What `make bench-api` compares with: the volumes as a `ModelViewSet` of Django REST framework
shows them with what it brings itself, and pages by offset. No sign-in, no limits, no ETags, no row
security, and of each volume its columns alone: neither its host nor its cache, its figures, its
state or its job.

And what `make bench-samples` shows beside the chart of a day: the least that Django does for one,
without any figure.
"""

from __future__ import annotations

from typing import ClassVar, Final

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import include, path
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.routers import SimpleRouter
from rest_framework.serializers import ModelSerializer
from rest_framework.viewsets import ModelViewSet

from storage import row_security
from storage.models import Volume

row_security.open_process()
TEXT: Final = b"0" * 80_000


class BareVolume(ModelSerializer[Volume]):
    """Every column."""

    class Meta:
        model = Volume
        fields = "__all__"


class BarePage(LimitOffsetPagination):
    """`limit` and `offset`; it counts all rows for each page."""

    default_limit = 50
    max_limit = 200


class BareVolumes(ModelViewSet[Volume]):
    """List and detail."""

    queryset = Volume.objects.order_by("created_at", "key")
    serializer_class = BareVolume
    lookup_field = "key"
    pagination_class = BarePage
    authentication_classes: ClassVar = []
    permission_classes: ClassVar = [AllowAny]
    renderer_classes: ClassVar = [JSONRenderer]


def chart(request: HttpRequest, key: str) -> HttpResponse:
    """A text as long as a chart's, for a person who has signed in, of a volume that there is."""
    if not request.user.is_authenticated:
        raise PermissionDenied
    get_object_or_404(Volume, key=key)
    return HttpResponse(TEXT, content_type="application/json")


router = SimpleRouter()
router.register("volumes", BareVolumes)
urlpatterns = [path("", include(router.urls)), path("charts/<str:key>", chart)]

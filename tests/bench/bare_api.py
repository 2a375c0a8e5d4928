"""What `make bench-api` compares with: the volumes as a `ModelViewSet` of Django REST framework
shows them with what it brings itself, and pages by offset.

No sign-in, no limits, no ETags, no row security, and of each volume its columns alone: neither its
host nor its cache, its figures, its state or its job.
"""

from __future__ import annotations

from typing import ClassVar

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


router = SimpleRouter()
router.register("volumes", BareVolumes)
urlpatterns = [path("", include(router.urls))]

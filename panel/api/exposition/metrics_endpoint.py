"""`/metrics`, for Prometheus, with a token of its own scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils import json as plain_json

from panel.api.exposition.fleet_metrics import fleet_text
from panel.api.exposition.metric_text import CONTENT_TYPE
from panel.api.exposition.volume_metrics import read_volumes, volume_text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.rate_limits import ConcurrencyLimit
from panel.api.framework.resource import Resource
from panel.models import Scope
from storage import event_list

ONE_AT_A_TIME: Final = ConcurrencyLimit(most=1, most_of_one=1)
"""In each process: a scrape costs as much as some pages."""


def exposition() -> str:
    """All of it."""
    event_list.give_places()
    return "".join((*fleet_text(), *volume_text(read_volumes())))


class MetricsRenderer(BaseRenderer):
    """The text as it is; a problem stays JSON."""

    media_type = "text/plain"
    format = "metrics"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """What Prometheus reads."""
        return (data if isinstance(data, str) else plain_json.dumps(data)).encode()


class Metrics(Resource):
    """What Prometheus scrapes. No two scrapes are the same, so none has a version; megabytes are
    packed for each, as quickly as gzip can."""

    read_scope = Scope.METRICS
    staff_only: ClassVar[bool] = True
    renderer_classes = (MetricsRenderer,)
    is_tagged = False
    packing_level = 1

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        """Always the one format, regardless of Accept."""
        return MetricsRenderer(), MetricsRenderer.media_type

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """For staff, with a token of the scope `metrics:read`, which reads nothing else. One scrape
        at a time in each process; another one meanwhile gets 429."""
        with ONE_AT_A_TIME.one("scrape") as has_place:
            if not has_place:
                raise ApiProblem(
                    429,
                    "too_many_requests",
                    "Another scrape is in progress.",
                    "Scrape less often.",
                    headers={"Retry-After": "1"},
                )
            return Response(exposition(), content_type=CONTENT_TYPE)

"""A volume's figures over time, in columns."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource, whole
from panel.charts import definitions as chart_definitions
from panel.charts.time_range import moment
from storage.access import is_staff
from storage.metrics.series import MAX_POINTS, UNITS, series
from storage.models import Volume
from storage.volumes.ownership import theirs_since

DEFAULT_RANGE = timedelta(hours=1)
DEFAULT_POINTS = 600


class VolumeSeries(Resource):
    """What a volume did."""

    parameters: ClassVar = {"GET": ("from", "to", "points")}

    @extend_schema(
        operation_id="series",
        summary="Figures over time",
        parameters=[
            described.query("from", "RFC 3339 time. Default: one hour before `to`."),
            described.query("to", "RFC 3339 time. Default: now."),
            OpenApiParameter(
                "points",
                OpenApiTypes.INT,
                description=f"Maximum number of points, 1 to {MAX_POINTS}.",
            ),
        ],
        responses={
            200: OpenApiResponse(
                OpenApiTypes.OBJECT,
                f"Columns: {{t0, step_seconds, points, series, units, totals}}. `series` has "
                f"{', '.join(UNITS)}, for customers those of their charts; null is a gap. Point n "
                "ends (n + 1) steps after t0.",
            ),
            **described.problems(400, 403, 404, 422),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """One column for each figure. Null: nothing was measured."""
        volume = get_object_or_404(Volume.objects.visible_to(self.user), key=key)
        end = _time(request, "to") or timezone.now()
        start = _time(request, "from") or end - DEFAULT_RANGE
        points = whole(request, "points", DEFAULT_POINTS, 0, 10**9)
        try:
            if is_staff(self.user):
                return Response(series(volume, start, end, points).to_json())
            columns = series(volume, start, end, points, since=theirs_since(volume))
            return Response(columns.to_json(chart_definitions.names(plain=True)))
        except ValueError as error:
            raise ApiProblem(
                422, "bad_range", str(error), "Ask for another range or number of points."
            ) from None


def _time(request: Request, name: str) -> datetime | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    at = moment(text)
    if at is None:
        raise ApiProblem(
            422,
            "bad_range",
            f"{name} is no RFC 3339 time with a time zone, or far from now.",
            "Write it so: 2026-11-21T08:00:00Z (a + in a URL is written %2B).",
        )
    return at

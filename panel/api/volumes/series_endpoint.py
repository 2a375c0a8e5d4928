"""The figures of a volume over time, in columns, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil
from typing import Any, ClassVar, Final

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.rendering import JsonRenderer, json_bytes
from panel.api.framework.resource import Resource, bad_parameter, since, whole
from panel.api.framework.shape import Shape
from panel.api.volumes.volume_endpoints import visible_volume
from panel.charts import definitions as chart_definitions
from storage.access import is_staff
from storage.formatting import csv_line
from storage.metrics.samples.window import sampled_every
from storage.metrics.series import (
    INSIDE_UNITS,
    MAX_POINTS,
    UNITS,
    longest_range,
    series,
    step_seconds,
)
from storage.volumes.ownership import theirs_since

DEFAULT_RANGE: Final = timedelta(hours=1)
DEFAULT_POINTS: Final = 600
CSV: Final = "text/csv"


class SeriesColumns(Shape):
    """A column for each figure that was asked for; null is a gap."""

    def get_fields(self) -> dict[str, Any]:
        return {
            name: serializers.ListField(
                child=serializers.FloatField(allow_null=True), required=False, help_text=unit
            )
            for name, unit in (UNITS | INSIDE_UNITS).items()
        }


class SeriesShape(Shape):
    """Point n lasts from n to n + 1 steps after `t0`, which is a whole number of steps after the
    beginning of 1970: the same bucket has the same place in every answer."""

    t0 = serializers.DateTimeField(help_text="When the first bucket begins.")
    step_seconds = serializers.IntegerField(help_text="How long a bucket is, in seconds.")
    points = serializers.IntegerField(help_text="How many buckets there are.")
    series = SeriesColumns(
        help_text="One value for each bucket, by column; null: nothing was measured."
    )
    units = serializers.DictField(child=serializers.CharField(), help_text="Unit of each column.")
    totals = serializers.DictField(
        child=serializers.FloatField(allow_null=True),
        help_text="Over the whole range, and `covered_seconds`, which were measured.",
    )


class CsvRenderer(BaseRenderer):
    """One line for each bucket, with the time of its beginning."""

    media_type = CSV
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """The columns as lines; a problem stays JSON."""
        if not isinstance(data, Mapping) or "series" not in data:
            return json_bytes(data)
        return "".join(_lines(data)).encode()


class VolumeSeries(Resource):
    """What a volume did."""

    renderer_classes = (JsonRenderer, CsvRenderer)
    parameters: ClassVar = {"GET": ("from", "to", "points", "names")}

    @extend_schema(
        operation_id="series",
        summary="Figures over time",
        parameters=[
            OpenApiParameter(
                "from", OpenApiTypes.DATETIME, description="Default: one hour before `to`."
            ),
            OpenApiParameter("to", OpenApiTypes.DATETIME, description="Default: now."),
            OpenApiParameter(
                "points",
                OpenApiTypes.INT,
                description=f"Maximum number of points, 1 to {MAX_POINTS}.",
            ),
            described.query("names", "Columns, with commas between. Default: all."),
        ],
        responses={
            (200, "application/json"): OpenApiResponse(SeriesShape, "Columns."),
            (200, CSV): OpenApiResponse(
                OpenApiTypes.STR, "With `Accept: text/csv`: a line for each point."
            ),
            **described.problems(400, 403, 404, 422),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """One column for each figure; null: nothing was measured. Customers have the columns of
        their charts. The range is moved to whole buckets."""
        volume = visible_volume(self, key)
        end = since(request, "to") or timezone.now()
        start = since(request, "from") or end - DEFAULT_RANGE
        points = whole(request, "points", DEFAULT_POINTS, 0, 10**9)
        is_for_staff = is_staff(self.user)
        names = _names(request, None if is_for_staff else chart_definitions.names(plain=True))
        try:
            start, end, step = aligned(start, end, points, partial(sampled_every, volume.pk))
            ours_since = None if is_for_staff else theirs_since(volume)
            columns = series(volume, start, end, step=step, since=ours_since, inside=is_for_staff)
        except ValueError as error:
            # Too many or too few points, or a range that ends before it begins.
            raise bad_parameter("points", "out_of_range", str(error)) from None
        return Response({**columns.to_json(names), "t0": columns.start})


def aligned(
    start: datetime,
    end: datetime,
    points: int,
    every: Callable[[datetime, datetime], int] | None = None,
) -> tuple[datetime, datetime, int]:
    """The range in whole buckets, of which the last one still lasts, and how long one is: never
    more than `points`, so that a first bucket of which only a part was asked for may be left out.
    Raises ValueError for a range that cannot be."""
    step = step_seconds(start, end, points, every=every)
    first = int(start.timestamp() // step)
    last = ceil(end.timestamp() / step)
    most = min(points, int(longest_range().total_seconds() // step))
    first = max(first, last - most)
    return _at(first * step), _at(last * step), step


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _names(request: Request, allowed: Sequence[str] | None) -> Sequence[str] | None:
    """The columns that were asked for, of those that may be seen; None for all."""
    text = request.query_params.get("names")
    known = (*UNITS, *INSIDE_UNITS) if allowed is None else allowed
    if text is None:
        return allowed
    names = text.split(",")
    if not set(names) <= set(known):
        raise bad_parameter("names", "invalid", f"Some of {', '.join(known)}.")
    return names


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    names = list(data["series"])
    yield csv_line(["at", *names])
    step = timedelta(seconds=data["step_seconds"])
    for n in range(data["points"]):
        values = (data["series"][name][n] for name in names)
        at = (data["t0"] + n * step).isoformat()
        yield csv_line([at, *("" if value is None else value for value in values)])

"""Figures of a volume, a host or the fleet over time, in columns, as JSON or CSV: what the charts
of their pages draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_operations import operation
from panel.api.framework.fields import DateTime, Float, Integer, List, Map, Text, Texts
from panel.api.framework.parameters import Moment, Number, Parameter, SomeOf
from panel.api.framework.rendering import JsonRenderer, json_bytes
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.volumes.volume_resource import VolumeResource
from panel.charts.definitions import inside_json
from panel.charts.subject import ChartSubject, of_fleet, of_host, of_volume
from panel.charts.time_range import Span
from panel.models import Scope
from storage.formatting import csv_line
from storage.metrics.load_series import LOAD_UNITS
from storage.metrics.series import (
    INSIDE_UNITS,
    LEG_UNITS,
    MAX_POINTS,
    UNITS,
    longest_range,
    step_seconds,
)
from storage.models import Host

DEFAULT_RANGE: Final = timedelta(hours=1)
DEFAULT_POINTS: Final = 600
CSV: Final = "text/csv"
HISTOGRAMS, BANDS = "histograms", "bands"
INCLUDED: Final = (HISTOGRAMS, BANDS)
FROM: Final = Moment("from", "Default: one hour before `to`.")
TO: Final = Moment("to", "Default: now.")
POINTS: Final = Number(
    "points",
    f"Maximum number of points, 1 to {MAX_POINTS}.",
    least=1,
    most=MAX_POINTS,
    default=DEFAULT_POINTS,
)
NAMES: Final = Parameter("names", "Columns, separated by commas. Default: all.")
RANGE: Final = (FROM, TO, POINTS, NAMES)
INCLUDE: Final = SomeOf(
    "include",
    "`histograms`: how many I/Os took how long; `bands`: minimum and maximum of the intervals in "
    "each bucket. Staff only.",
    staff=True,
    values=INCLUDED,
)
DISK: Final = Parameter("disk", "The disk of the columns `disk_…` and `volume_…`: one of `disks`.")


class SeriesColumns(Shape):
    """A column for each requested figure; null is a gap."""

    def get_fields(self) -> dict[str, Any]:
        return {
            name: List(unit, Float(null=True), required=False)
            for name, unit in (UNITS | INSIDE_UNITS | LEG_UNITS).items()
        }


class HistogramsShape(Shape):
    """How many I/Os of each bucket took how long."""

    bounds_ms = List(
        "Upper end of each class of latencies, in milliseconds; one more class is open.", Float()
    )
    counts = Map(
        "For each bucket the I/Os of each class, null if unknown: `latency` of the volume, "
        "`hdd_leg` and `ssd_leg` below its cache.",
        List("", List("", Integer(), null=True)),
    )


class BandsShape(Shape):
    """Minimum and maximum of the intervals within each bucket, by column."""

    least = Map("The lowest value of each bucket.", List("", Float(null=True)))
    most = Map("The highest value of each bucket.", List("", Float(null=True)))


class BucketsShape(Shape):
    """Point n lasts from n to n + 1 steps after `t0`, which is a whole number of steps after the
    beginning of 1970: the same bucket has the same place in every answer."""

    t0 = DateTime("When the first bucket begins.")
    step_seconds = Integer("How long a bucket is, in seconds.")
    points = Integer("How many buckets there are.")
    units = Map("Unit of each column.", Text())
    totals = Map(
        "Totals over the whole range, with the measured seconds as `covered_seconds`.",
        Float(null=True),
    )


class SeriesShape(BucketsShape):
    """The figures of a volume."""

    series = SeriesColumns("One value for each bucket, by column; null: nothing was measured.")
    histograms = HistogramsShape("With `include=histograms`.", required=False)
    bands = BandsShape("With `include=bands`.", required=False)


class LoadSeriesShape(BucketsShape):
    """The figures of a host or of the fleet. The columns depend on its disks."""

    series = Map(
        "One value for each bucket, by column; null: nothing was measured.",
        List("", Float(null=True)),
    )
    labels = Map(
        "The object of a column where its name is not enough: `volume_1_in_flight` is the volume "
        "that used the disk most.",
        Text(),
    )
    disks = Texts("Possible values of `disk`; empty for the fleet.")
    disk = Text("The disk of the disk columns; empty: none.")


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


def _answers(shape: type[Shape]) -> dict[Any, Any]:
    return {
        (200, "application/json"): (shape, "Columns."),
        (200, CSV): (OpenApiTypes.STR, "With `Accept: text/csv`: a line for each point."),
    }


class SeriesResource(Resource):
    """The figures of a subject of charts."""

    renderer_classes = (JsonRenderer, CsvRenderer)

    def columns(
        self, request: Request, subject: ChartSubject, cheap: Sequence[str]
    ) -> tuple[Any, Span, Sequence[str]]:
        """The series, its time and the columns that were asked for. Those beyond the `cheap` ones
        are read only where one is."""
        end = TO.of(request) or timezone.now()
        start = FROM.of(request) or end - max(
            DEFAULT_RANGE, timedelta(seconds=12 * subject.least_seconds)
        )
        points = POINTS.of(request)
        names = _names(request, subject.names, cheap)
        try:
            start, end, step = aligned(
                start, end, points, subject.every, least=subject.least_seconds
            )
            span = Span("", "", start, end, step, is_part=True)
            measured = subject.measure(span)
        except ValueError as error:
            # It ends before it begins, or is longer than any that is kept.
            raise FROM.refused(str(error), "out_of_range") from None
        if not set(names) <= set(cheap):
            measured = subject.apart(subject.added(span, measured))
        return measured, span, names


class VolumeSeries(SeriesResource, VolumeResource):
    """What a volume did."""

    read_scope = Scope.VOLUMES_READ

    @operation(
        "series",
        "Figures over time",
        _answers(SeriesShape),
        parameters=(*RANGE, INCLUDE),
        problems=(422,),
    )
    def get(self, request: Request, key: str) -> Response:
        """One column for each figure; null: nothing was measured. Customers get the columns of
        their charts. The range is aligned to whole buckets. Columns of the devices below a cache
        (`hdd_leg_p95_ms`, `ssd_leg_p95_ms`, …) are included if `names` or `include=histograms` asks
        for them, for ranges of up to seven days."""
        included = INCLUDE.of(request) or ()
        subject = of_volume(self.volume(key), self.user)
        usual = [name for name in subject.names if name not in LEG_UNITS]
        measured, span, names = self.columns(request, subject, usual)
        if HISTOGRAMS in included and set(names) <= set(usual):
            measured = subject.apart(measured)
        data = {**measured.to_json(names), "t0": span.start}
        inside = inside_json(measured) if included else {}
        if HISTOGRAMS in included:
            data[HISTOGRAMS] = inside["heat"]
        if BANDS in included:
            data[BANDS] = {name: inside[name] for name in ("least", "most")}
        return Response(data)


class LoadSeries(SeriesResource):
    """What many volumes did together."""

    staff_only = True
    read_scope = Scope.HOSTS_READ

    def answer(self, request: Request, subject: ChartSubject) -> Response:
        """Its columns."""
        measured, span, names = self.columns(request, subject, tuple(LOAD_UNITS))
        labels = {} if set(names) <= set(LOAD_UNITS) else subject.labels(span)
        data = {
            **measured.to_json(names),
            "t0": span.start,
            "labels": {name: label for name, label in labels.items() if name in names},
            "disks": subject.disks,
            "disk": subject.disk,
        }
        return Response(data)


class HostSeries(LoadSeries):
    """What a host did."""

    @operation(
        "host_series",
        "Figures of a host and its disks over time",
        _answers(LoadSeriesShape),
        parameters=(*RANGE, DISK),
        problems=(422,),
    )
    def get(self, request: Request, key: str) -> Response:
        """All volumes of the host together, how busy each disk was (`busy_sda`), and for `disk` its
        own figures (`disk_read_ms`) and the volumes that used it. Buckets are at least five minutes
        long."""
        host = get_object_or_404(Host.objects.visible_to(self.user).without_inventory(), key=key)
        asked = DISK.of(request) or ""
        subject = of_host(host, asked)
        if asked and asked not in subject.disks:
            known = ", ".join(subject.disks) or "none"
            raise DISK.refused(f"Disks of this host: {known}.")
        return self.answer(request, subject)


class FleetSeries(LoadSeries):
    """What all hosts did."""

    @operation(
        "fleet_series",
        "Figures of all hosts together over time",
        _answers(LoadSeriesShape),
        parameters=RANGE,
        problems=(422,),
    )
    def get(self, request: Request) -> Response:
        """Includes how busy their disks were, as average and maximum. Buckets are at least five
        minutes long."""
        return self.answer(request, of_fleet())


def aligned(
    start: datetime,
    end: datetime,
    points: int,
    every: Callable[[datetime, datetime], int] | None = None,
    *,
    least: int = 0,
) -> tuple[datetime, datetime, int]:
    """The range in whole buckets, of which the last one still lasts, and how long one is: never
    more than `points`, so that a first bucket of which only a part was asked for may be left out.
    Raises ValueError for a range that cannot be."""
    step = step_seconds(start, end, points, least=least, every=every)
    first = int(start.timestamp() // step)
    last = ceil(end.timestamp() / step)
    most = min(points, int(longest_range().total_seconds() // step))
    first = max(first, last - most)
    return _at(first * step), _at(last * step), step


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _names(request: Request, known: Sequence[str], usual: Sequence[str]) -> Sequence[str]:
    """The requested columns that the caller may see. Default: all except those of the devices below
    a cache; for hosts and the fleet all."""
    text = NAMES.of(request)
    if text is None:
        return usual if set(known) - set(usual) <= set(LEG_UNITS) else known
    names: Sequence[str] = text.split(",")
    if not set(names) <= set(known):
        raise NAMES.refused(f"Some of {', '.join(known)}.")
    return names


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    names = list(data["series"])
    yield csv_line(["at", *names])
    step = timedelta(seconds=data["step_seconds"])
    for n in range(data["points"]):
        values = (data["series"][name][n] for name in names)
        at = (data["t0"] + n * step).isoformat()
        yield csv_line([at, *("" if value is None else value for value in values)])

"""What charts are of: a volume, a host, or the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from panel.charts import definitions
from panel.charts.time_range import Span
from storage.access import Person, is_staff
from storage.metrics.load_series import BUCKET_SECONDS, LOAD_UNITS, fleet_series, host_series
from storage.metrics.series import UNITS, Series, series
from storage.models import FleetLoad, Host, HostLoad, Sample, Volume
from storage.planner.technologies.lookup import of_layout
from storage.volumes.ownership import theirs_since


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSubject:
    """As far as one person may see it.

    `name` is that of its CSV file; `names` are the series that the person gets; `plain`: in the
    words of customers; `of_many`: of many volumes together. `measure` gives its figures of a time,
    in buckets of at least `least_seconds`; each comes from one of the `rows`, whose time is
    `column`. Before `known_since` there was nothing to measure.
    """

    name: str
    names: Sequence[str]
    panels: tuple[definitions.ChartPanel, ...]
    series_url: str
    csv_url: str
    marks_url: str = ""
    plain: bool = False
    is_retired: bool = False
    of_many: bool = False
    least_seconds: int = 0
    known_since: datetime | None = None
    measure: Callable[[Span], Series]
    rows: QuerySet[Any]
    column: str

    @property
    def seconds(self) -> int:
        """How often there is a new figure."""
        return max(settings.TIERCEL_SAMPLE_SECONDS, self.least_seconds)

    def nearest(self, start: datetime, end: datetime) -> datetime | None:
        """When the last figure before `start` was taken; without one, the first after `end`."""
        times = self.rows.values_list(self.column, flat=True)
        last = times.filter(**{f"{self.column}__lte": start}).order_by(f"-{self.column}").first()
        if last is None:
            last = times.filter(**{f"{self.column}__gt": end}).order_by(self.column).first()
        return last


def of_volume(volume: Volume, person: Person, *, plain: bool | None = None) -> ChartSubject:
    """A volume that the person may see. `plain`: by itself, for everybody who is not staff; they
    get no more than the lines of their charts, and nothing of an earlier owner's time."""
    plain = not is_staff(person) if plain is None else plain
    since = theirs_since(volume) if plain else None
    rows = Sample.objects.filter(volume=volume)
    return ChartSubject(
        name=f"volume-{volume.key}",
        names=definitions.names(plain=True) if plain else tuple(UNITS),
        panels=tuple(
            panel
            for panel in definitions.panels(plain=plain)
            if panel is not definitions.CHURN or of_layout(volume.layout).counts_promotions
        ),
        series_url=reverse("volume-series", args=[volume.key]),
        csv_url=reverse("volume-csv", args=[volume.key]),
        marks_url=reverse("volume-marks", args=[volume.key]),
        plain=plain,
        is_retired=volume.retired_at is not None,
        known_since=volume.created_at,
        measure=lambda span: series(volume, span.start, span.end, span.points, since=since),
        rows=rows if since is None else rows.filter(ts__gt=since),
        column="ts",
    )


def of_host(host: Host) -> ChartSubject:
    """All volumes of a host together. For staff."""
    return ChartSubject(
        name=f"host-{host.name}",
        names=tuple(LOAD_UNITS),
        panels=definitions.load_panels(),
        series_url=reverse("host-series", args=[host.key]),
        csv_url=reverse("host-csv", args=[host.key]),
        marks_url=reverse("host-marks", args=[host.key]),
        of_many=True,
        least_seconds=BUCKET_SECONDS,
        measure=lambda span: host_series(host, span.start, span.end, span.points),
        rows=HostLoad.objects.filter(host=host),
        column="bucket",
    )


def of_fleet() -> ChartSubject:
    """All hosts together. For staff."""
    return ChartSubject(
        name="fleet",
        names=tuple(LOAD_UNITS),
        panels=definitions.load_panels(space_title="SSD space of answering hosts"),
        series_url=reverse("fleet-series"),
        csv_url=reverse("fleet-csv"),
        of_many=True,
        least_seconds=BUCKET_SECONDS,
        measure=lambda span: fleet_series(span.start, span.end, span.points),
        rows=FleetLoad.objects.all(),
        column="bucket",
    )

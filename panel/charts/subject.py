"""What charts are of: a volume, a host, or the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Final

import numpy as np
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from jobs.models import Job, Kind
from panel.charts import definitions, disk_panels
from panel.charts.time_range import KnownSince, SampledEvery, Span, part
from storage.access import Person, is_staff
from storage.analysis.disk_activity import (
    DiskCourse,
    array_members,
    busy_courses,
    disk_course,
    fleet_courses,
    own_course,
)
from storage.analysis.disk_users import DiskMap, disk_map
from storage.metrics.load_series import (
    BUCKET_SECONDS,
    LOAD_UNITS,
    fine_fleet_series,
    fine_host_series,
    fine_time,
    fleet_series,
    host_series,
    known_since,
)
from storage.metrics.samples.aggregate import Column, nearest
from storage.metrics.samples.chunk_store import FLEET, HOSTS
from storage.metrics.samples.window import CLOSE_SECONDS, sampled_every
from storage.metrics.series import (
    INSIDE_UNITS,
    LEG_UNITS,
    LONGEST_LEGS,
    UNITS,
    Series,
    overlay_series,
    series,
    with_legs,
)
from storage.models import Host, Placement, Volume
from storage.models.host import SLOW_READ_MS
from storage.planner.technologies.lookup import of_layout
from storage.stored_inventory import inventory_of
from storage.volumes.ownership import owned_since
from storage.volumes.slow_limit import SlowLimits, slow_limit_ms

FLEET_UNITS: Final = {
    "in_flight": "I/Os",
    **{line.name: "ratio" for line in definitions.SATURATION.lines},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSubject:
    """As far as one person may see it.

    `name` is that of its CSV file; `names` are the series that the person gets; `plain`: in the
    words of customers; `of_many`: of many volumes together, else of the `volume`. `measure` gives
    its figures of a time, in buckets of at least `least_seconds` and of its samples, which it has
    `every` so many seconds; `nearest` says when the last figure before a time was taken; without
    one, the first after it. `added` puts figures to them that cost more, for who draws or lists
    them, and `apart` those of the panels that are so; `labels` names lines whose subject depends on
    the time. `who_url` answers which volumes caused it at a moment. `disks` can have charts of
    their own; `disk` is the one that has. Before `known_since` there was nothing to measure.
    """

    name: str
    names: Sequence[str]
    panels: tuple[definitions.ChartPanel, ...]
    series_url: str
    csv_url: str
    marks_url: str
    volume: Volume | None = None
    plain: bool = False
    is_retired: bool = False
    of_many: bool = False
    least_seconds: int = 0
    fine: timedelta = timedelta(0)
    every: SampledEvery | None = None
    known_since: KnownSince
    measure: Callable[[Span], Series]
    nearest: Callable[[datetime, datetime], datetime | None]
    added: Callable[[Span, Series], Series] = lambda _span, measured: measured
    apart: Callable[[Series], Series] = lambda measured: measured
    labels: Callable[[Span], Mapping[str, str]] = lambda _span: {}
    who_url: str = ""
    disks: Sequence[str] = ()
    disk: str = ""

    def point_seconds(self, span: Span) -> int:
        """How often there is a new point in charts of the span."""
        usual: int = settings.TIERCEL_SAMPLE_SECONDS
        until = None if self.volume is None else self.volume.watched_until
        if until is not None and until > timezone.now():
            return min(usual, CLOSE_SECONDS)
        return max(usual, self.least_seconds) if span.step >= self.least_seconds else usual

    def part(self, key: str, start: datetime, end: datetime) -> Span:
        """The span from `start` to `end`, in its buckets."""
        return part(key, start, end, self.least_seconds, self.fine, self.every)

    def words_of(self, job: Job) -> str:
        """What a change of the volume is called."""
        return change_words(job) if self.plain else job.get_kind_display()


def change_words(job: Job) -> str:
    """A job in a customer's words."""
    if job.cache_plan is not None:
        return gettext("Plan: {plan}").format(plan=job.cache_plan.name)
    return gettext("No cache") if job.kind == Kind.REMOVE_CACHE else gettext("Your former cache")


def _own_panels(volume: Volume, *, plain: bool) -> Iterator[definitions.ChartPanel]:
    """The panels with what the volume's technology counts."""
    technology = of_layout(volume.layout)
    for panel in definitions.panels(plain=plain):
        if panel == definitions.CHURN and not technology.counts_promotions:
            yield definitions.SSD_WRITES
        elif panel != definitions.LATENCIES or technology.has_latency_histogram:
            yield panel


def of_volume(volume: Volume, person: Person, *, plain: bool | None = None) -> ChartSubject:
    """A volume that the person may see. `plain`: the default for everyone but staff; they get only
    the lines of their charts, and nothing from an earlier owner's time."""
    plain = not is_staff(person) if plain is None else plain
    since = owned_since(volume) if plain else None
    legs = disk_panels.leg_panels(
        are_open=not of_layout(volume.layout).has_latency_histogram,
        kept_days=settings.TIERCEL_SAMPLES_KEPT_DAYS,
        longest_days=LONGEST_LEGS.days,
    )
    return ChartSubject(
        name=f"volume-{volume.key}",
        names=definitions.names(plain=True) if plain else (*UNITS, *INSIDE_UNITS, *LEG_UNITS),
        panels=(
            *definitions.limited(_own_panels(volume, plain=plain), _slow_read_ms(volume)),
            *(() if plain else (*legs, definitions.INSIDE, definitions.RARE)),
        ),
        series_url=reverse("volume-series", args=[volume.key]),
        csv_url=reverse("volume-csv", args=[volume.key]),
        marks_url=reverse("volume-marks", args=[volume.key]),
        volume=volume,
        plain=plain,
        is_retired=volume.retired_at is not None,
        known_since=lambda: volume.created_at,
        every=partial(sampled_every, volume.pk),
        measure=lambda span: series(
            volume, span.start, span.end, step=span.step, since=since, inside=not plain
        ),
        apart=partial(with_legs, volume) if not plain else lambda measured: measured,
        nearest=partial(nearest, volume.pk, since=since),
    )


def _slow_read_ms(volume: Volume) -> int:
    """From where on its reads are slow."""
    there = Placement.objects.filter(volume=volume, until=None)
    limit = slow_limit_ms("volume__cache_plan", "host")
    return there.values_list(limit, flat=True).first() or SLOW_READ_MS


def of_host(host: Host, disk: str = "") -> ChartSubject:
    """All volumes of a host together, its disks, and for the one named `disk`, by default the first
    slow one, what it did and which volumes use it, or the array that it is a member of. For
    staff."""
    facts = inventory_of(host)
    there = disk_map(facts) if facts is not None else DiskMap({}, {})
    members = array_members(facts, there.names) if facts is not None else {}
    whole_by_disk = {
        part: whole for whole in there.names for part in (whole, *members.get(whole, ()))
    }
    shown = disk if disk in whole_by_disk else next(iter(there.names), "")
    used = whole_by_disk.get(shown, "")
    busy = [*there.names, *(() if shown == used else (shown,))]
    of_disks = (
        disk_panels.disk_panels(
            [(name, there.tiers[whole_by_disk[name]]) for name in busy], used, shown
        )
        if shown
        else ()
    )
    first, *others = definitions.load_panels()
    units = disk_panels.units_of(of_disks)

    @cache
    def course(start: datetime, end: datetime, step: int) -> DiskCourse | None:
        return disk_course(host, facts, start, end, step, used) if facts and used else None

    def added(span: Span, measured: Series) -> Series:
        users = course(span.start, span.end, span.step)
        if facts is None or users is None:
            return measured
        columns: dict[str, Sequence[float | None] | Column] = {
            disk_panels.busy_name(name): busy
            for name, busy in busy_courses(host, facts, span.start, span.end, span.step).items()
        }
        columns |= {disk_panels.user_name(n): each for n, (_, each) in enumerate(users.top)}
        columns |= {disk_panels.OTHERS: users.others, disk_panels.UNEXPLAINED: users.unexplained}
        own = own_course(host, shown, span.start, span.end, span.step)
        columns |= {disk_panels.own_name(name): figures for name, figures in own.items()}
        return overlay_series(measured, columns, units)

    def measured(span: Span) -> Series:
        if span.step < BUCKET_SECONDS:
            return fine_host_series(host, span.start, span.end, span.step)
        return host_series(host, span.start, span.end, span.points)

    def labels(span: Span) -> dict[str, str]:
        users = course(span.start, span.end, span.step)
        top = users.top if users is not None else ()
        return {disk_panels.user_name(n): str(volume) for n, (volume, _) in enumerate(top)}

    return ChartSubject(
        name=f"host-{host.name}",
        names=(*LOAD_UNITS, *units),
        panels=definitions.limited(
            (first, *of_disks, *others),
            SlowLimits().of(None, host.slow_read_ms, host.tags).ms,
            host.busy_percent,
        ),
        series_url=reverse("host-series", args=[host.key]),
        csv_url=reverse("host-csv", args=[host.key]),
        marks_url=reverse("host-marks", args=[host.key]),
        who_url=reverse("host-who", args=[host.key]) if shown else "",
        disks=tuple(whole_by_disk),
        disk=shown,
        of_many=True,
        least_seconds=BUCKET_SECONDS,
        fine=fine_time(host),
        known_since=partial(known_since, host),
        measure=measured,
        added=added,
        labels=labels,
        nearest=partial(nearest, host.pk, kind=HOSTS),
    )


def _fleet_added(span: Span, measured: Series) -> Series:
    """With how many reads and writes waited at once, which is their rate by how long each took;
    and with how busy the disks were."""
    columns = measured.columns
    reads, writes = (
        np.nan_to_num(columns[f"{what}_iops"] * columns[f"{what}_ms"]) for what in ("read", "write")
    )
    waiting = np.where(np.isnan(columns["read_iops"]), np.nan, (reads + writes) / 1000)
    slow, fast = fleet_courses(span.start, span.end, span.step)
    busy = {
        "hdd_busy": slow.average,
        "hdd_busy_most": slow.most,
        "ssd_busy": fast.average,
        "ssd_busy_most": fast.most,
    }
    return overlay_series(measured, {"in_flight": waiting, **busy}, FLEET_UNITS)


def of_fleet() -> ChartSubject:
    """All hosts together. For staff."""
    first, *others = definitions.load_panels(space_title="SSD space (reachable hosts)")

    def measured(span: Span) -> Series:
        if span.step < BUCKET_SECONDS:
            return fine_fleet_series(span.start, span.end, span.step)
        return fleet_series(span.start, span.end, span.points)

    return ChartSubject(
        name="fleet",
        names=(*LOAD_UNITS, *FLEET_UNITS),
        panels=definitions.limited((first, definitions.WAITS, definitions.SATURATION, *others)),
        added=_fleet_added,
        series_url=reverse("fleet-series"),
        csv_url=reverse("fleet-csv"),
        marks_url=reverse("fleet-marks"),
        of_many=True,
        least_seconds=BUCKET_SECONDS,
        fine=fine_time(),
        known_since=known_since,
        measure=measured,
        nearest=partial(nearest, 0, kind=FLEET),
    )

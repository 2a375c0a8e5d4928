"""The list of volumes. It only reads; actions on volumes are named by their URL names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.charts.sparkline import Spark, spark
from panel.staff.volumes.filters import SLOW_MS, SORTS, VolumeFilter
from panel.templatetags.chips import Chip
from storage.access import staff_view
from storage.bulk_changes import ACTIONS
from storage.formatting import iops
from storage.health.host_problems import silent_seconds
from storage.metrics import samples
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples import Latest
from storage.metrics.samples.iops_history import iops_courses
from storage.models import Host, Placement, Volume

PAGE_ROWS = 50
COLUMNS = (
    ("volume", "Volume", ""),
    ("customer", "Customer", ""),
    ("host", "Host", ""),
    ("size", "Size", "num"),
    ("cache", "Cache", ""),
    ("ratio", "Share", "num"),
    ("hits", "Read hit rate", "num"),
    ("iops", "IOPS", "num"),
    ("latency", "Read time", "num"),
    ("dirty", "Dirty", "num"),
)
TITLES = {
    "ratio": "Size of the cache as a share of the volume",
    "hits": "Reads served by the cache in the last minute",
    "latency": "Average time of a read",
    "dirty": "Data that exists only in the cache",
}
COURSE_STEP: Final = timedelta(minutes=5)
COURSE_STEPS: Final = 36
"""Three hours."""


@staff_view()
@require_safe
def volumes(request: HttpRequest) -> HttpResponse:
    """Volumes with their latest figures; the address says which ones and in which order
    (`panel.staff.volumes.filters.VolumeFilter`)."""
    now = timezone.now()
    filters = VolumeFilter(request.GET.dict(), request.user)
    page = Paginator(filters.found(now), PAGE_ROWS).get_page(request.GET.get("page"))
    rows = listed(page.object_list, now)
    context = {
        "filters": filters,
        "page": page,
        "rows": rows,
        "columns": _columns(filters),
        "actions": ACTIONS,
        "is_empty": not rows
        and not filters.is_narrow
        and not Volume.objects.visible_to(request.user).exists(),
        "link": request.build_absolute_uri(),
    }
    return render(request, "staff/volumes/volumes.html", context)


def _columns(filters: VolumeFilter) -> list[dict[str, str]]:
    """The head of the table: each column with the order that a click on it asks for."""
    name_now, is_descending = filters.order
    columns = []
    for name, title, css_class in COLUMNS:
        is_first_descending = SORTS[name][1]
        wants_descending = not is_descending if name == name_now else is_first_descending
        columns.append(
            {
                "name": name,
                "title": title,
                "help": TITLES.get(name, ""),
                "class": css_class,
                "sort": f"-{name}" if wants_descending else name,
                "aria": ("descending" if is_descending else "ascending")
                if name == name_now
                else "",
            }
        )
    return columns


@dataclass(frozen=True, slots=True)
class Listed:
    """One row; `chips` say what is unusual about the volume, none for a healthy one in use."""

    volume: Volume
    placement: Placement | None
    latest: Latest | None
    spark: Spark
    chips: tuple[Chip, ...]

    @property
    def host(self) -> Host | None:
        return self.placement.host if self.placement is not None else None

    @property
    def is_stale(self) -> bool:
        return self.latest is None or self.latest.age_seconds > silent_seconds()

    @property
    def iops(self) -> float | None:
        """Reads and writes a second."""
        if self.latest is None or self.latest.read_iops is None or self.latest.write_iops is None:
            return None
        return self.latest.read_iops + self.latest.write_iops

    @property
    def is_slow(self) -> bool:
        return self.latest is not None and not self.is_stale and _is_slow(self.latest)

    @property
    def dirty_bytes(self) -> int | None:
        """None without a cache, or where the host did not say."""
        return self.latest.dirty_bytes if self.latest is not None else None


def listed(volumes: Iterable[Volume], now: datetime) -> list[Listed]:
    """The rows in the order of `volumes`, by one query each for places, figures and courses."""
    volumes = list(volumes)
    places = {
        placement.volume_id: placement
        for placement in Placement.objects.filter(volume__in=volumes, until=None)
        .select_related("host")
        .defer("host__facts", "host__hello", "host__problems")
    }
    figures = samples.latest_of(volumes)
    courses = iops_courses(
        [volume.pk for volume in volumes], now, count=COURSE_STEPS, step=COURSE_STEP
    )
    return [
        Listed(
            volume,
            places.get(volume.pk),
            figures.get(volume.pk),
            spark(courses[volume.pk], say=lambda value: f"{iops(value)} IOPS"),
            chips_of(volume, places.get(volume.pk), figures.get(volume.pk)),
        )
        for volume in volumes
    ]


def chips_of(
    volume: Volume, placement: Placement | None, latest: Latest | None
) -> tuple[Chip, ...]:
    """What is unusual, the worst first."""
    if volume.destroyed_at is not None:
        return (Chip("quiet", "info", "destroyed"),)
    if volume.retired_at is not None:
        return (Chip("quiet", "info", "retired, can be restored"),)
    if placement is None:
        return (Chip("warning", "warning", "not on any host"),)
    if placement.lv_uuid is None:
        return (Chip("quiet", "wait", "not created yet"),)
    chips = []
    if placement.missing_since is not None:
        chips.append(Chip("error", "error", "missing on the host"))
    if placement.cache_trouble:
        chips.append(Chip("error", "error", "cache problem"))
    if latest is None:
        chips.append(Chip("quiet", "wait", "no data yet"))
    elif latest.age_seconds > silent_seconds():
        chips.append(Chip("warning", "wait", "old data"))
    elif _is_slow(latest):
        chips.append(Chip("warning", "warning", f"slow: over {SLOW_MS} ms per read"))
    if not volume.managed and volume.adopted_at is None:
        chips.append(Chip("quiet", "info", "not adopted"))
    return tuple(chips)


def _is_slow(latest: Latest) -> bool:
    reads = (latest.read_iops or 0) * latest.seconds
    return reads >= MIN_ACCESSES and latest.read_ms is not None and latest.read_ms >= SLOW_MS

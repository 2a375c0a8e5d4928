"""The list of volumes. It only reads; actions on volumes are named by their URL names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.charts.sparkline import Spark, spark
from panel.lists.listing import RIGHT, ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.staff.volumes.filters import IOPS, NOW, VolumeFilter, ratio_of
from panel.staff.volumes.list_rows import row_html
from panel.templatetags.chips import Chip
from storage.access import Right, may, staff_view
from storage.bulk_changes import ACTIONS, MOST
from storage.formatting import iops, share, size
from storage.metrics import samples
from storage.metrics.samples import Latest
from storage.metrics.samples.window import iops_courses
from storage.models import Host, Placement, Volume
from storage.models.host import silent_seconds
from storage.volumes.slow_volumes import slow_times

LISTING: Final = ListDefinition(
    name="volumes",
    first="volume",
    ties=("label_order", "pk"),
    columns=(
        ListColumn("volume", "Volume", F("label_order")),
        ListColumn("customer", "Customer", F("customer__name_order")),
        ListColumn("host", "Host", F("place__host__name_order")),
        ListColumn("size", "Size", F("size_bytes"), True, RIGHT),
        ListColumn("cache", "Cache", F("place__cache_bytes"), True),
        ListColumn(
            "ratio",
            "Share",
            ratio_of("place__cache_bytes", "size_bytes"),
            True,
            RIGHT,
            "Size of the cache as a share of the volume",
        ),
        ListColumn(
            "hits",
            "Hit rate",
            F("hit_rate"),
            False,
            RIGHT,
            "Reads served by the cache in the last minute",
        ),
        ListColumn("iops", "IOPS", IOPS, True, RIGHT, "Reads and writes a second"),
        ListColumn(
            "latency",
            "Read latency",
            ratio_of(f"{NOW}read_ms", f"{NOW}reads"),
            True,
            RIGHT,
            "Average time of a read",
        ),
        ListColumn(
            "dirty",
            "Dirty",
            F(f"{NOW}dirty_bytes"),
            True,
            RIGHT,
            "Data that exists only in the cache",
        ),
    ),
    cells=(
        ("key", lambda row: row.volume.key),
        ("volume", lambda row: row.volume.label),
        ("external_id", lambda row: row.volume.external_id),
        ("guest", lambda row: row.volume.guest),
        ("customer", lambda row: row.volume.customer.name if row.volume.customer else ""),
        ("host", lambda row: row.host.name if row.host else ""),
        ("size_bytes", lambda row: row.volume.size_bytes),
        ("cache", lambda row: row.placement.cache_technology if row.placement else ""),
        ("cache_mode", lambda row: row.placement.cache_mode if row.placement else ""),
        ("cache_bytes", lambda row: row.placement.cache_bytes if row.placement else None),
        ("hit_rate", lambda row: row.latest.hit_rate if row.latest else None),
        ("iops", lambda row: row.iops),
        ("read_ms", lambda row: row.latest.read_ms if row.latest else None),
        ("dirty_bytes", lambda row: row.dirty_bytes),
        ("sampled_at", lambda row: row.latest.at if row.latest else None),
        ("state", lambda row: ", ".join(chip.text for chip in row.chips)),
    ),
)
SHOWN: Final = (
    "key", "label", "guest", "external_id", "size_bytes", "managed", "cache_plan", "adopted_at",
    "retired_at", "destroyed_at", "customer__key", "customer__name",
)  # fmt: skip
SHOWN_PLACE: Final = (
    "volume", "lv_uuid", "missing_since", "cache_technology", "cache_mode", "cache_bytes",
    "cache_trouble", "host__key", "host__name", "host__slow_read_ms", "host__tags",
)  # fmt: skip
"""What a row says of a volume, and of where it lies."""
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
    matching = filters.found(now)
    if wants_csv(request):
        return csv_of(
            request, LISTING, matching, lambda some: volume_rows(some, now, with_course=False)
        )
    # Every volume is put in order, and a page's alone are read: what a row has besides its order
    # costs more than the order.
    page = list_page(request, LISTING, matching.values_list("pk", flat=True))
    rows = volume_rows(_in_order_of(page.page.object_list), now)
    can_choose = may(request.user, Right.OPERATE)
    context = {
        "filters": filters,
        "list": page,
        "page": page.page,
        "rows": rows,
        "lines": [row_html(row, can_choose=can_choose) for row in rows],
        "actions": ACTIONS,
        "most": MOST,
        "is_empty": not rows
        and not filters.is_narrow
        and not Volume.objects.visible_to(request.user).exists(),
    }
    return render(request, "staff/volumes/volumes.html", context)


def _in_order_of(keys: Iterable[int]) -> list[Volume]:
    """The volumes of these primary keys, in their order."""
    keys = list(keys)
    by_key = Volume.objects.select_related("customer").only(*SHOWN).in_bulk(keys)
    return [by_key[key] for key in keys if key in by_key]


@dataclass(frozen=True, slots=True)
class Listed:
    """One row; `chips` say what is unusual about the volume, none for a healthy one in use. What
    its template would ask one by one is made here, because a page has hundreds of rows."""

    volume: Volume
    placement: Placement | None
    latest: Latest | None
    spark: Spark
    chips: tuple[Chip, ...]
    is_slow: bool

    @property
    def host(self) -> Host | None:
        return self.placement.host if self.placement is not None else None

    @property
    def is_stale(self) -> bool:
        return self.latest is None or is_old(self.latest)

    @property
    def iops(self) -> float | None:
        """Reads and writes a second."""
        if self.latest is None or self.latest.read_iops is None or self.latest.write_iops is None:
            return None
        return self.latest.read_iops + self.latest.write_iops

    @property
    def dirty_bytes(self) -> int | None:
        """None without a cache, or where the host did not say."""
        return self.latest.dirty_bytes if self.latest is not None else None

    @property
    def marks(self) -> str:
        """The classes of the row: which of its figures are old or slow, and which cells a small
        screen leaves out."""
        is_cached = self.placement is not None and self.placement.cache_technology
        age = "row-old" if self.is_stale else "row-slow" if self.is_slow else ""
        return " ".join(filter(None, (age, "" if is_cached else "is-uncached")))

    @property
    def cache(self) -> str:
        """What it is and how large; "" without one."""
        place = self.placement
        if place is None or not place.cache_technology:
            return ""
        return f"{place.cache_technology} {size(place.cache_bytes)}"

    @property
    def cache_share(self) -> str:
        """Of the volume."""
        cache_bytes = self.placement.cache_bytes if self.placement is not None else None
        if cache_bytes is not None and cache_bytes > self.volume.size_bytes:
            return "whole"
        return share(cache_bytes, self.volume.size_bytes)

    @property
    def iops_words(self) -> str:
        """Reads and writes apart."""
        latest = self.latest
        reads, writes = (latest.read_iops, latest.write_iops) if latest else (None, None)
        return f"{iops(reads)} read, {iops(writes)} write"

    @property
    def url(self) -> str:
        return _page_of("volume", self.volume.key)

    @property
    def host_url(self) -> str:
        return _page_of("host", self.host.key) if self.host is not None else ""

    @property
    def customer_url(self) -> str:
        customer = self.volume.customer
        return _page_of("customer", customer.key) if customer is not None else ""


@lru_cache(4096)
def _page_of(name: str, key: str) -> str:
    return reverse(name, args=[key])


def volume_rows(
    volumes: Iterable[Volume], now: datetime, *, with_course: bool = True
) -> list[Listed]:
    """The rows in the order of `volumes`, by one query each for places, figures and courses."""
    volumes = list(volumes)
    places = {
        placement.volume_id: placement
        for placement in Placement.objects.filter(volume__in=volumes, until=None)
        .select_related("host")
        .only(*SHOWN_PLACE)
    }
    figures = samples.latest_of(volumes)
    drawn = [volume.pk for volume in volumes] if with_course else []
    courses = iops_courses(drawn, now, count=COURSE_STEPS, step=COURSE_STEP) if drawn else {}
    slow = slow_times(volume.pk for volume in volumes)
    rows = []
    for volume in volumes:
        place, latest = places.get(volume.pk), figures.get(volume.pk)
        is_slow = volume.pk in slow and latest is not None and not is_old(latest)
        course = spark(courses.get(volume.pk, ()), say=lambda value: f"{iops(value)} IOPS")
        chips = chips_of(volume, place, latest, is_slow=is_slow)
        rows.append(Listed(volume, place, latest, course, chips, is_slow))
    return rows


def chips_of(
    volume: Volume, placement: Placement | None, latest: Latest | None, *, is_slow: bool
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
    elif is_old(latest):
        chips.append(Chip("warning", "wait", "old data"))
    elif is_slow:
        chips.append(Chip("warning", "warning", "slow"))
    if not volume.managed and volume.adopted_at is None:
        chips.append(Chip("quiet", "info", "not adopted"))
    return tuple(chips)


def is_old(latest: Latest) -> bool:
    """Whether there should have been a newer sample."""
    return latest.age_seconds > silent_seconds()

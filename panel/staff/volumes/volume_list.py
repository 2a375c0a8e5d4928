"""A volume as the list shows it: its place, its last figures, their course, and what is to be said
of its state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from panel.charts.sparkline import Spark, spark
from panel.staff.volumes.filters import SLOW_MS
from storage.formatting import iops
from storage.health.host_problems import silent_seconds
from storage.metrics import samples
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples import Latest
from storage.metrics.samples.iops_history import iops_courses
from storage.models import Host, Placement, Volume

COURSE_STEP: Final = timedelta(minutes=5)
COURSE_STEPS: Final = 36
"""Three hours."""


@dataclass(frozen=True, slots=True)
class Chip:
    """As `parts/chip.html` takes it."""

    tone: Literal["ok", "warning", "error", "quiet"]
    icon: str
    text: str


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
    found = []
    if placement.missing_since is not None:
        found.append(Chip("error", "error", "missing on the host"))
    if placement.cache_trouble:
        found.append(Chip("error", "error", "cache problem"))
    if latest is None:
        found.append(Chip("quiet", "wait", "no data yet"))
    elif latest.age_seconds > silent_seconds():
        found.append(Chip("warning", "wait", "old data"))
    elif _is_slow(latest):
        found.append(Chip("warning", "warning", f"slow: over {SLOW_MS} ms per read"))
    if not volume.managed and volume.adopted_at is None:
        found.append(Chip("quiet", "info", "not adopted"))
    return tuple(found)


def _is_slow(latest: Latest) -> bool:
    reads = (latest.read_iops or 0) * latest.seconds
    return reads >= MIN_ACCESSES and latest.read_ms is not None and latest.read_ms >= SLOW_MS

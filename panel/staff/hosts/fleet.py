"""All hosts at once, from their summary rows and never from an inventory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Sum

from panel.charts.sparkline import Spark, spark
from storage.access import Person
from storage.discovery.host_summary import FIELDS as OUTLINE_FIELDS
from storage.formatting import percent
from storage.health.host_problems import (
    HostProblem,
    is_silent,
    owes_figures,
    problems_of,
    silent_seconds,
    unsampled_since,
)
from storage.health.inventory_findings import InventoryFinding
from storage.health.missing_volumes import MissingVolumes, missing_volumes_of
from storage.metrics.rates import Figures, Sums, figures, read_hit_rate
from storage.metrics.samples.host_load import (
    HostNow,
    bucket_of,
    courses,
    due_since,
    fleet_sums,
    hosts_now,
)
from storage.metrics.samples.load_rollup import BUCKET
from storage.models import Host, HostOutline, LatestSample, Volume
from storage.models.host import HostState
from storage.planner.wish import Wish
from storage.volumes.ssd_capacity import left_bytes

FIELDS: Final = (
    *("key", "name", "address", "state", "problems", "error", "last_seen_at", "created_at"),
    "maintenance_since",
    *(f"outline__{name}" for name in OUTLINE_FIELDS),
)
"""What the pages over all hosts look at: never the inventory."""
COURSE_BUCKETS: Final = 24
"""Two hours of a sparkline."""
HOUR: Final = timedelta(hours=1)
BACK: Final = ((timedelta(days=7), "a week ago"), (timedelta(days=1), "yesterday"))
"""What the last hour is compared with: the first of them with enough accesses."""


@dataclass(frozen=True, slots=True)
class HostSummaryRow:
    """One host: what its last inventory came to and what its volumes do now; None before either.
    `problems` are those of its state and contact and those that its agent told, `findings` those
    that its last inventory showed."""

    host: Host
    outline: HostOutline | None
    now: HostNow | None
    problems: tuple[HostProblem, ...]
    findings: tuple[InventoryFinding, ...]
    is_silent: bool
    is_stale: bool

    @property
    def is_up(self) -> bool:
        return self.host.state == HostState.ACTIVE and not self.is_silent and not self.host.error


def lines_of(user: Person, at: datetime) -> tuple[HostSummaryRow, ...]:
    """Every host by name. Four queries at most, whatever their number."""
    hosts = list(Host.objects.visible_to(user).select_related("outline").only(*FIELDS))
    drifts, figures_by_host = missing_volumes_of(hosts), hosts_now()
    due = due_since(
        host for host in hosts if owes_figures(host, at, _sampled_at(figures_by_host, host))
    )
    return tuple(
        _line(host, figures_by_host.get(host.pk), drifts.get(host.pk), due.get(host.pk), at)
        for host in hosts
    )


def _sampled_at(figures_by_host: Mapping[int, HostNow], host: Host) -> datetime | None:
    host_figures = figures_by_host.get(host.pk)
    return host_figures.at if host_figures is not None else None


def _line(
    host: Host,
    now: HostNow | None,
    drift: MissingVolumes | None,
    due: datetime | None,
    at: datetime,
) -> HostSummaryRow:
    unsampled = unsampled_since(host, at, due, now.at if now is not None else None)
    outline: HostOutline | None = getattr(host, "outline", None)
    findings = outline.findings if outline is not None else ()
    return HostSummaryRow(
        host=host,
        outline=outline,
        now=now,
        problems=problems_of(host, at, drift, unsampled),
        findings=tuple(InventoryFinding.from_json(each) for each in findings),
        is_silent=is_silent(host, at),
        is_stale=now is not None and (at - now.at).total_seconds() > silent_seconds(),
    )


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes of the whole fleet. `sold_bytes` lies in caches that customers pay for, `other_bytes`
    is used otherwise, `reserved_bytes` is promised to jobs that have not taken it yet. Of
    `old_count` hosts, which do not answer, it is what they last said."""

    fast_total_bytes: int
    sold_bytes: int
    other_bytes: int
    reserved_bytes: int
    fast_free_bytes: int
    slow_total_bytes: int
    slow_free_bytes: int
    old_count: int

    @property
    def used_bytes(self) -> int:
        return self.sold_bytes + self.other_bytes

    @property
    def slow_used_bytes(self) -> int:
        return self.slow_total_bytes - self.slow_free_bytes


def space_of(lines: Iterable[HostSummaryRow], sold_bytes: int, reserved_bytes: int) -> Space:
    """The sum over the hosts that have said what they are."""
    known_hosts = [line for line in lines if line.outline is not None]
    known = [line.outline for line in known_hosts if line.outline is not None]
    total = sum(each.fast_total_bytes for each in known)
    unused = sum(each.fast_free_bytes for each in known)
    sold = min(sold_bytes, total - unused)
    return Space(
        fast_total_bytes=total,
        sold_bytes=sold,
        other_bytes=total - unused - sold,
        reserved_bytes=reserved_bytes,
        fast_free_bytes=max(0, unused - reserved_bytes),
        slow_total_bytes=sum(each.slow_total_bytes for each in known),
        slow_free_bytes=sum(each.slow_free_bytes for each in known),
        old_count=sum(not line.is_up for line in known_hosts),
    )


def sold_bytes() -> int:
    """The caches, as last sampled, of the volumes whose customers pay for one. One query."""
    paid = Volume.objects.in_service().filter(cache_plan__isnull=False)
    sums = LatestSample.objects.filter(volume__in=paid).aggregate(total=Sum("cache_size_bytes"))
    return sums["total"] or 0


@dataclass(frozen=True, slots=True)
class RecordedVolume:
    """What the books say of a volume: its LV's name ("" until it is made), its size and that of
    its cache, None without one."""

    lv_name: str
    size_bytes: int
    cache_bytes: int | None


def promised_bytes(wish: Wish, volume: RecordedVolume, outline: HostOutline | None) -> int:
    """SSD space that a job with this wish will still take, by the rule of
    `storage.volumes.ssd_capacity`, but without an inventory: without what LVM adds in metadata and
    whole extents."""
    existing = outline.cache_names if outline is not None else ()
    cache = wish.cache
    return left_bytes(
        wish,
        volume_bytes=wish.size_bytes,
        fast_bytes=volume.size_bytes if volume.lv_name in existing else 0,
        cache_bytes=cache.size_bytes if cache is not None else 0,
        has_cache=cache is not None and cache.name in existing,
        old_bytes=volume.cache_bytes,
        free_bytes=outline.fast_free_bytes if outline is not None else 0,
    )


@dataclass(frozen=True, slots=True)
class HitRate:
    """Of all reads of cached volumes in the last hour, and in the same hour `back` ("yesterday");
    None where too few reads say nothing."""

    now: float | None
    accesses: int
    before: float | None
    back: str

    @property
    def change(self) -> float | None:
        """In points of a hundred, as a ratio is shown."""
        if self.now is None or self.before is None:
            return None
        return (self.now - self.before) * 100

    @property
    def note(self) -> str:
        """What it was before, or why it is not known."""
        if self.now is None:
            return "too few reads of cached volumes"
        if self.before is None:
            return ""
        return f"{percent(self.before) if self.before else '0 %'} at this hour {self.back}"


def hit_rate(at: datetime) -> HitRate:
    """Of the whole fleet. One query."""
    stop = bucket_of(at) + BUCKET
    spans = [(stop - back - HOUR, stop - back) for back in (timedelta(), *(b for b, _ in BACK))]
    current, *earlier = (figures(sums) for sums in fleet_sums(spans))
    for figure, (_, words) in zip(earlier, BACK, strict=True):
        if figure.hit_rate is not None:
            return HitRate(current.hit_rate, current.accesses, figure.hit_rate, words)
    return HitRate(current.hit_rate, current.accesses, None, "")


@dataclass(frozen=True, slots=True)
class Course:
    """A host's hit rate: of the last quarter of an hour, and its line over two hours."""

    recent: Figures
    line: Spark


def courses_of(lines: Sequence[HostSummaryRow], at: datetime) -> Mapping[int, Course]:
    """By primary key of the host. One query."""
    buckets_by_host = courses([line.host.pk for line in lines], bucket_of(at), COURSE_BUCKETS)
    return {host_id: _course(buckets) for host_id, buckets in buckets_by_host.items()}


def _course(buckets: Sequence[Sums | None]) -> Course:
    rates = [read_hit_rate(sums) if sums is not None else None for sums in buckets]
    recent = sum((sums for sums in buckets[-3:] if sums is not None), Sums())
    return Course(figures(recent), spark(rates, top=1.0, say=percent))

"""The whole fleet in figures, from rows that are written when hosts report and are sampled: never
from an inventory or from samples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from django.db import connection
from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Coalesce

from storage.access import Person
from storage.formatting import percent
from storage.health.shortage import FIELDS as SHORTAGE_FIELDS
from storage.metrics.load_series import fleet_series
from storage.metrics.rates import figures
from storage.metrics.samples.host_load import bucket_of, fleet_sums
from storage.metrics.samples.load_rollup import BUCKET
from storage.models import Host, HostOutline, Volume
from storage.models.host import HostState, silent_seconds
from storage.planner.wish import Wish
from storage.volumes.slow_volumes import slow_times
from storage.volumes.ssd_capacity import left_bytes

NEW: Final = (HostState.PENDING, HostState.UNVERIFIED)
RECENT: Final = timedelta(minutes=15)
HOUR: Final = timedelta(hours=1)
BACK: Final = ((timedelta(days=7), "a week ago"), (timedelta(days=1), "yesterday"))
"""What the last hour is compared with: the first of them with enough accesses."""


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes of the whole fleet. `sold_bytes` lies in caches that customers pay for, `other_bytes`
    is used otherwise, `reserved_bytes` of the free space is promised to jobs. For `old_count`
    hosts, which do not answer, it is their last report."""

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


@dataclass(frozen=True, slots=True)
class FleetState:
    """All hosts together. `new_count` are not accepted yet; `read_iops` and `write_iops` are those
    of the hosts whose figures are fresh. Where none are, these are the last of all hosts, and
    `last_at` is when the latest of them was sampled; else it is None. `dirty_bytes` lie on SSD
    alone."""

    host_count: int
    up_count: int
    new_count: int
    read_iops: float | None
    write_iops: float | None
    last_at: datetime | None
    dirty_bytes: int
    space: Space

    @property
    def down_count(self) -> int:
        """Hosts that should answer and do not, or not as the one that was accepted."""
        return self.host_count - self.up_count - self.new_count


def fleet_state(user: Person, at: datetime, reserved_bytes: int) -> FleetState:
    """One query over rows that are written when hosts report, whatever their number."""
    silent = at - timedelta(seconds=silent_seconds())
    up = Q(state=HostState.ACTIVE, error={}, last_seen_at__gte=silent)
    fresh = Q(activity__at__gte=silent)
    sums = Host.objects.visible_to(user).aggregate(
        host_count=Count("pk"),
        up_count=Count("pk", filter=up),
        new_count=Count("pk", filter=Q(state__in=NEW)),
        old_count=Count("pk", filter=Q(outline__isnull=False) & ~up),
        read_iops=Sum("activity__read_iops", filter=fresh),
        write_iops=Sum("activity__write_iops", filter=fresh),
        last_read_iops=Sum("activity__read_iops"),
        last_write_iops=Sum("activity__write_iops"),
        last_at=Max("activity__at"),
        dirty_bytes=Coalesce(Sum("activity__dirty_bytes"), 0),
        sold=Coalesce(Sum("activity__sold_bytes"), 0),
        **{
            name: Coalesce(Sum(f"outline__{name}"), 0)
            for names in SHORTAGE_FIELDS.values()
            for name in names
        },
    )
    total, unused = int(sums["fast_total_bytes"]), int(sums["fast_free_bytes"])
    sold = min(int(sums["sold"]), total - unused)
    is_fresh = sums["read_iops"] is not None
    last = "" if is_fresh else "last_"
    return FleetState(
        host_count=sums["host_count"],
        up_count=sums["up_count"],
        new_count=sums["new_count"],
        read_iops=sums[f"{last}read_iops"],
        write_iops=sums[f"{last}write_iops"],
        last_at=None if is_fresh else sums["last_at"],
        dirty_bytes=int(sums["dirty_bytes"]),
        space=Space(
            fast_total_bytes=total,
            sold_bytes=sold,
            other_bytes=total - unused - sold,
            reserved_bytes=reserved_bytes,
            fast_free_bytes=unused,
            slow_total_bytes=int(sums["slow_total_bytes"]),
            slow_free_bytes=int(sums["slow_free_bytes"]),
            old_count=sums["old_count"],
        ),
    )


TopColumn = Literal["top_iops", "top_read_ms"]


@dataclass(frozen=True, slots=True)
class TopVolume:
    """A volume of a top table with its figure; `share` is its part of the greatest."""

    key: str
    label: str
    host_key: str
    host_name: str
    figure: float
    share: float
    is_slow: bool


TOP: Final = """
SELECT host.key, host.name, (top->>0)::bigint, (top->>1)::float8
FROM storage_hostactivity activity JOIN storage_host host ON host.id = activity.host_id
CROSS JOIN LATERAL jsonb_array_elements(activity.{column}) top
WHERE activity.at >= %s ORDER BY 4 DESC, 3 LIMIT %s
"""
"""The first volumes of all hosts that are sampled, of the few that each host keeps."""


def top_volumes(user: Person, at: datetime, column: TopColumn, count: int) -> tuple[TopVolume, ...]:
    """Those with the most I/O, or the slowest reads, in the last round of their host; at most
    `TOP_VOLUMES` of one host. Three queries."""
    silent = at - timedelta(seconds=silent_seconds())
    with connection.cursor() as cursor:
        cursor.execute(TOP.format(column=column), [silent, count])
        rows = cursor.fetchall()
    volumes = Volume.objects.visible_to(user).existing().only("key", "label")
    by_id = volumes.in_bulk([volume_id for *_, volume_id, _ in rows])
    greatest, slow = max((figure for *_, figure in rows), default=0) or 1, slow_times(by_id)
    return tuple(
        TopVolume(
            by_id[volume_id].key,
            by_id[volume_id].label,
            host_key,
            name,
            figure,
            figure / greatest,
            volume_id in slow,
        )
        for host_key, name, volume_id, figure in rows
        if volume_id in by_id
    )


@dataclass(frozen=True, slots=True)
class FleetLatency:
    """Of the I/O of the last minutes, in milliseconds: the average of reads, and what 95 % and 99 %
    of reads and writes stay below; None where nothing was measured."""

    read_ms: float | None
    p95_ms: float | None
    p99_ms: float | None

    @property
    def is_known(self) -> bool:
        """Whether anything was measured."""
        return self != FleetLatency(None, None, None)


def latency(at: datetime) -> FleetLatency:
    """One query."""
    totals = fleet_series(at - RECENT, at, points=1).totals
    return FleetLatency(totals["read_ms"], totals["latency_p95_ms"], totals["latency_p99_ms"])


@dataclass(frozen=True, slots=True)
class RecordedVolume:
    """The record of a volume: its LV's name ("" until it is created), its size and that of its
    cache, None without one."""

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
    None where too few reads say nothing. `is_measured`: there are figures of the last hour."""

    is_measured: bool
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
            return "too few reads of cached volumes" if self.is_measured else "no figures yet"
        if self.before is None:
            return ""
        return f"{percent(self.before) if self.before else '0 %'} at this hour {self.back}"


def hit_rate(at: datetime) -> HitRate:
    """Of the whole fleet. One query."""
    stop = bucket_of(at) + BUCKET
    spans = [(stop - back - HOUR, stop - back) for back in (timedelta(), *(b for b, _ in BACK))]
    sums_of_now, *sums_of_then = fleet_sums(spans)
    current, earlier = figures(sums_of_now), map(figures, sums_of_then)
    is_measured = sums_of_now.intervals > 0
    for figure, (_, words) in zip(earlier, BACK, strict=True):
        if figure.hit_rate is not None:
            return HitRate(is_measured, current.hit_rate, current.accesses, figure.hit_rate, words)
    return HitRate(is_measured, current.hit_rate, current.accesses, None, "")

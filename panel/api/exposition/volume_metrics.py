"""Volumes and caches as metrics: what the kernel counted, as it counted it.

Counters begin anew when their host restarts, as those of any exporter. A volume without a fresh
sample has no counters here, so that Prometheus sees a gap and no flat line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from django.db import connection

from panel.api.exposition.metric_text import MetricFamily, head, labels_text, written
from storage.byte_sizes import SECTOR_BYTES
from storage.host_data import BadHostData
from storage.inventory.cache_counts import COLUMNS, CacheCounter, by_column
from storage.metrics.counters import (
    LATENCY_BOUNDS_NS,
    DiskCounters,
    VolumeCounters,
    decode_kept,
)
from storage.metrics.rates.cache_delta import CachedBy
from storage.models.host import silent_seconds
from storage.volumes.slow_limit import SlowLimits

MOST_SERIES: Final = 40
"""Of one volume, as docs/metrics.md says for the sizing of Prometheus."""
LEFT_OUT_MS: Final = (0.1, 200, 1000)
"""Latency bounds that are not exported: with them a volume would have more series."""
TECHNOLOGIES: Final = {
    CachedBy.NONE: "",
    CachedBy.DM_CACHE: "lvmcache",
    CachedBy.BCACHE: "bcache",
}
READ: Final = """
    SELECT volume.key, host.name, volume.label, coalesce(customer.key, ''), volume.external_id,
        volume.guest, volume.size_bytes, volume.managed, extract(epoch FROM latest.at)::float8,
        latest.at > now() - %s * interval '1 second', latest.counters::text, latest.technology,
        latest.cache_mode, latest.cache_state, latest.cache_size_bytes, latest.used_bytes,
        latest.dirty_bytes, latest.suspended, volume.cache_plan_id, host.slow_read_ms, host.tags
    FROM storage_volume AS volume
    JOIN storage_placement AS placement
        ON placement.volume_id = volume.id AND placement.until IS NULL
    JOIN storage_host AS host ON host.id = placement.host_id AND host.state = 'active'
    LEFT JOIN storage_customer AS customer ON customer.id = volume.customer_id
    LEFT JOIN storage_latestsample AS latest
        ON latest.volume_id = volume.id AND latest.host_id = host.id
    WHERE volume.previewed_at IS NULL AND volume.destroyed_at IS NULL
    ORDER BY volume.id
"""


@dataclass(slots=True)
class VolumeReading:
    """One volume as it was last read. `labels` is the text of those that each of its series has;
    `disk` is what the guest uses; `counts` are those of the cache by column, `slow` and `fast` the
    disks below it (`slow` of bcache is the backing device). Counters are missing or None where no
    fresh sample has them."""

    labels: str
    inner: str
    about: str
    size_bytes: int
    slow_from_ms: int
    at: float | None
    disk: DiskCounters | None = None
    counts: Mapping[str, int | None] = field(default_factory=dict)
    slow: DiskCounters | None = None
    fast: DiskCounters | None = None
    latency: tuple[int, ...] | None = None
    cache_about: str = ""
    cache_size_bytes: int | None = None
    used_bytes: int | None = None
    dirty_bytes: int | None = None
    suspended: bool = False


def read_volumes() -> list[VolumeReading]:
    """All volumes of active hosts, in one query beside those of limits."""
    with connection.cursor() as cursor:
        cursor.execute(READ, [silent_seconds()])
        limits = SlowLimits()
        return [_reading(StoredRow(*row), limits) for row in cursor.fetchall()]


class StoredRow(NamedTuple):
    """What `READ` selects of a volume, in its order."""

    key: str
    host: str
    label: str
    customer: str
    external_id: str
    guest: str
    size_bytes: int
    managed: bool
    at: float | None
    is_fresh: bool | None
    counters: str | None
    technology: int | None
    mode: str | None
    state: str | None
    cache_size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int | None
    suspended: bool | None
    plan_id: int | None
    host_slow_read_ms: int | None
    host_tags: list[str]


def _reading(stored: StoredRow, limits: SlowLimits) -> VolumeReading:
    own = {"volume": stored.key, "host": stored.host}
    about = {
        "label": stored.label,
        "customer": stored.customer,
        "external_id": stored.external_id,
        "guest": stored.guest,
        "managed": "true" if stored.managed else "false",
    }
    labels = labels_text(own)
    limit = limits.of(stored.plan_id, stored.host_slow_read_ms, stored.host_tags)
    row = VolumeReading(
        labels, labels[:-1], labels_text(own | about), stored.size_bytes, limit.ms, stored.at
    )
    is_known = stored.is_fresh and stored.counters is not None
    last = _decoded(stored.counters or "") if is_known else None
    if last is None:
        return row
    row.disk = last.bcache.disk if last.bcache is not None else last.disk
    row.suspended = bool(stored.suspended)
    if last.cache is not None and not last.cache.failed:
        row.counts = by_column(last.cache)
        row.slow, row.fast = last.cache.origin, last.cache.cdata
    elif stored.technology:
        row.counts, row.slow = by_column(last.bcache), last.disk
    if last.latency is not None:
        row.latency = last.latency.counts
    if stored.technology:
        made_of = {
            "technology": TECHNOLOGIES[CachedBy(stored.technology)],
            "mode": stored.mode or "",
        }
        row.cache_about = labels_text(own | made_of | {"state": stored.state or "ok"})
        row.cache_size_bytes = stored.cache_size_bytes
        row.used_bytes, row.dirty_bytes = stored.used_bytes, stored.dirty_bytes
    return row


def _decoded(counters: str) -> VolumeCounters | None:
    """None for what another version of the panel kept: the next sample replaces it."""
    try:
        return decode_kept(counters)
    except BadHostData:
        return None


Value = Callable[[VolumeReading], float | None]


def _family(
    name: str, kind: Literal["gauge", "counter"], text: str, value: Value
) -> tuple[MetricFamily, Value]:
    return MetricFamily(f"tiercel_{name}", kind, text), value


def _disk(
    name: str, text: str, value: Callable[[DiskCounters], float]
) -> tuple[MetricFamily, Value]:
    def of(row: VolumeReading) -> float | None:
        return value(row.disk) if row.disk is not None else None

    return _family(f"volume_{name}", "counter", text, of)


def _counted(column: str, counter: CacheCounter) -> tuple[MetricFamily, Value]:
    def of(row: VolumeReading) -> float | None:
        return row.counts.get(column)

    return _family(f"cache_{column}_total", "counter", counter.text, of)


def _leg(leg: str, done: Literal["read", "written"], text: str) -> tuple[MetricFamily, Value]:
    sectors = "read_sectors" if done == "read" else "write_sectors"

    def of(row: VolumeReading) -> float | None:
        disk = getattr(row, leg)
        return getattr(disk, sectors) * SECTOR_BYTES if disk is not None else None

    return _family(f"cache_{leg}_{done}_bytes_total", "counter", text, of)


VOLUME_FAMILIES: Final = (
    _family("volume_size_bytes", "gauge", "Size that the guest sees.", lambda row: row.size_bytes),
    _family(
        "volume_slow_read_limit_seconds",
        "gauge",
        "Average read time from which the volume is slow, also for pages and alerts.",
        lambda row: row.slow_from_ms / 1000,
    ),
    _family(
        "volume_sample_timestamp_seconds",
        "gauge",
        "When the volume was last sampled. Its counters are omitted while that is long ago.",
        lambda row: row.at,
    ),
    _family(
        "volume_suspended",
        "gauge",
        "1 while the I/O of the device is frozen.",
        lambda row: float(row.suspended) if row.disk is not None else None,
    ),
    _disk("reads_total", "Reads of the guest.", lambda disk: disk.reads),
    _disk("writes_total", "Writes of the guest.", lambda disk: disk.writes),
    _disk("read_bytes_total", "Bytes read.", lambda disk: disk.read_sectors * SECTOR_BYTES),
    _disk("written_bytes_total", "Bytes written.", lambda disk: disk.write_sectors * SECTOR_BYTES),
    _disk("read_seconds_total", "Time that all reads waited.", lambda disk: disk.read_ms / 1000),
    _disk("write_seconds_total", "Time that all writes waited.", lambda disk: disk.write_ms / 1000),
    _disk("busy_seconds_total", "Time with I/O in flight.", lambda disk: disk.busy_ms / 1000),
    _family("cache_size_bytes", "gauge", "Size of the cache.", lambda row: row.cache_size_bytes),
    _family("cache_used_bytes", "gauge", "Bytes in the cache.", lambda row: row.used_bytes),
    _family(
        "cache_dirty_bytes",
        "gauge",
        "Bytes that only the cache has (dirty).",
        lambda row: row.dirty_bytes,
    ),
    *(_counted(column, each) for column, each in COLUMNS.items() if each.text),
    _leg("slow", "read", "Bytes read from the slow disk below the cache."),
    _leg("slow", "written", "Bytes written to the slow disk below the cache."),
    _leg("fast", "read", "Bytes read from the SSD."),
    _leg("fast", "written", "Bytes written to the SSD."),
)
INFO: Final = MetricFamily(
    "tiercel_volume_info", "gauge", "1, with the names of the volume. Join on volume."
)
CACHE_INFO: Final = MetricFamily(
    "tiercel_cache_info", "gauge", "1, with technology, mode and state of the volume's cache."
)
LATENCY: Final = MetricFamily(
    "tiercel_volume_latency_seconds",
    "histogram",
    "Latency of reads and writes; not for bcache volumes.",
)
BOUNDS: Final = tuple(
    (n, f"{bound / 1e9:g}")
    for n, bound in enumerate(LATENCY_BOUNDS_NS)
    if bound / 1e6 not in LEFT_OUT_MS
)


def volume_text(rows: Iterable[VolumeReading]) -> Iterator[str]:
    """Family after family, as the format demands."""
    readings = list(rows)
    yield written(INFO, ((row.about, 1) for row in readings))
    cached = [row for row in readings if row.cache_about]
    yield written(CACHE_INFO, ((row.cache_about, 1) for row in cached))
    for family, value in VOLUME_FAMILIES:
        yield written(family, ((row.labels, value(row)) for row in readings))
    measured = [row for row in readings if row.latency is not None]
    if measured:
        yield head(LATENCY)
        for row in measured:
            yield _histogram(row)


def _histogram(row: VolumeReading) -> str:
    name, inner = LATENCY.name, row.inner
    until = list(accumulate(row.latency or ()))
    lines = [f'{name}_bucket{inner},le="{bound}"}} {until[n]}\n' for n, bound in BOUNDS]
    lines.append(f'{name}_bucket{inner},le="+Inf"}} {until[-1]}\n')
    total = (row.disk.read_ms + row.disk.write_ms) / 1000 if row.disk is not None else 0
    lines.append(f"{name}_sum{row.labels} {total}\n{name}_count{row.labels} {until[-1]}\n")
    return "".join(lines)

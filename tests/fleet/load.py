"""What the volumes of a fleet did: samples by day and night, before and after their caches came.

An interval is a function of the volume and its time alone, so that later rounds continue the
curves. Rows go into the database as the collector's do: by COPY through the stage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import CachedBy
from storage.metrics.samples import load_rollup
from storage.metrics.samples.columns import DEVICE, INTERVAL
from storage.metrics.samples.host_load import ACTIVITY
from storage.metrics.samples.sample_round import COLUMNS, UPSERT, make_partition, stage
from tests.fleet.machine import Invented

SECOND_NS: Final = 1_000_000_000
BOOT: Final = "6c1f7f3e-2f5b-4a7c-9a40-000000000000"
# Shares per bucket of LATENCY_BOUNDS_NS: an I/O on SSD, and one on a slow disk.
FAST: Final = (0.46, 0.34, 0.13, 0.05, 0.02, 0, 0, 0, 0, 0, 0, 0, 0, 0)
SLOW: Final = (0, 0, 0, 0.02, 0.07, 0.2, 0.31, 0.25, 0.1, 0.04, 0.01, 0, 0, 0)
READ_SECTORS, WRITE_SECTORS = 24, 16
"""Of each read, of each write."""
QUARTER_SECONDS: Final = 900
"""As long as an interval can be."""
FAST_MS, SLOW_MS = 0.17, 9.0
CROWDED = 2.8
"""So many times slower is a disk that too many ask."""
TECHNOLOGIES: Final = {
    "": CachedBy.NONE,
    "lvmcache": CachedBy.DM_CACHE,
    "bcache": CachedBy.BCACHE,
}
HISTORY: Final = (
    f"INSERT INTO storage_sample (ts, volume_id, {', '.join(INTERVAL)})"  # noqa: S608 (constants)
    f" SELECT at, volume_id, {', '.join(INTERVAL)} FROM pg_temp.sample_stage ON CONFLICT DO NOTHING"
)
# The collector adds one round after the other; here many rounds come at once.
LOADS: Final = load_rollup.added("SELECT stage.*, at AS ts FROM pg_temp.sample_stage AS stage")


# What the two arrays of a host did is what its volumes had them do, and a little more that none of
# them explains; the more is under way, the busier they are.
OTHER: Final = 1.06
LEGS: Final = ", ".join(
    f"coalesce(sum(CASE WHEN is_fast THEN fast_{name} WHEN technology = 0 THEN {name}"
    f" ELSE slow_{name} END), 0) * {OTHER} AS {name}"
    for name in ("read_sectors", "write_sectors", "read_ms", "write_ms")
)
ARRAYS: Final = f"""
INSERT INTO storage_devicesample (device_id, ts, dt_ms, reads, writes, read_sectors, write_sectors,
    read_ms, write_ms, busy_ms, weighted_ms, in_flight)
SELECT id, ts, dt_ms, read_sectors / {READ_SECTORS}, write_sectors / {WRITE_SECTORS}, read_sectors,
    write_sectors, read_ms, write_ms,
    round(dt_ms * (1 - exp((read_ms + write_ms) / (-2.5 * dt_ms)))), read_ms + write_ms, 0
FROM (
    SELECT device.id, ts, max(dt_ms) AS dt_ms, {LEGS}
    FROM storage_sample AS sample
    JOIN storage_placement AS placement ON placement.volume_id = sample.volume_id AND until IS NULL
    JOIN storage_device AS device ON device.host_id = placement.host_id AND device.kind = 'array'
    WHERE placement.host_id = ANY(%s) AND ts > %s AND ts <= %s GROUP BY device.id, ts
) AS totals ON CONFLICT DO NOTHING
"""  # noqa: S608 (constants)
# A read is one member's, a write that of the two with its copies; a disk of no array does nothing.
DISKS: Final = """
INSERT INTO storage_devicesample (device_id, ts, dt_ms, reads, writes, read_sectors, write_sectors,
    read_ms, write_ms, busy_ms, weighted_ms, in_flight)
SELECT disk.id, ts, dt_ms, reads * of_reads, writes * of_writes, read_sectors * of_reads,
    write_sectors * of_writes, read_ms * of_reads, write_ms * of_writes,
    least(busy_ms, dt_ms * (1 - exp((read_ms * of_reads + write_ms * of_writes) / (-1.5 * dt_ms)))),
    read_ms * of_reads + write_ms * of_writes, 0
FROM storage_device AS disk
CROSS JOIN LATERAL (
    SELECT count(*)::float AS members FROM storage_device WHERE part_of_id = disk.part_of_id
) AS beside
CROSS JOIN LATERAL (
    SELECT coalesce(1 / nullif(members, 0), 0) AS of_reads,
        coalesce(least(2, members) / nullif(members, 0), 0) AS of_writes
) AS parts
JOIN storage_devicesample AS above ON above.device_id = coalesce(disk.part_of_id, (
    SELECT min(id) FROM storage_device WHERE host_id = disk.host_id AND kind = 'array'
))
WHERE disk.host_id = ANY(%s) AND disk.kind = 'disk' AND ts > %s AND ts <= %s ON CONFLICT DO NOTHING
"""
LAST_OF_DEVICES: Final = f"""
INSERT INTO storage_latestdevicesample
    (device_id, at, boot_id, boottime_ns, counters, gap, {", ".join(DEVICE)})
SELECT DISTINCT ON (device_id) device_id, ts, boot_id, 0, '[]', '', {", ".join(DEVICE)}
FROM storage_devicesample JOIN storage_device AS device ON device.id = device_id
WHERE host_id = ANY(%s) AND ts > %s AND ts <= %s ORDER BY device_id, ts DESC
ON CONFLICT (device_id) DO UPDATE SET at = excluded.at,
    {", ".join(f"{name} = excluded.{name}" for name in DEVICE)}
"""  # noqa: S608 (constants)
DEVICES: Final = (ARRAYS, DISKS, LAST_OF_DEVICES)


@dataclass(frozen=True, slots=True)
class Source:
    """A volume's row, how it behaves, and since when it has its cache (None = for long). Between
    the times of `gap` its host was away."""

    volume_id: int
    host_id: int
    volume: Invented
    cached_at: datetime | None = None
    gap: tuple[datetime, datetime] | None = None

    def is_away(self, at: datetime) -> bool:
        return self.gap is not None and self.gap[0] <= at <= self.gap[1]


@transaction.atomic
def store(sources: Iterable[Source], start: datetime, end: datetime, seconds: int) -> None:
    """Samples of every `seconds` after `start` up to `end`, and the last one as the latest."""
    sources = list(sources)
    times = _times(start, end, seconds)
    _copy(_row(each, at, seconds) for each in sources for at in times[:-1] if not each.is_away(at))
    _copy(_row(each, at, seconds, counters=True) for each in sources for at in times[-1:])
    with connection.cursor() as cursor:
        cursor.execute(UPSERT)
        cursor.execute(ACTIVITY.format(source="pg_temp.sample_stage"))
        for statement in DEVICES:
            cursor.execute(statement, [list({each.host_id for each in sources}), start, end])
    load_rollup.add_up_fleet()


@transaction.atomic
def store_past(sources: Iterable[Source], start: datetime, end: datetime, seconds: int) -> None:
    """The same for charts alone: it is no volume's latest, and no load of a host."""
    times = _times(start, end, seconds)
    with connection.cursor() as cursor:
        stage(cursor, (_row(each, at, seconds) for each in sources for at in times))
        cursor.execute(HISTORY)


def _times(start: datetime, end: datetime, seconds: int) -> list[datetime]:
    """The ends of the intervals; there are partitions for all of them."""
    for days in range((end - start).days + 2):
        make_partition((start + timedelta(days=days)).astimezone(UTC).date())
    count = int((end - start).total_seconds() // seconds)
    return [start + timedelta(seconds=seconds * (n + 1)) for n in range(count)]


def _copy(rows: Iterator[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor:
        stage(cursor, rows)
        cursor.execute(HISTORY)
        cursor.execute(LOADS)


def _row(source: Source, at: datetime, seconds: int, *, counters: bool = False) -> tuple[Any, ...]:
    values = {
        "volume_id": source.volume_id,
        "host_id": source.host_id,
        "at": at,
        "boot_id": BOOT,
        "boottime_ns": int(at.timestamp()) * SECOND_NS,
        "counters": Jsonb({}),
        "gap": "",
        "cache_gap": "",
        "cache_mode": "",
        "cache_state": "",
        "suspended": False,
        **interval(source, at, seconds),
    }
    if values["technology"]:
        values["cache_mode"] = source.volume.mode
    if counters:
        values["counters"] = Jsonb(_counters(source, values))
    return tuple(values.get(name) for name in COLUMNS)


def interval(source: Source, at: datetime, seconds: int) -> dict[str, Any]:
    """The columns of the interval that ends at `at`: plausible, and the same each time."""
    volume = source.volume
    random = Random(f"{volume.key}/{int(at.timestamp())}")
    hour = at.hour + at.minute / 60
    day = 0.55 + 0.45 * math.sin((hour - 9 + 4 * volume.phase) / 24 * math.tau)
    burst = 3.0 if random.random() < 0.01 else 1.0
    iops = volume.iops * day * burst * random.uniform(0.85, 1.15)
    warm = _warmth(source, at)
    is_cached = bool(volume.technology) and warm is not None
    if not is_cached:
        iops = min(iops, 260.0)  # more than that the slow disks do not give
    reads, writes = round(iops * seconds * 0.7), round(iops * seconds * 0.3)
    best = min(0.99, 0.45 + 0.5 * volume.cache_bytes / volume.size_bytes / volume.working_set)
    rate = best * (warm or 0) * random.uniform(0.97, 1.0) if is_cached else 0.0
    hits = round(reads * rate)
    write_rate = (0.98 if volume.mode == "writeback" else rate * 0.6) if is_cached else 0.0
    write_hits = round(writes * write_rate)
    fast = hits + (write_hits if volume.mode == "writeback" else 0)
    slow = reads + writes - fast
    crowd = CROWDED if volume.phase > 0.85 and not is_cached else 1.0
    read_ms = round(hits * FAST_MS + (reads - hits) * SLOW_MS * crowd * random.uniform(0.9, 1.2))
    write_ms = round(writes * (0.4 if volume.mode == "writeback" and is_cached else SLOW_MS * 0.6))
    found: dict[str, Any] = {
        "dt_ms": seconds * 1000,
        "reads": reads,
        "writes": writes,
        "read_sectors": reads * READ_SECTORS,
        "write_sectors": writes * WRITE_SECTORS,
        "read_ms": read_ms,
        "write_ms": write_ms,
        "busy_ms": min(seconds * 1000, round((read_ms + write_ms) * 0.35)),
        "weighted_ms": read_ms + write_ms,
        "technology": int(TECHNOLOGIES[volume.technology] if is_cached else CachedBy.NONE),
        "discards": round(random.random() * seconds / 60),
        "suspended_ms": 0,
    }
    if volume.layout != "bcache":
        found |= {"flushes": writes // 12, "flush_ms": write_ms // 10}
        found["latency_counts"] = [
            round(fast * a + slow * b) for a, b in zip(FAST, SLOW, strict=True)
        ]
    if not is_cached:
        return found
    used = round(volume.cache_bytes * min(1.0, 0.1 + 0.9 * (warm or 0)))
    dirty = round(used * (0.03 + 0.08 * day)) if volume.mode == "writeback" else 0
    found |= {"cache_size_bytes": volume.cache_bytes, "used_bytes": used, "dirty_bytes": dirty}
    found |= {
        "slow_read_sectors": (reads - hits) * READ_SECTORS,
        "slow_write_sectors": writes * WRITE_SECTORS,
        "fast_read_sectors": hits * READ_SECTORS,
        "fast_write_sectors": write_hits * WRITE_SECTORS,
        "slow_read_ms": read_ms - round(hits * FAST_MS),
        "slow_write_ms": write_ms,
        "fast_read_ms": round(hits * FAST_MS),
        "fast_write_ms": round(write_hits * FAST_MS),
        "slow_latency_counts": [round(slow * share) for share in SLOW],
        "fast_latency_counts": [round(fast * share) for share in FAST],
    }
    if volume.technology == "lvmcache":
        found |= {
            "read_hits": hits,
            "read_misses": reads - hits,
            "write_hits": write_hits,
            "write_misses": writes - write_hits,
            "promotions": round((reads - hits) * 0.2 * (1.3 - (warm or 0))),
            "demotions": round((reads - hits) * 0.1 * (warm or 0)),
        }
    return found


def _warmth(source: Source, at: datetime) -> float | None:
    """How full of what is read again the cache is, 0 to 1; None before it came."""
    if source.cached_at is None:
        return 1.0
    age = (at - source.cached_at).total_seconds()
    return 1 - math.exp(-age / 2400) if age > 0 else None


def _counters(source: Source, values: dict[str, Any]) -> dict[str, Any]:
    """Counters since boot that fit the last interval, as the agent's `sample` says them."""
    times = 4000
    disk = [0] * 17
    for place, name in enumerate(("reads", "", "read_sectors", "read_ms", "writes")):
        disk[place] = values[name] * times if name else 0
    disk[6], disk[7] = values["write_sectors"] * times, values["write_ms"] * times
    disk[9], disk[10] = values["busy_ms"] * times, values["weighted_ms"] * times
    volume = source.volume
    cached = bool(values["technology"])
    chunk_sectors = 128
    found: dict[str, Any] = {
        "lv_uuid": volume.lv_uuid,
        "kname": "dm-4",
        "suspended": False,
        "disk": disk,
        "cache": None,
        "bcache": None,
        "latency": None,
    }
    if values.get("latency_counts"):
        counts = [count * times for count in values["latency_counts"]]
        found["latency"] = {"bounds_ns": list(LATENCY_BOUNDS_NS), "counts": counts}
    if cached and volume.technology == "lvmcache":
        names = ("read_hits", "read_misses", "write_hits", "write_misses", "demotions")
        found["cache"] = {
            "chunk_sectors": chunk_sectors,
            "used": values["used_bytes"] // (chunk_sectors * 512),
            "total": volume.cache_bytes // (chunk_sectors * 512),
            "metadata_used": 720,
            "metadata_total": 3072,
            **{name: values[name] * times % 2**32 for name in (*names, "promotions")},
            "dirty": values["dirty_bytes"] // (chunk_sectors * 512),
            "mode": volume.mode,
            "policy": "smq",
            "read_only": False,
            "needs_check": False,
            "failed": False,
            "origin": disk,
            "cdata": disk,
        }
    if volume.layout == "bcache":
        found["bcache"] = {
            "device": "bcache0",
            "uuid": volume.lv_uuid,
            "cset_uuid": "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001" if cached else None,
            "state": "clean" if cached else "no cache",
            "cache_mode": volume.mode,
            "dirty_bytes": values.get("dirty_bytes") or 0,
            "disk": disk,
            **dict.fromkeys(("hits", "misses", "bypass_hits", "bypass_misses"), 65_000),
            "available_percent": 99 if cached else None,
            "unused_percent": 20 if cached else None,
            "cset_size_bytes": volume.cache_bytes if cached else None,
        }
    return found

"""Total I/O of all volumes of a host: in the buckets of `load_rollup`, and in its last round of
samples (`storage.models.HostActivity`), summed by the database.

The buckets of the last days are rows that hold sums already. Adding a few of them up here costs
half to a ninth of what `storage.metrics.samples.aggregate` does for it, which joins chunks too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection

from storage.metrics.rates import Sums
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples.load_rollup import BUCKET, SUMS
from storage.models.outline import TOP_VOLUMES

SUMMED: Final = tuple(name for name in SUMS if name in {field.name for field in fields(Sums)})
SPANS: Final = (
    f"SELECT span.n, {', '.join(f'sum({name})::bigint' for name in SUMMED)}"  # noqa: S608 (constants)
    " FROM unnest(%s::timestamptz[], %s::timestamptz[]) WITH ORDINALITY AS span(start, stop, n)"
    " JOIN storage_fleetload ON bucket >= span.start AND bucket < span.stop GROUP BY span.n"
)
COURSE: Final = (
    f"SELECT host_id, bucket, {', '.join(SUMMED)} FROM storage_hostload"  # noqa: S608 (constants)
    " WHERE bucket >= %s AND bucket < %s AND host_id = ANY(%s)"
)

HEAT: Final = """
SELECT host_id, (extract(epoch FROM bucket - %s)::bigint / %s)::int, sum(dt_ms)::bigint,
    sum(busy_ms)::bigint, sum(reads)::bigint, sum(read_ms)::bigint
FROM storage_hostload WHERE bucket >= %s AND bucket < %s AND host_id = ANY(%s) GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class HostStretch:
    """What a host did in some buckets together: the time that it reported of, in which its busiest
    volume was busy for `busy_ms`, and the reads of all its volumes with the time they took."""

    dt_ms: int
    busy_ms: int
    reads: int
    read_ms: int

    @property
    def read_latency_ms(self) -> float | None:
        """On average; None for less than a read a second, which says little."""
        return self.read_ms / self.reads if self.reads * 1000 >= self.dt_ms > 0 else None

    @property
    def busy(self) -> float:
        """The share of the time; a device can count a little more time than there was."""
        return min(1.0, self.busy_ms / self.dt_ms) if self.dt_ms else 0.0


def bucket_of(at: datetime) -> datetime:
    """The beginning of the bucket in which `at` lies."""
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % BUCKET.seconds, UTC)


def fleet_sums(spans: Sequence[tuple[datetime, datetime]]) -> tuple[Sums, ...]:
    """What all hosts did in each of the spans, of which both ends are beginnings of buckets; no
    intervals where nothing is known. One query."""
    with connection.cursor() as cursor:
        cursor.execute(SPANS, [[start for start, _ in spans], [stop for _, stop in spans]])
        sums_by_span = {n: _sums(values) for n, *values in cursor.fetchall()}
    return tuple(sums_by_span.get(n, Sums()) for n in range(1, len(spans) + 1))


def courses(
    host_ids: Collection[int], last: datetime, count: int
) -> dict[int, tuple[Sums | None, ...]]:
    """By primary key of the host: its last `count` buckets, oldest first, up to the one that begins
    at `last`; None where it did not report. One query."""
    start = last - (count - 1) * BUCKET
    sums_by_host: dict[int, list[Sums | None]] = {host_id: [None] * count for host_id in host_ids}
    with connection.cursor() as cursor:
        cursor.execute(COURSE, [start, last + BUCKET, list(host_ids)])
        for host_id, bucket, *values in cursor.fetchall():
            sums_by_host[host_id][(bucket - start) // BUCKET] = _sums(values)
    return {host_id: tuple(each) for host_id, each in sums_by_host.items()}


def stretches(
    host_ids: Collection[int], start: datetime, end: datetime, step: timedelta
) -> dict[int, dict[int, HostStretch]]:
    """By primary key of the host, and by number from `start` on: what each host did in each `step`,
    a multiple of `BUCKET`; those without a report are missing. One query."""
    by_host: dict[int, dict[int, HostStretch]] = {host_id: {} for host_id in host_ids}
    with connection.cursor() as cursor:
        seconds = int(step.total_seconds())
        cursor.execute(HEAT, [start, seconds, start, end, list(host_ids)])
        for host_id, number, *sums in cursor.fetchall():
            by_host[host_id][number] = HostStretch(*sums)
    return by_host


def _sums(values: Sequence[int]) -> Sums:
    sums = dict(zip(SUMMED, values, strict=True))
    return Sums(intervals=1, **sums, latency_counts=NO_LATENCY)


# The greatest of the arrays is that of the busiest volume; a device can count a little more time
# than there was. What is sold is the caches of volumes whose customers pay for one. A latency of
# less than a read a second says little.
ACTIVITY_NAMES: Final = (
    "host_id",
    "at",
    "read_iops",
    "write_iops",
    "busy",
    "busiest_id",
    "dirty_bytes",
    "sold_bytes",
    "top_iops",
    "top_read_ms",
)
TOP: Final = (
    "coalesce(to_jsonb((array_agg(jsonb_build_array(volume_id, {figure}) ORDER BY {figure} DESC)"
    f" FILTER (WHERE {{which}}))[1:{TOP_VOLUMES}]), '[]')"
)
ACTIVITY: Final = f"""
INSERT INTO storage_hostactivity AS old ({", ".join(ACTIVITY_NAMES)})
SELECT host_id, at, reads, writes,
    CASE WHEN busiest[1] > 1 THEN 1 ELSE busiest[1] END, busiest[2]::bigint, dirty, sold,
    top_iops, top_read_ms
FROM (
    SELECT host_id, at, sum(sample.reads * 1000::float8 / dt_ms) AS reads,
        sum(sample.writes * 1000::float8 / dt_ms) AS writes,
        max(ARRAY[busy_ms::float8 / dt_ms, volume_id]) FILTER (WHERE busy_ms + dt_ms > 0)
            AS busiest,
        coalesce(sum(dirty_bytes), 0)::bigint AS dirty,
        coalesce(sum(sample.cache_size_bytes) FILTER (WHERE volume.cache_plan_id IS NOT NULL
            AND volume.retired_at IS NULL AND volume.destroyed_at IS NULL), 0)::bigint AS sold,
        {TOP.format(figure="(reads + writes) * 1000::float8 / dt_ms", which="reads + writes > 0")}
            AS top_iops,
        {TOP.format(figure="read_ms::float8 / reads", which="reads * 1000 >= dt_ms")}
            AS top_read_ms
    FROM {{source}} sample LEFT JOIN storage_volume volume ON volume.id = volume_id
    GROUP BY host_id, at
) round
ON CONFLICT (host_id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in ACTIVITY_NAMES[1:])}
WHERE excluded.at >= old.at
"""  # noqa: S608 (constants)
"""Keeps what the last round of a host came to; `source` has the rows of one round of each host."""

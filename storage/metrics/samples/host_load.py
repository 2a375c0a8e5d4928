"""Total I/O of all volumes of a host: in the buckets of `load_rollup`, and in its last round of
samples, summed by the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Final

from django.db import connection
from django.db.models import Min

from storage.metrics.rates import Sums
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples.load_rollup import BUCKET, SUMS
from storage.models import Host, Placement

SUMMED: Final = tuple(name for name in SUMS if name in {field.name for field in fields(Sums)})
SPANS: Final = (
    f"SELECT span.n, {', '.join(f'sum({name})::bigint' for name in SUMMED)}"  # noqa: S608 (constants)
    " FROM unnest(%s::timestamptz[], %s::timestamptz[]) WITH ORDINALITY AS span(start, stop, n)"
    " JOIN storage_hostload ON bucket >= span.start AND bucket < span.stop GROUP BY span.n"
)
COURSE: Final = (
    f"SELECT host_id, bucket, {', '.join(SUMMED)} FROM storage_hostload"  # noqa: S608 (constants)
    " WHERE bucket >= %s AND bucket < %s AND host_id = ANY(%s)"
)


def bucket_of(at: datetime) -> datetime:
    """The beginning of the bucket in which `at` lies."""
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % BUCKET.seconds, UTC)


def fleet_sums(spans: Sequence[tuple[datetime, datetime]]) -> tuple[Sums, ...]:
    """What all hosts did in each of the spans, of which both ends are beginnings of buckets; no
    intervals where nothing is known. `dt_ms` adds up over hosts. One query."""
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


def _sums(values: Sequence[int]) -> Sums:
    sums = dict(zip(SUMMED, values, strict=True))
    return Sums(intervals=1, **sums, latency_counts=NO_LATENCY)


# The greatest of the arrays is that of the busiest volume.
QUERY: Final = """
SELECT host_id, at, sum(reads * 1000::float8 / dt_ms), sum(writes * 1000::float8 / dt_ms),
    max(ARRAY[coalesce(busy_ms::float8 / dt_ms, -1), volume_id]),
    coalesce(sum(dirty_bytes), 0)::bigint
FROM storage_latestsample GROUP BY host_id, at
"""


@dataclass(frozen=True, slots=True)
class HostNow:
    """The last round of a host, taken at `at`: I/O a second of all its volumes, the share of time
    (0 to 1) in which the busiest of them, `busiest_id`, had I/O under way, and what lies on SSD
    alone. None where no volume had a difference to tell."""

    at: datetime
    read_iops: float | None
    write_iops: float | None
    busy: float | None
    busiest_id: int
    dirty_bytes: int


def hosts_now() -> dict[int, HostNow]:
    """By primary key of the host; those never sampled are missing. One query."""
    hosts: dict[int, HostNow] = {}
    with connection.cursor() as cursor:
        cursor.execute(QUERY)
        for host_id, at, reads, writes, (busy, busiest), dirty in cursor.fetchall():
            # A volume that is gone keeps its last sample: only the host's last round counts.
            if host_id not in hosts or hosts[host_id].at < at:
                hosts[host_id] = HostNow(at, reads, writes, _share(busy), int(busiest), dirty)
    return hosts


def due_since(hosts: Iterable[Host]) -> dict[int, datetime]:
    """Since when each host has had volumes to sample, by its primary key; hosts without one that
    is there are missing. One query, none without a host."""
    placements = Placement.objects.filter(
        host__in=[host.pk for host in hosts], until=None, lv_uuid__isnull=False, missing_since=None
    )
    return dict(placements.values_list("host_id").annotate(Min("since")))


def _share(busy: float) -> float | None:
    """Unknown is -1 in the query; a device can count a little more time than there was."""
    return None if busy < 0 else min(1.0, busy)

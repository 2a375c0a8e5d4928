"""The figures of a host or of the whole fleet over a time in buckets of one length, from the loads
of five minutes (`storage.metrics.samples.load_rollup`).

Under the names of `storage.metrics.series.UNITS`, with the space on SSD beside them. Rates are of
all volumes together; a latency and a hit rate are of all I/O, whichever volume did it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, Final

from django.db import connection

from storage.metrics.rates import Sums
from storage.metrics.samples.host_load import SUMMED
from storage.metrics.samples.load_rollup import BUCKET, HELD, LATENCY_SUM, SPACE
from storage.metrics.series import UNITS, Bucket, Series, Values, in_buckets, step_seconds
from storage.models import Host

BUCKET_SECONDS: Final = BUCKET.seconds
SPACE_UNITS: Final = {
    "ssd_total_bytes": "B",
    "ssd_used_bytes": "B",
    "ssd_sold_bytes": "B",
    "ssd_free_bytes": "B",
}
LOAD_UNITS: Final = UNITS | SPACE_UNITS
LAST: Final = ", ".join(f"(array_agg({name} ORDER BY bucket DESC))[1]" for name in HELD | SPACE)
LONG: Final = f"interval '{BUCKET_SECONDS} seconds'"
QUERY: Final = (
    "SELECT (ceil(extract(epoch FROM bucket + {long} - %s) / %s) - 1)::int AS n,"  # noqa: S608 (constants)
    f" {', '.join(f'sum({name})::bigint' for name in (*SUMMED, 'ssd_write_sectors'))},"
    f" {LATENCY_SUM}, {LAST}"
    " FROM {table} WHERE {which} bucket > %s - {long} AND bucket <= %s - {long} GROUP BY n"
)
OF_HOST: Final = QUERY.format(table="storage_hostload", which="host_id = %s AND", long=LONG)
OF_FLEET: Final = QUERY.format(table="storage_fleetload", which="", long=LONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBucket(Bucket):
    """`space` has the names of `SPACE_UNITS`."""

    space: Values

    def values(self) -> Values:
        """The bucket's figures under the names of `LOAD_UNITS`; None = unknown."""
        return {**Bucket.values(self), **self.space}


def host_series(host: Host, start: datetime, end: datetime, points: int = 600) -> Series:
    """The figures of all volumes of a host from `start` to `end` in at most `points` buckets of
    five minutes or more. Raises ValueError as `storage.metrics.series.series` does."""
    return _series(OF_HOST, [host.pk], start, end, points)


def fleet_series(start: datetime, end: datetime, points: int = 600) -> Series:
    """The same of all hosts together."""
    return _series(OF_FLEET, [], start, end, points)


def _series(
    query: str, which: Sequence[int], start: datetime, end: datetime, points: int
) -> Series:
    step = step_seconds(start, end, points, least=BUCKET_SECONDS)
    count = ceil((end - start).total_seconds() / step)
    with connection.cursor() as cursor:
        cursor.execute(query, [start, step, *which, start, end])
        buckets = {n: _bucket(n, step, values) for n, *values in cursor.fetchall()}
    return in_buckets(buckets, start=start, end=end, step=step, count=count, units=LOAD_UNITS)


def _bucket(n: int, step: int, row: Sequence[Any]) -> LoadBucket:
    *counts, ssd_write_sectors, latency_counts = row[: len(SUMMED) + 2]
    size, used, dirty, sold, total, unused = row[len(SUMMED) + 2 :]
    sums = Sums(
        intervals=1,
        **dict(zip(SUMMED, counts, strict=True)),
        latency_counts=tuple(latency_counts),
    )
    return LoadBucket(
        began=n * step,
        ended=(n + 1) * step,
        cache_ms=sums.dt_ms,
        moves_ms=sums.dt_ms,
        ssd_ms=sums.dt_ms,
        ssd_write_sectors=ssd_write_sectors,
        sums=sums,
        cache_size_bytes=size,
        used_bytes=used,
        dirty_bytes=dirty,
        space={
            "ssd_total_bytes": total,
            "ssd_used_bytes": None if total is None else total - unused,
            "ssd_sold_bytes": sold,
            "ssd_free_bytes": unused,
        },
    )

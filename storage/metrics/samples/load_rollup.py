"""Adds up the load of hosts and of the fleet, in buckets of five minutes: by the round as samples
are recorded, and for all hosts together a little later.

The sums and sizes are the columns of `storage.models.outline.Load`. All SQL here is made of
constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Max

from storage.metrics.rates import CachedBy
from storage.metrics.rates.figures import NO_LATENCY, STORED_SUMS
from storage.metrics.samples.columns import LOAD
from storage.models import FleetLoad

BUCKET: Final = timedelta(minutes=5)
LATE: Final = timedelta(minutes=30)
"""How far back the fleet is added up anew: hosts report one after the other."""

# Sectors of bcache intervals count only where the backing device's are known.
BCACHE: Final = f"technology = {CachedBy.BCACHE:d} AND slow_read_sectors IS NOT NULL"
SUMS: Final = {
    "dt_ms": "max(dt_ms)",
    "busy_ms": "coalesce(max(busy_ms), 0)",
    **{
        name: f"coalesce(sum({name}), 0)"
        for name in STORED_SUMS
        if name in LOAD and name not in ("dt_ms", "busy_ms")
    },
    "bcache_reads": f"coalesce(sum(reads) FILTER (WHERE {BCACHE}), 0)",
    "bcache_read_sectors": f"coalesce(sum(read_sectors) FILTER (WHERE {BCACHE}), 0)",
    "backing_read_sectors": f"coalesce(sum(slow_read_sectors) FILTER (WHERE {BCACHE}), 0)",
    "ssd_write_sectors": "coalesce(sum(fast_write_sectors), 0)",
}
HELD: Final = {name: f"sum({name})" for name in ("cache_size_bytes", "used_bytes", "dirty_bytes")}
SPACE: Final = {
    "sold_bytes": "coalesce(sum(cache_size_bytes) FILTER (WHERE cache_plan_id IS NOT NULL), 0)",
    "fast_total_bytes": "max(fast_total_bytes)",
    "fast_free_bytes": "max(fast_free_bytes)",
}
"""As it is now: of a round long ago it is not known any more."""
LATENCY: Final = "latency_counts"
EACH_LATENCY: Final = range(1, len(NO_LATENCY) + 1)


def _latency(term: str) -> str:
    """An array of `term` for each of the latency buckets, which it names {}."""
    return f"ARRAY[{', '.join(term.format(n) for n in EACH_LATENCY)}]::bigint[]"


def _last(name: str) -> str:
    return f"(array_agg({name} ORDER BY ts DESC))[1]"


def _excluded(names: Iterable[str]) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in names)


LATENCY_SUM: Final = _latency("coalesce(sum(latency_counts[{}]), 0)")


def _by_bucket(rows: str, gauges: dict[str, str], sums: dict[str, str] = SUMS) -> str:
    """The loads of all rounds in `rows`, which are samples with the `host_id` of their host: first
    one row for each host and round, then one for each host and bucket."""
    columns = ", ".join(f"{total} AS {name}" for name, total in (sums | gauges).items())
    totals = ", ".join(
        (*(f"sum({name})" for name in SUMS), LATENCY_SUM, *(_last(name) for name in gauges))
    )
    names = ", ".join(("bucket", "host_id", *SUMS, LATENCY, *gauges))
    rounds = (
        f"SELECT ts, host_id, {LATENCY_SUM} AS {LATENCY}, {columns} FROM ({rows}) AS sample"  # noqa: S608
        " LEFT JOIN (SELECT id, cache_plan_id FROM storage_volume) AS volume ON id = volume_id"
        " LEFT JOIN storage_hostoutline USING (host_id) GROUP BY ts, host_id"
    )
    return (
        f"INSERT INTO storage_hostload AS old ({names})"  # noqa: S608
        f" SELECT date_bin('{BUCKET.seconds} seconds', ts, 'epoch'), host_id, {totals}"
        f" FROM ({rounds}) AS round GROUP BY 1, 2 ON CONFLICT (bucket, host_id) DO UPDATE SET "
    )


def added(rows: str, *, is_whole: bool = True) -> str:
    """A statement that adds the rounds in `rows` (as of `_by_bucket`) to what is there. Rounds of a
    few volumes alone have no time and no sizes of the host."""
    sums = ", ".join(f"{name} = old.{name} + excluded.{name}" for name in SUMS)
    counts = _latency("coalesce(old.latency_counts[{0}], 0) + excluded.latency_counts[{0}]")
    if not is_whole:
        timeless = SUMS | {"dt_ms": "0", "busy_ms": "0"}
        return f"{_by_bucket(rows, {}, timeless)} {sums}, {LATENCY} = {counts}"
    gauges = _excluded(HELD | SPACE)
    return f"{_by_bucket(rows, HELD | SPACE)} {sums}, {LATENCY} = {counts}, {gauges}"


STORED: Final = (
    "SELECT stored.*, stage.host_id FROM stored JOIN pg_temp.sample_stage AS stage"
    " USING (volume_id)"
)
ADD: Final = added(STORED)
"""Adds the rows of rounds, one of each host, which it takes from `stored`."""
ADD_PART: Final = added(STORED, is_whole=False)
"""The same of rounds of a few volumes alone."""
_SCALED: Final = ", ".join(
    f"round(sum(coalesce({name}::float8 * longest / nullif(dt_ms, 0), {name})))"
    for name in SUMS
    if name not in ("dt_ms", "busy_ms")
)
_SIZES: Final = ", ".join(f"sum({name})" for name in HELD | SPACE)
FLEET: Final = (
    f"INSERT INTO storage_fleetload (bucket, {', '.join((*SUMS, LATENCY, *HELD, *SPACE))})"  # noqa: S608
    f" SELECT bucket, longest, max(busy_ms), {_SCALED}, {LATENCY_SUM}, {_SIZES} FROM"
    " (SELECT *, max(dt_ms) OVER (PARTITION BY bucket) AS longest FROM storage_hostload"
    " WHERE bucket >= %s) AS load GROUP BY bucket, longest ON CONFLICT (bucket) DO UPDATE SET "
    + _excluded((*SUMS, LATENCY, *HELD, *SPACE))
)


def add_up_fleet(since: datetime | None = None) -> None:
    """Bring the loads of the fleet up to date with those of the hosts: from `since` on; by itself
    the last half hour and whatever was missed before it."""
    if since is None:
        newest = FleetLoad.objects.aggregate(newest=Max("bucket"))["newest"]
        since = newest - LATE if newest is not None else datetime.min.replace(tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(FLEET, [since])

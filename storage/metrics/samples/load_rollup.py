"""Adds up the load of hosts and of the fleet, in buckets of five minutes: by the round as samples
are recorded, for all hosts together a little later, and for times before from the samples kept.

The sums and sizes are the columns of `storage.models.outline.Load`. All SQL here is made of
constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Max, Min

from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples.window import BCACHE, kept
from storage.models import FleetLoad, HostLoad, Sample

BUCKET: Final = timedelta(minutes=5)
LATE: Final = timedelta(minutes=30)
"""How far back the fleet is added up anew: hosts report one after the other."""

SUMS: Final = {
    "dt_ms": "max(dt_ms)",
    "busy_ms": "coalesce(max(busy_ms), 0)",
    **{
        name: f"coalesce(sum({name}), 0)"
        for name in (
            *("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms"),
            *("read_hits", "read_misses", "write_hits", "write_misses"),
            *("promotions", "demotions"),
        )
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


def _by_bucket(rows: str, gauges: dict[str, str]) -> str:
    """The loads of all rounds in `rows`, which are samples with the `host_id` of their host: first
    one row for each host and round, then one for each host and bucket."""
    columns = ", ".join(f"{total} AS {name}" for name, total in (SUMS | gauges).items())
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


def added(rows: str) -> str:
    """A statement that adds the rounds in `rows` (as of `_by_bucket`) to what is there."""
    sums = ", ".join(f"{name} = old.{name} + excluded.{name}" for name in SUMS)
    counts = _latency("coalesce(old.latency_counts[{0}], 0) + excluded.latency_counts[{0}]")
    gauges = _excluded(HELD | SPACE)
    return f"{_by_bucket(rows, HELD | SPACE)} {sums}, {LATENCY} = {counts}, {gauges}"


ADD: Final = added("SELECT stored.*, %s::bigint AS host_id FROM stored")
"""Adds the rows of one round, which it takes from `stored`; the parameter is the host's id."""
KEPT_SAMPLES: Final = (
    "SELECT sample.*, host_id FROM storage_sample AS sample JOIN storage_placement AS placement"
    " ON placement.volume_id = sample.volume_id AND placement.since <= ts"
    " AND (placement.until IS NULL OR ts < placement.until) WHERE ts >= %s AND ts < %s"
)
ANEW: Final = _by_bucket(KEPT_SAMPLES, HELD) + _excluded((*SUMS, LATENCY, *HELD))
_SCALED: Final = ", ".join(
    f"round(sum({name}::float8 * longest / dt_ms))"
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


def recompute(start: datetime, end: datetime) -> int:
    """Add up anew, from the samples kept, what hosts did from `start` to `end`, both beginnings of
    buckets; the number of rows. Space on SSD stays as it was recorded, if it was."""
    with connection.cursor() as cursor:
        cursor.execute(ANEW, [start, end])
        return int(cursor.rowcount)


def oldest_sample() -> datetime | None:
    """When the oldest sample kept was taken."""
    oldest: datetime | None = Sample.objects.aggregate(oldest=Min("ts"))["oldest"]
    return oldest


def add_up_fleet(since: datetime | None = None) -> None:
    """Bring the loads of the fleet up to date with those of the hosts: from `since` on; by itself
    the last half hour and whatever was missed before it."""
    if since is None:
        newest = FleetLoad.objects.aggregate(newest=Max("bucket"))["newest"]
        since = newest - LATE if newest is not None else datetime.min.replace(tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(FLEET, [since])


def forget(now: datetime) -> None:
    """Delete loads that are older than any sample."""
    HostLoad.objects.filter(bucket__lt=now - kept()).delete()
    FleetLoad.objects.filter(bucket__lt=now - kept()).delete()

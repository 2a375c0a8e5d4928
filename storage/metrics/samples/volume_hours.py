"""Adds up the samples of each volume by the hour, for charts of many days: a month of one volume is
a few hundred rows instead of some ten thousand that lie scattered among those of all others.

Hours are filled one after the other and never out of turn, so that up to its newest hour a volume
has all of them. What is newer is read from the samples. All SQL here is made of constants.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Max

from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples.window import BCACHE, EXPRESSIONS, LAST, NAMES, kept
from storage.models import VolumeHour

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
SETTLED: Final = timedelta(minutes=10)
"""So long after its end no round of an hour is on its way any more."""
# Times in which the cache's accesses, its moves and the writes to its SSD were counted: each rate
# is over that alone.
TIMES: Final = {
    "cache_ms": f"sum(dt_ms) FILTER (WHERE read_hits IS NOT NULL OR ({BCACHE}))",
    "moves_ms": "sum(dt_ms) FILTER (WHERE promotions IS NOT NULL)",
    "ssd_ms": "sum(dt_ms) FILTER (WHERE fast_write_sectors IS NOT NULL)",
    "ssd_write_sectors": "sum(fast_write_sectors)",
}
SIZES: Final = ("cache_size_bytes", "used_bytes", "dirty_bytes")
COUNTED: Final = (*TIMES, *NAMES)
SUMS: Final = ", ".join(
    f"coalesce({total}, 0)" for total in (*TIMES.values(), *EXPRESSIONS[: len(NAMES)])
)
LATENCIES: Final = ", ".join(f"coalesce({total}, 0)" for total in EXPRESSIONS[len(NAMES) :])
# An interval that ends with the hour belongs to it, as to a bucket of a chart.
FILL: Final = (
    f"INSERT INTO storage_volumehour (volume_id, bucket, {', '.join(COUNTED)}, latency_counts,"  # noqa: S608
    f" {', '.join(SIZES)}) SELECT volume_id,"
    " date_bin('1 hour', ts - interval '1 microsecond', 'epoch') AS bucket,"
    f" {SUMS}, ARRAY[{LATENCIES}]::bigint[], {', '.join(LAST)}"
    " FROM storage_sample WHERE ts > %s AND ts <= %s GROUP BY 1, 2 ON CONFLICT DO NOTHING"
)
COLUMNS: Final = ", ".join(
    (
        *(f"sum({name})::bigint" for name in COUNTED),
        *(f"sum(latency_counts[{n + 1}])::bigint" for n in range(len(NO_LATENCY))),
        *(f"(array_agg({name} ORDER BY bucket DESC))[1]" for name in SIZES),
    )
)
"""Of many hours: as `storage.metrics.series` has them of samples."""


def add_up_hours(now: datetime) -> int:
    """Fill the hours that are over and settled, at most a day of them at once; the number of rows.
    Days without samples cost nothing."""
    newest = VolumeHour.objects.aggregate(newest=Max("bucket"))["newest"]
    oldest = _hour(now - kept())
    start = oldest if newest is None else max(oldest, newest + HOUR)
    over = _hour(now - SETTLED)
    rows = 0
    with connection.cursor() as cursor:
        while start < over and not rows:
            end = min(start + DAY, over)
            cursor.execute(FILL, [start, end])
            rows, start = int(cursor.rowcount), end
    return rows


def newest_hour_end(volume_id: int) -> datetime | None:
    """Up to when the hours of a volume are all there; None without any."""
    newest: datetime | None = VolumeHour.objects.filter(volume_id=volume_id).aggregate(
        newest=Max("bucket")
    )["newest"]
    return newest + HOUR if newest is not None else None


def forget(now: datetime) -> None:
    """Delete what is older than any sample."""
    VolumeHour.objects.filter(bucket__lt=now - kept()).delete()


def _hour(at: datetime) -> datetime:
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % HOUR.seconds, UTC)

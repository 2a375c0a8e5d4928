"""A volume's recent use, read from its samples, for sentences and forecasts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from storage.analysis.forecast import Stretch, Use, use
from storage.metrics.rates import CachedBy
from storage.metrics.samples.window import COLUMNS, summed
from storage.volumes.ownership import theirs_since
from storage.volumes.snapshot import VolumeSnapshot

LOOK_BACK: Final = timedelta(days=7)
# Waiting is told hour by hour: what an hour did not do cannot be lent to another.
QUERY: Final = (
    "SELECT min(ts - dt_ms * interval '1 millisecond'), max(ts), technology,"  # noqa: S608
    f" cache_size_bytes, {', '.join(COLUMNS)} FROM storage_sample"
    " WHERE volume_id = %s AND ts > %s AND ts <= %s"
    " AND ts - dt_ms * interval '1 millisecond' >= %s"
    " GROUP BY date_trunc('hour', ts - interval '1 microsecond', 'UTC'),"
    " technology, cache_size_bytes"
)


def use_of(row: VolumeSnapshot, now: datetime) -> Use:
    """How the volume was used in the week up to `now`, since it got the cache that it has; what a
    former customer did is not in it. Two queries."""
    start, since = now - LOOK_BACK, theirs_since(row.volume)
    begin = max(start, since) if since is not None else start
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [row.volume.pk, begin, now, begin])
        stretches = [_stretch(*values) for values in cursor.fetchall()]
    wish = row.wish
    on_ssd = wish is not None and wish.tier == "ssd"
    return use(row.volume.size_bytes, stretches, now, on_ssd=on_ssd)


def _stretch(
    begun_at: datetime, ended_at: datetime, technology: int, size_bytes: int | None, *totals: int
) -> Stretch:
    sums, gauges = summed(totals)
    return Stretch(begun_at, ended_at, CachedBy(technology), size_bytes, gauges[1], sums)

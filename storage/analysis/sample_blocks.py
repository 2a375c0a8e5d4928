"""A volume's figures in blocks of one length: what `storage.analysis.before_after` compares."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from storage.analysis.before_after import Block
from storage.metrics.rates import CachedBy, figures
from storage.metrics.samples.window import COLUMNS, summed
from storage.models import Volume

# Without a cache every read is one that none served; where the counters of a cache are unknown,
# nobody knows.
UNCACHED: Final = (
    f"coalesce(sum(reads) FILTER (WHERE technology = {CachedBy.NONE:d}"
    " AND cache_size_bytes IS NULL), 0)::bigint"
)
QUERY: Final = (
    "SELECT (ceil(extract(epoch FROM ts - %s) / %s) - 1)::int AS n,"  # noqa: S608 (constants)
    f" {UNCACHED}, {', '.join(COLUMNS)} FROM storage_sample"
    " WHERE volume_id = %s AND ts > %s AND ts <= %s"
    " AND ts - dt_ms * interval '1 millisecond' >= %s"
    " GROUP BY n ORDER BY n"
)


def blocks(
    volume: Volume, start: datetime, end: datetime, seconds: int, *, since: datetime | None = None
) -> list[Block]:
    """The blocks from `start` to `end` in the order of time, `seconds` each; those in which no
    sample ended are missing. An interval that had begun before `since` (the start, unless told) is
    left out: it holds what was before."""
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [start, seconds, volume.pk, start, end, since or start])
        rows = cursor.fetchall()
    sampled = []
    for n, uncached, *row in rows:
        sums, _gauges = summed(row)
        of_cache = figures(sums, least=1)
        at = start + timedelta(seconds=n * seconds)
        sampled.append(
            Block(
                at=round(at.timestamp()),
                dt_ms=sums.dt_ms,
                reads=sums.reads,
                read_ms=sums.read_ms,
                accesses=of_cache.accesses + uncached,
                hits=(of_cache.hit_rate or 0.0) * of_cache.accesses,
                counts=sums.latency_counts,
            )
        )
    return sampled

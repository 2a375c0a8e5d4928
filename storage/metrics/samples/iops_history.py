"""I/O of many volumes over the last hours: one query per page."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

QUERY: Final = (
    "SELECT volume_id, floor(extract(epoch FROM ts - %s) / %s)::int AS n,"
    " sum(reads + writes) * 1000.0 / sum(dt_ms)"
    " FROM storage_sample WHERE volume_id = ANY(%s) AND ts > %s AND ts <= %s GROUP BY 1, 2"
)


def iops_courses(
    volume_ids: Collection[int], end: datetime, *, count: int, step: timedelta
) -> dict[int, tuple[float | None, ...]]:
    """By primary key of the volume: its I/O a second in each of the `count` steps before `end`,
    oldest first; None where no sample ended. Volumes without any sample have only None."""
    start = end - count * step
    iops_by_volume: dict[int, list[float | None]] = {each: [None] * count for each in volume_ids}
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [start, step.total_seconds(), list(volume_ids), start, end])
        for volume_id, n, iops in cursor.fetchall():
            iops_by_volume[volume_id][min(n, count - 1)] = float(iops)
    return {volume_id: tuple(each) for volume_id, each in iops_by_volume.items()}

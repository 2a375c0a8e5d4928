"""I/O of many volumes over the last hours: one query per page."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from math import ceil

from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import VOLUMES


def iops_courses(
    volume_ids: Collection[int], end: datetime, *, count: int, step: timedelta
) -> dict[int, tuple[float | None, ...]]:
    """By primary key of the volume: its I/O a second in each of the `count` steps up to that in
    which `end` is, oldest first; None where no sample ended. Volumes without any sample have only
    None."""
    seconds = round(step.total_seconds())
    until = datetime.fromtimestamp(ceil(end.timestamp() / seconds) * seconds, UTC)
    iops_by_volume: dict[int, list[float | None]] = {each: [None] * count for each in volume_ids}
    start = until - count * step
    for each in aggregate(volume_ids, start, until, kind=VOLUMES.only(), step=seconds):
        ios = each.counts["reads"] + each.counts["writes"]
        iops_by_volume[each.subject_id][each.n] = ios * 1000 / each.counts["dt_ms"]
    return {volume_id: tuple(each) for volume_id, each in iops_by_volume.items()}

"""A volume's figures over one time window, and what many volumes did in windows of one length."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

from django.conf import settings
from django.db import connection

from storage.metrics.rates import FiguresWindow, Sums, figures
from storage.metrics.samples.aggregate import FIGURES, aggregate, columns_of, intervals
from storage.metrics.samples.chunk_store import VOLUMES, chunk_start
from storage.models import Resolution, SubjectKind, Volume

CLOSE_SECONDS: Final = 10
"""Between the samples of a volume that is watched closely (`storage.metrics.close_watch`)."""
# Of what is packed, the number of rows shows it: a minute of close watch makes five more.
WATCHED: Final = (
    "SELECT EXISTS (SELECT FROM storage_sample"
    " WHERE volume_id = %s AND ts > %s AND ts <= %s AND dt_ms <= %s)"
    " OR EXISTS (SELECT FROM storage_samplechunk WHERE kind = %s AND subject_id = %s"
    " AND resolution = %s AND start >= %s AND start < %s AND rows > %s)"
)


def kept() -> timedelta:
    """How long samples are kept as they were measured."""
    return timedelta(days=settings.TIERCEL_SAMPLES_KEPT_DAYS)


def sampled_every(volume_id: int, start: datetime, end: datetime) -> int:
    """The seconds between samples of the volume from `start` to `end`: fewer than usual where it
    was watched closely at any time between them."""
    usual: int = settings.TIERCEL_SAMPLE_SECONDS
    if usual <= CLOSE_SECONDS:
        return usual
    hours = chunk_start(Resolution.RAW, start), end
    of_chunks = (SubjectKind.VOLUME, volume_id, Resolution.RAW, *hours, 3600 // usual + 2)
    with connection.cursor() as cursor:
        cursor.execute(WATCHED, [volume_id, start, end, 1000 * usual // 2, *of_chunks])
        return CLOSE_SECONDS if cursor.fetchone()[0] else usual


def window(volume: Volume, start: datetime, end: datetime) -> FiguresWindow:
    """The figures of a volume from `start` to `end`. Without samples every rate is None."""
    if end <= start:
        raise ValueError("a window ends after its start")
    whole = aggregate([volume.pk], start, end, kind=FIGURES, begun_since=start)
    sums = whole[0].sums if whole else Sums()
    last = whole[0].last if whole else {}
    return FiguresWindow(
        **asdict(figures(sums)),
        start=start,
        end=end,
        intervals=sums.intervals,
        cache_size_bytes=last.get("cache_size_bytes"),
        used_bytes=last.get("used_bytes"),
        dirty_bytes=last.get("dirty_bytes"),
    )


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
    table = intervals(volume_ids, start, until, kind=VOLUMES.only(), step=seconds)
    if len(table):
        of = columns_of(table, start, seconds)
        iops = 1000 * (of.counts["reads"] + of.counts["writes"]) / of.counts["dt_ms"]
        for volume_id, n, each in zip(
            of.subjects.tolist(), of.numbers.tolist(), iops.tolist(), strict=True
        ):
            iops_by_volume[volume_id][n] = each
    return {volume_id: tuple(each) for volume_id, each in iops_by_volume.items()}

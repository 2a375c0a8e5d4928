"""What samples take on disk, by table and resolution, and what they will take in a year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Min

from storage.metrics.samples.chunk_store import KINDS, chunk_end, kept_for
from storage.models import Resolution, SampleChunk, Volume

YEAR: Final = timedelta(days=365)
DAY: Final = timedelta(days=1)
# The size of a partition is known exactly, its number of rows as of the last ANALYZE.
SIZES: Final = (
    "SELECT relname, pg_total_relation_size(relid), greatest(reltuples, 0)::bigint"
    " FROM pg_partition_tree(%s) JOIN pg_class ON oid = relid WHERE isleaf"
)
DATES: Final = {Resolution.RAW: "%Y%m%d", Resolution.FIVE_MINUTES: "%Y%m", Resolution.HOUR: "%Y"}
"""At the end of a partition's name: the day, the month or the year whose chunks it has."""
SUFFIXES: Final = {
    Resolution.RAW: "raw",
    Resolution.FIVE_MINUTES: "5m",
    Resolution.HOUR: "1h",
    Resolution.DAY: "1d",
}


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """`rows` is about how many there are. `year_bytes` is what will be there in a year, if all goes
    on as in the day, month or year that took most a day; None without any."""

    size_bytes: int
    rows: int
    year_bytes: int | None = None


def stored_chunks(now: datetime) -> dict[Resolution, StoredBytes]:
    """By resolution."""
    since: datetime | None = Volume.objects.aggregate(first=Min("created_at"))["first"]
    return {resolution: _stored(resolution, since or now, now) for resolution in Resolution}


def stored_rows() -> StoredBytes:
    """What is not packed yet."""
    partitions = [each for kind in KINDS for each in _partitions(kind.inbox)]
    return _total(partitions)


def _stored(resolution: Resolution, since: datetime, now: datetime) -> StoredBytes:
    """`since`: before that there was nothing to store, whatever a wrong clock has left."""
    partitions = _partitions(f"storage_samplechunk_{SUFFIXES[resolution]}")
    stored = _total(partitions)
    if not SampleChunk.objects.filter(resolution=resolution).exists():
        return stored
    a_day = max(
        size_bytes / (_lasted(resolution, name, since, now) / DAY)
        for name, size_bytes, _rows in partitions
    )
    lasting = min(YEAR, kept_for(resolution) or YEAR)
    return replace(stored, year_bytes=round(a_day * (lasting / DAY)))


def _lasted(resolution: Resolution, partition: str, since: datetime, now: datetime) -> timedelta:
    """How long the partition was filled, and a day at least."""
    if resolution is not Resolution.DAY:
        digits = partition.rpartition("_")[2]
        begin = datetime.strptime(digits, DATES[resolution]).replace(tzinfo=UTC)
        # It has the chunks of as long a time as a chunk of the next longer buckets.
        end = chunk_end(Resolution(resolution + 1), begin)
        since, now = max(begin, since), min(end, now)
    return max(DAY, now - since)


def _total(partitions: Sequence[tuple[str, int, int]]) -> StoredBytes:
    return StoredBytes(
        sum(size_bytes for _name, size_bytes, _rows in partitions),
        sum(rows for _name, _size_bytes, rows in partitions),
    )


def _partitions(table: str) -> list[tuple[str, int, int]]:
    """The name, the bytes and about how many rows of each; of a table without any, its own."""
    with connection.cursor() as cursor:
        cursor.execute(SIZES, [table])
        return list(cursor.fetchall())

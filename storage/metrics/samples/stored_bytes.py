"""What samples take on disk, by table and resolution, and what they will take in a year."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Min

from storage.metrics.samples.chunk_store import KINDS, kept_for
from storage.models import Resolution, SampleChunk

YEAR: Final = timedelta(days=365)
DAY: Final = timedelta(days=1)
# The size of a partition is known exactly, its number of rows as of the last ANALYZE.
SIZES: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint,"
    " coalesce(sum(greatest(reltuples, 0)), 0)::bigint"
    " FROM pg_partition_tree(%s) JOIN pg_class ON oid = relid WHERE isleaf"
)
SUFFIXES: Final = {
    Resolution.RAW: "raw",
    Resolution.FIVE_MINUTES: "5m",
    Resolution.HOUR: "1h",
    Resolution.DAY: "1d",
}


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """`rows` is about how many there are. `year_bytes` is what will be there in a year, if all goes
    on as since the first of them; None without any."""

    size_bytes: int
    rows: int
    year_bytes: int | None = None


def stored_chunks(now: datetime) -> dict[Resolution, StoredBytes]:
    """By resolution."""
    return {resolution: _stored(resolution, now) for resolution in Resolution}


def stored_rows() -> StoredBytes:
    """What is not packed yet."""
    parts = [_size(kind.inbox) for kind in KINDS]
    return StoredBytes(sum(each.size_bytes for each in parts), sum(each.rows for each in parts))


def _stored(resolution: Resolution, now: datetime) -> StoredBytes:
    stored = _size(f"storage_samplechunk_{SUFFIXES[resolution]}")
    chunks = SampleChunk.objects.filter(resolution=resolution)
    since: datetime | None = chunks.aggregate(first=Min("start"))["first"]
    if since is None:
        return stored
    a_day = stored.size_bytes / (max(DAY, now - since) / DAY)
    lasting = min(YEAR, kept_for(resolution) or YEAR)
    return StoredBytes(stored.size_bytes, stored.rows, round(a_day * (lasting / DAY)))


def _size(table: str) -> StoredBytes:
    with connection.cursor() as cursor:
        cursor.execute(SIZES, [table])
        size_bytes, rows = cursor.fetchone()
    return StoredBytes(size_bytes, rows)

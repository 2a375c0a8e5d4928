"""A volume's figures over one time window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from storage.metrics.rates import CachedBy, Figures, Sums, figures
from storage.metrics.rates.figures import NO_LATENCY
from storage.models import Volume


def kept() -> timedelta:
    """How long samples are kept, and what is added up of them."""
    return timedelta(days=settings.TIERCEL_SAMPLES_KEPT_DAYS)


# Sectors of bcache intervals count only where the backing device's are known.
BCACHE: Final = f"technology = {CachedBy.BCACHE:d} AND slow_read_sectors IS NOT NULL"
SUMS: Final = {
    "intervals": "count(*)",
    "bcache_reads": f"sum(reads) FILTER (WHERE {BCACHE})",
    "bcache_read_sectors": f"sum(read_sectors) FILTER (WHERE {BCACHE})",
    "backing_read_sectors": f"sum(slow_read_sectors) FILTER (WHERE {BCACHE})",
}
NAMES: Final = tuple(field.name for field in fields(Sums) if field.name != "latency_counts")
EXPRESSIONS: Final = (
    *(SUMS.get(name, f"sum({name})") for name in NAMES),
    *(f"sum(latency_counts[{n + 1}])" for n in range(len(NO_LATENCY))),
)
LAST: Final = tuple(
    f"(array_agg({name} ORDER BY ts DESC))[1]"
    for name in ("cache_size_bytes", "used_bytes", "dirty_bytes")
)
COLUMNS: Final = (*(f"coalesce({total}, 0)::bigint" for total in EXPRESSIONS), *LAST)
# Whole intervals only: one that began before the start holds what happened before it.
QUERY: Final = (
    f"SELECT {', '.join(COLUMNS)} FROM storage_sample"  # noqa: S608 (constants)
    " WHERE volume_id = %s AND ts > %s AND ts <= %s"
    " AND ts - dt_ms * interval '1 millisecond' >= %s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresWindow(Figures):
    """Figures of the whole intervals between `start` and `end`; `seconds` is what they cover.

    The gauges are those at the end, None without a cache.
    """

    start: datetime
    end: datetime
    intervals: int
    cache_size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int | None

    @property
    def coverage(self) -> float:
        """Share of the time that has figures, 0 to 1."""
        return self.seconds / (self.end - self.start).total_seconds()


def window(volume: Volume, start: datetime, end: datetime) -> FiguresWindow:
    """The figures of a volume from `start` to `end`. Without samples every rate is None."""
    if end <= start:
        raise ValueError("a window ends after its start")
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [volume.pk, start, end, start])
        row = cursor.fetchone()
    sums, gauges = summed(row)
    return FiguresWindow(
        **asdict(figures(sums)),
        start=start,
        end=end,
        intervals=sums.intervals,
        cache_size_bytes=gauges[0],
        used_bytes=gauges[1],
        dirty_bytes=gauges[2],
    )


def summed(row: Sequence[Any]) -> tuple[Sums, tuple[int | None, ...]]:
    """The sums and the gauges (size, used, dirty; in bytes) of a row of `COLUMNS`."""
    counts, gauges = row[len(NAMES) : -len(LAST)], row[-len(LAST) :]
    sums = Sums(**dict(zip(NAMES, row, strict=False)), latency_counts=tuple(counts))
    return sums, tuple(gauges)

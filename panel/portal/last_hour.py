"""A volume's last hour: the data behind the customer's one sentence and its sparkline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from django.db import connection

from storage.metrics.rates import Figures, Sums, figures
from storage.metrics.samples.window import COLUMNS, summed
from storage.models import Volume
from storage.volumes.ownership import each_theirs_since

LENGTH: Final = timedelta(hours=1)
PARTS: Final = 24
PART_SECONDS: Final = int(LENGTH.total_seconds()) // PARTS
QUERY: Final = (
    "SELECT volume_id, (ceil(extract(epoch FROM ts - %s) / %s) - 1)::int AS part,"  # noqa: S608
    " technology, cache_size_bytes, max(ts),"
    f" {', '.join(COLUMNS)} FROM storage_sample"
    " JOIN unnest(%s::bigint[], %s::timestamptz[]) AS since (volume, began)"
    " ON since.volume = volume_id"
    " WHERE volume_id = ANY(%s) AND ts > since.began AND ts > %s AND ts <= %s"
    " GROUP BY volume_id, part, technology, cache_size_bytes"
)


@dataclass(frozen=True, slots=True)
class Hour:
    """`whole` is over the hour, or since the cache changed in it (`is_since_change`); `parts` are
    the `PARTS` parts of the whole hour, oldest first, None = not known."""

    whole: Figures
    parts: tuple[Figures | None, ...]
    is_since_change: bool = False

    @property
    def reads(self) -> int:
        """How many reads the hour had."""
        return round((self.whole.read_iops or 0) * self.whole.seconds)

    @property
    def hit_rates(self) -> list[float | None]:
        """The share of reads served by the cache (0 to 1) in each part."""
        return [part.hit_rate if part is not None else None for part in self.parts]

    @property
    def read_times(self) -> list[float | None]:
        """What a read took on average in each part, in milliseconds."""
        return [part.read_ms if part is not None else None for part in self.parts]


def hours_of(volumes: Iterable[Volume], now: datetime) -> dict[int, Hour]:
    """The hour up to `now` of each volume, by primary key; those without a sample in it are
    missing. Two queries for all. It ends with the part that still lasts, so that parts keep their
    borders from one request to the next, and what a former customer did is not in it."""
    end = datetime.fromtimestamp(ceil(now.timestamp() / PART_SECONDS) * PART_SECONDS, now.tzinfo)
    start = end - LENGTH
    volumes = list(volumes)
    keys, began = [volume.pk for volume in volumes], each_theirs_since(volumes)
    stretches: dict[int, list[_Part]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            QUERY,
            [start, PART_SECONDS, keys, [began.get(key, start) for key in keys], keys, start, end],
        )
        for key, n, technology, size_bytes, last_at, *row in cursor.fetchall():
            part = _Part(n, (technology, size_bytes), last_at, _sums(row))
            stretches.setdefault(key, []).append(part)
    return {key: _hour(parts) for key, parts in stretches.items()}


@dataclass(frozen=True, slots=True)
class _Part:
    """The sums of a part of the hour while the volume had one `cache` (technology and size)."""

    n: int
    cache: tuple[int, int | None]
    last_at: datetime
    sums: Sums


def _sums(row: list[Any]) -> Sums:
    sums, _gauges = summed(row)
    return sums


def _hour(parts: list[_Part]) -> Hour:
    latest = max(parts, key=lambda part: part.last_at)
    whole = sum((part.sums for part in parts if part.cache == latest.cache), Sums())
    by_part: dict[int, Sums] = {}
    for part in parts:
        by_part[part.n] = by_part.get(part.n, Sums()) + part.sums
    return Hour(
        figures(whole),
        tuple(figures(by_part[n]) if n in by_part else None for n in range(PARTS)),
        any(part.cache != latest.cache for part in parts),
    )

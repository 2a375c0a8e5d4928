"""What each cache of a host does for the SSD that it takes: I/Os that it serves for each GiB and
hour, which caches are idle, and which are larger than they need to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from storage.analysis.advice.past_loads import look_back_start, was_uncached
from storage.analysis.size_forecasts import SAME_SIZE, SizePoint, is_same_size
from storage.byte_sizes import GIB
from storage.formatting import size
from storage.metrics.rates import read_hit_rate
from storage.metrics.samples.aggregate import Aggregate, aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.volumes.snapshot import VolumeSnapshot

HOUR: Final = 3600
DAY: Final = 24 * HOUR
LEAST_SECONDS: Final = DAY
"""Figures of less time say nothing of a cache."""
IDLE_SECONDS: Final = 7 * DAY
IDLE_PER_GIB_HOUR: Final = 1.0
"""A cache that serves fewer I/Os of each of its GiB in an hour is idle. An HDD does as many in some
milliseconds."""
KEPT: Final = timedelta(days=400)
"""How far back samples are searched for the last day on which it was not idle."""
KEEPS: Final = 0.97
"""A smaller size that serves this part of the reads that the present one serves is enough."""
FIGURES: Final = VOLUMES.only(
    "reads",
    "writes",
    "read_hits",
    "read_misses",
    "write_hits",
    "read_sectors",
    "slow_read_sectors",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheYield:
    """Of one cache, in the `seconds` of the last two weeks that have figures of it.
    `served_per_hour` are reads, and in writeback writes, that the SSD served; `per_gib_hour` is
    that of each GiB. Both are None where the figures are too few. `busy_until` is the end of the
    last day on which an idle cache was not, None where no day of 400 is known. `enough` is the
    smallest size that would serve nearly as much, by its curve."""

    row: VolumeSnapshot
    size_bytes: int
    seconds: float
    served_per_hour: float | None = None
    is_idle: bool = False
    busy_until: datetime | None = None
    enough: SizePoint | None = None

    @property
    def per_gib_hour(self) -> float | None:
        if self.served_per_hour is None:
            return None
        return self.served_per_hour / (self.size_bytes / GIB)

    @property
    def verdict(self) -> str:
        """In a sentence for people; "" where there is nothing to say."""
        if self.is_idle and self.busy_until is not None:
            return f"Idle since {self.busy_until:%d %b %Y}."
        if self.is_idle:
            return "Idle as long as it is measured."
        if self.enough is not None:
            return f"{size(self.enough.size_bytes)} would serve nearly as much."
        if self.served_per_hour is None:
            return "Measured for less than a day."
        return ""

    @property
    def spare_bytes(self) -> int:
        """What the smaller size frees."""
        return self.size_bytes - self.enough.size_bytes if self.enough is not None else 0


def cache_yields(
    rows: Sequence[VolumeSnapshot], points: Mapping[int, Sequence[SizePoint]], now: datetime
) -> tuple[CacheYield, ...]:
    """Of the rows with a cache, those that do least for their SSD first, those of which that is not
    known last. `points` are by the volume's primary key. Two queries."""
    cached = {row.volume.pk: row for row in rows if row.cache is not None and row.cache.size_bytes}
    served, seconds = defaultdict[int, float](float), defaultdict[int, float](float)
    start = look_back_start(now)
    for each in aggregate(list(cached), start, now, kind=FIGURES, apart=True):
        row = cached[each.subject_id]
        if _is_of_this_cache(each, row):
            served[each.subject_id] += _served(each, row)
            seconds[each.subject_id] += each.counts["cache_ms"] / 1000
    yields = [
        _yield(row, served[pk], seconds[pk], points.get(pk, ())) for pk, row in cached.items()
    ]
    busy_until = _busy_until([each.row for each in yields if each.is_idle], now)
    dated = [replace(each, busy_until=busy_until.get(each.row.volume.pk)) for each in yields]
    return tuple(sorted(dated, key=_least_first))


def _least_first(of: CacheYield) -> tuple[bool, float, str]:
    return of.per_gib_hour is None, of.per_gib_hour or 0.0, of.row.volume.label


def _yield(
    row: VolumeSnapshot, served: float, seconds: float, points: Sequence[SizePoint]
) -> CacheYield:
    cache = row.cache
    size_bytes = (cache.size_bytes or 0) if cache is not None else 0
    enough = _enough(points, size_bytes)
    if seconds < LEAST_SECONDS:
        return CacheYield(row=row, size_bytes=size_bytes, seconds=seconds, enough=enough)
    per_hour = served * HOUR / seconds
    is_idle = seconds >= IDLE_SECONDS and per_hour < IDLE_PER_GIB_HOUR * size_bytes / GIB
    return CacheYield(
        row=row,
        size_bytes=size_bytes,
        seconds=seconds,
        served_per_hour=per_hour,
        is_idle=is_idle,
        enough=enough,
    )


def _enough(points: Sequence[SizePoint], size_bytes: int) -> SizePoint | None:
    now = next((each for each in points if is_same_size(each.size_bytes, size_bytes)), None)
    if now is None or not now.hit_rate:
        return None
    smaller = (each for each in points if 0 < each.size_bytes < (1 - SAME_SIZE) * size_bytes)
    return next((each for each in smaller if each.hit_rate >= KEEPS * now.hit_rate), None)


def _busy_until(rows: Sequence[VolumeSnapshot], now: datetime) -> dict[int, datetime]:
    """The end of the last day on which each served enough; one query, none without rows."""
    if not rows:
        return {}
    by_id, midnight = (
        {row.volume.pk: row for row in rows},
        now.replace(hour=0, minute=0, second=0, microsecond=0),
    )
    start = midnight - KEPT
    busy_until = dict[int, datetime]()
    for each in aggregate(list(by_id), start, now, kind=FIGURES, step=DAY, apart=True):
        row, size_bytes = by_id[each.subject_id], each.last["cache_size_bytes"] or 0
        hours = each.counts["cache_ms"] / 1000 / HOUR
        if not was_uncached(each) and hours and size_bytes:
            per_gib_hour = _served(each, row) / hours / (size_bytes / GIB)
            if per_gib_hour >= IDLE_PER_GIB_HOUR:
                ended = datetime.fromtimestamp(each.ended, UTC)
                busy_until[each.subject_id] = max(busy_until.get(each.subject_id, ended), ended)
    return busy_until


def _served(each: Aggregate, row: VolumeSnapshot) -> float:
    """I/Os that the SSD served. In writethrough a write waits for the HDD, whatever it hits."""
    reads = each.sums.reads * (read_hit_rate(each.sums, least=1) or 0.0)
    if row.cache is None or row.cache.mode != "writeback":
        return reads
    return reads + (each.counts["write_hits"] or each.counts["writes"])


def _is_of_this_cache(each: Aggregate, row: VolumeSnapshot) -> bool:
    size_bytes = (row.cache.size_bytes or 0) if row.cache is not None else 0
    return not was_uncached(each) and is_same_size(each.last["cache_size_bytes"] or 0, size_bytes)

"""What volumes did in the last two weeks, day by day, and in the last hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

from storage.analysis.advice.usage import VolumeLoad
from storage.metrics.rates import CachedBy, Sums
from storage.metrics.samples.aggregate import Aggregate, added_up, intervals
from storage.metrics.samples.chunk_store import VOLUMES

HOUR: Final = 3600
DAY: Final = 24 * HOUR
LOOK_BACK: Final = timedelta(days=14)
"""Two whole weeks: each day of the week counts twice, so that no odd week decides."""
RECENT: Final = timedelta(hours=1)
"""What is shown as the present; nothing is judged by it."""
# Those of which the figures here are made: a histogram alone is as many columns.
COLUMNS: Final = VOLUMES.only(
    "busy_ms", "read_hits", "read_misses", "read_sectors", "slow_read_sectors", "write_sectors"
)
MOST_AT_ONCE: Final = 500
"""Two weeks of so many volumes are held in memory together."""


@dataclass(frozen=True, slots=True)
class PastLoad:
    """`days` are those of `whole` that have figures, 24 hours each, the oldest first; the last one
    ends with the hour that is not over yet."""

    recent: VolumeLoad
    whole: VolumeLoad
    days: tuple[VolumeLoad, ...]


def look_back_start(now: datetime) -> datetime:
    """Since when figures count: whole days before the end of this hour."""
    return datetime.fromtimestamp(ceil(now.timestamp() / HOUR) * HOUR, UTC) - LOOK_BACK


def past_loads(volume_ids: Collection[int], now: datetime) -> dict[int, PastLoad]:
    """By primary key; volumes without any figure are missing. One query for each `MOST_AT_ONCE` of
    them, of buckets of an hour where these are stored."""
    start, past = look_back_start(now), dict[int, PastLoad]()
    ids = list(volume_ids)
    for first in range(0, len(ids), MOST_AT_ONCE):
        batch = ids[first : first + MOST_AT_ONCE]
        table = intervals(batch, start, now, kind=COLUMNS, step=DAY)
        # Whole intervals only, as in a window.
        recent = _by_volume(added_up(table.begun_since(now - RECENT), start, DAY, apart=True))
        for volume_id, parts in _by_volume(added_up(table, start, DAY, apart=True)).items():
            of_hour = recent.get(volume_id, [])
            past[volume_id] = PastLoad(_load(of_hour), _load(parts), _days(parts))
    return past


@dataclass(frozen=True, slots=True)
class _DayPart:
    """What a volume did on day `n`, with one cache or without any."""

    n: int
    sums: Sums
    is_uncached: bool


def _by_volume(parts: Iterable[Aggregate]) -> dict[int, list[_DayPart]]:
    by_volume = defaultdict[int, list[_DayPart]](list)
    for each in parts:
        by_volume[each.subject_id].append(_DayPart(each.n, each.sums, was_uncached(each)))
    return by_volume


def _days(parts: Sequence[_DayPart]) -> tuple[VolumeLoad, ...]:
    by_day = defaultdict[int, list[_DayPart]](list)
    for each in parts:
        by_day[each.n].append(each)
    return tuple(_load(by_day[n]) for n in sorted(by_day))


def _load(parts: Sequence[_DayPart]) -> VolumeLoad:
    whole = _total([each.sums for each in parts])
    if all(each.is_uncached for each in parts):
        return VolumeLoad(whole, whole)
    return VolumeLoad(whole, _total([each.sums for each in parts if each.is_uncached]))


def _total(sums: Sequence[Sums]) -> Sums:
    return sums[0] if len(sums) == 1 else sum(sums, Sums())


def was_uncached(each: Aggregate) -> bool:
    """Whether these intervals are of a time without a cache."""
    return each.last["technology"] == CachedBy.NONE and each.last["cache_size_bytes"] is None

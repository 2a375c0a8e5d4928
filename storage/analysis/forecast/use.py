"""How a volume was used since its last change: the basis of every sentence about it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from storage.analysis.forecast.words import DAY
from storage.byte_sizes import SECTOR_BYTES
from storage.metrics.rates import CachedBy, Sums, read_hit_rate
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.waiting import waited_seconds

LEAST_SECONDS: Final = 120
"""Figures of less time say nothing of today."""
ENOUGH_SECONDS: Final = 600
"""Figures of less time say nothing of what another plan would bring."""
SAME_CACHE: Final = 0.9
"""A cache whose size changed by less than the rest of this factor is the same cache."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the time in which the volume had one cache, or none: its sums, and what the cache
    held at the end. `begun_at` and `ended_at` are the borders of what was measured."""

    begun_at: datetime
    ended_at: datetime
    technology: CachedBy
    cache_size_bytes: int | None
    used_bytes: int | None
    sums: Sums


@dataclass(frozen=True, slots=True)
class FormerCache:
    """What a volume without a cache had from its last one: `hit_rate` (0 to 1), between what and
    what it lay in parts of the time, and what a read took then."""

    size_bytes: int
    hit_rate: float
    hit_rate_low: float
    hit_rate_high: float
    read_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """`days` lie between the first figure and now, `covered` of them (0 to 1) has figures,
    `seconds` long. `is_since_change`: before that the volume had another cache. `on_ssd`: all of
    it lies on SSD.

    `hit_rate` (0 to 1) is of reads, None without a cache or with too few reads; `latest_hit_rate`
    is that of the later half of the time, when a new cache is warmer than on the whole.
    `waited_seconds_per_day` is the time reads waited for the slow disk
    (`storage.metrics.waiting`). `missed_bytes_per_second` is what the slow disk had to
    read for the guest. `former` is known of a volume that lately had a cache and now has none.
    `sums` are of the `seconds`.
    """

    volume_bytes: int
    on_ssd: bool = False
    days: float = 0.0
    covered: float = 0.0
    seconds: float = 0.0
    is_since_change: bool = False
    reads: int = 0
    read_iops: float = 0.0
    read_ms: float | None = None
    cache_size_bytes: int | None = None
    used_bytes: int | None = None
    grew_bytes: int = 0
    hit_rate: float | None = None
    latest_hit_rate: float | None = None
    waited_seconds_per_day: float = 0.0
    missed_bytes_per_second: float = 0.0
    former: FormerCache | None = None
    sums: Sums = field(default_factory=Sums)

    @property
    def has_cache(self) -> bool:
        return self.cache_size_bytes is not None

    @property
    def best_hit_rate(self) -> float | None:
        """What the cache has reached: its time of warming up says nothing of what it can."""
        if self.hit_rate is None:
            return None
        return max(self.hit_rate, self.latest_hit_rate or 0.0)

    @property
    def waited_seconds(self) -> float:
        """The wait of all the time that has figures."""
        return self.waited_seconds_per_day * self.seconds / DAY

    @property
    def is_hardly_used(self) -> bool:
        return self.reads < MIN_ACCESSES


def use(
    volume_bytes: int, stretches: Iterable[Stretch], until: datetime, *, on_ssd: bool = False
) -> Use:
    """The use of a volume up to `until`, since it last got another cache; `stretches` in any order.
    What is missing at the end is time without figures."""
    ordered = sorted(stretches, key=lambda each: (each.ended_at, each.begun_at))
    if not ordered:
        return Use(volume_bytes=volume_bytes, on_ssd=on_ssd)
    now = [ordered[-1]]
    for each in reversed(ordered[:-1]):
        if not _is_same(each, ordered[-1]):
            break
        now.append(each)
    sums = sum((each.sums for each in now), Sums())
    seconds, last = sums.dt_ms / 1000, now[0]
    end = max(until, last.ended_at)
    length = max((end - min(each.begun_at for each in now)).total_seconds(), seconds)
    has_cache = last.technology != CachedBy.NONE
    hit_rate = read_hit_rate(sums) if has_cache else None
    later = sum((each.sums for each in now[: (len(now) + 1) // 2]), Sums())
    waited = sum(waited_seconds(each.sums) for each in now)
    missed = 1.0 if not has_cache else 1 - (hit_rate or 0.0)
    fill = [each.used_bytes for each in now if each.used_bytes is not None]
    return Use(
        volume_bytes=volume_bytes,
        on_ssd=on_ssd,
        days=length / DAY,
        covered=seconds / length if length else 0.0,
        seconds=seconds,
        is_since_change=len(now) < len(ordered),
        reads=sums.reads,
        read_iops=sums.reads / seconds if seconds else 0.0,
        read_ms=sums.read_ms / sums.reads if sums.reads else None,
        cache_size_bytes=last.cache_size_bytes if has_cache else None,
        used_bytes=last.used_bytes if has_cache else None,
        grew_bytes=max(0, fill[0] - fill[-1]) if len(fill) > 1 else 0,
        hit_rate=hit_rate,
        latest_hit_rate=read_hit_rate(later) if has_cache else None,
        waited_seconds_per_day=waited / seconds * DAY if seconds else 0.0,
        missed_bytes_per_second=(
            sums.read_sectors * SECTOR_BYTES * missed / seconds if seconds else 0.0
        ),
        sums=sums,
        former=None if has_cache else _former(ordered[: len(ordered) - len(now)]),
    )


def _former(earlier: list[Stretch]) -> FormerCache | None:
    """The last cache before, if it was measured for long enough."""
    last = next((each for each in reversed(earlier) if each.cache_size_bytes), None)
    if last is None:
        return None
    parts = [each.sums for each in earlier if _is_same(each, last)]
    sums = sum(parts, Sums())
    rate = read_hit_rate(sums)
    if sums.dt_ms / 1000 < ENOUGH_SECONDS or rate is None or not sums.reads:
        return None
    rates = [rate, *(each for part in parts if (each := read_hit_rate(part)) is not None)]
    ms = sums.read_ms / sums.reads
    return FormerCache(last.cache_size_bytes or 0, rate, min(rates), max(rates), ms)


def _is_same(one: Stretch, other: Stretch) -> bool:
    if one.technology != other.technology:
        return False
    first, second = one.cache_size_bytes or 0, other.cache_size_bytes or 0
    return min(first, second) >= SAME_CACHE * max(first, second)

"""What each cache technology counts: differences of its counters, and its gauges.

Nothing else of the metrics asks which technology a volume has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeVar

from storage.byte_sizes import SECTOR_BYTES
from storage.inventory.cache_counts import COUNTERS, BcacheCounts, Bound, CacheCounts, DmCacheCounts
from storage.metrics.counters import BcacheCounters, DiskCounters, DmCacheCounters, VolumeCounters
from storage.metrics.rates.disk import HALF, SLACK_IO, WRAP, subtract
from storage.metrics.rates.gaps import GapReason
from storage.metrics.rates.legs import bcache_legs, dm_cache_legs

METADATA_BLOCK_BYTES: Final = 4096
"""Of every dm-cache (DM_CACHE_METADATA_BLOCK_SIZE)."""
Counts = TypeVar("Counts", DmCacheCounts, BcacheCounts)
FOLD_LIMIT: Final = 65_535
"""bcache folds its counters every 13.64 s and keeps 16 bits of what was counted since."""


class CachedBy(IntEnum):
    """What cached the volume at the end of an interval."""

    NONE = 0
    DM_CACHE = 1
    BCACHE = 2


@dataclass(frozen=True, slots=True)
class CacheDelta:
    """What the cache counted, and what the two legs did below: the slow disk, and the SSD with the
    cache's metadata (`fast_busy_ms` without it).

    Of older agents' bcache only the slow leg is known. All None: no cache, or a gap.
    """

    counts: CacheCounts | None = None
    slow_read_sectors: int | None = None
    slow_write_sectors: int | None = None
    fast_read_sectors: int | None = None
    fast_write_sectors: int | None = None
    slow_reads: int | None = None
    slow_writes: int | None = None
    slow_read_ms: int | None = None
    slow_write_ms: int | None = None
    slow_busy_ms: int | None = None
    slow_weighted_ms: int | None = None
    fast_reads: int | None = None
    fast_writes: int | None = None
    fast_read_ms: int | None = None
    fast_write_ms: int | None = None
    fast_busy_ms: int | None = None
    fast_weighted_ms: int | None = None
    slow_latency_counts: tuple[int, ...] | None = None
    fast_latency_counts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class CacheChange:
    """`gap` says why the accesses are missing."""

    cache: CacheDelta
    gap: GapReason | None = None


@dataclass(frozen=True, slots=True)
class Gauges:
    """What a cache is and holds at one moment; sizes are None without a cache or when it failed.

    `cache_state` says what is wrong with it, "" when nothing is.
    """

    technology: CachedBy
    cache_mode: str = ""
    cache_state: str = ""
    cache_size_bytes: int | None = None
    used_bytes: int | None = None
    dirty_bytes: int | None = None
    metadata_used_bytes: int | None = None
    metadata_total_bytes: int | None = None


def cache_delta(
    old: VolumeCounters, new: VolumeCounters, disk: DiskCounters, dt_ms: int
) -> CacheChange:
    if new.bcache is not None and old.bcache is not None:
        return _as_change(_bcache(old, new, old.bcache, new.bcache, dt_ms))
    if new.cache is None:
        return CacheChange(CacheDelta())
    if new.cache.failed:
        return _as_change(GapReason.CACHE_FAILED)
    # The kernel keeps counting hits in this mode although every read goes to the slow disk.
    unused = GapReason.CACHE_PASSTHROUGH if new.cache.mode == "passthrough" else None
    if old.cache is None:
        return _as_change(unused or GapReason.CACHE_ATTACHED)
    if _shape(old.cache) != _shape(new.cache):
        # Whatever of these changes, the table was loaded anew and the counters rewound with it.
        return _as_change(unused or GapReason.CACHE_CHANGED)
    # The legs are devices of their own: their counters outlive what happens to the cache's.
    legs = dm_cache_legs(old.cache, new.cache, dt_ms)
    counts = unused or _dm_cache(old.cache, new.cache, disk)
    if isinstance(counts, GapReason):
        return CacheChange(CacheDelta(**legs), counts)
    return CacheChange(CacheDelta(counts, **legs))


def _as_change(change: CacheDelta | GapReason) -> CacheChange:
    if isinstance(change, GapReason):
        return CacheChange(CacheDelta(), change)
    return CacheChange(change)


def gauges(counters: VolumeCounters) -> Gauges:
    """Size, used and dirty bytes of the cache. The use of bcache is known to a percent and some
    minutes late; it prints dirty data with one decimal digit."""
    cache, bcache = counters.cache, counters.bcache
    if bcache is not None and bcache.cset_uuid is not None:
        size, percent = bcache.cset_size_bytes, bcache.unused_percent
        return Gauges(
            technology=CachedBy.BCACHE,
            cache_mode=bcache.cache_mode,
            cache_state="inconsistent" if bcache.state == "inconsistent" else "",
            cache_size_bytes=size,
            used_bytes=None if size is None or percent is None else size * (100 - percent) // 100,
            dirty_bytes=bcache.dirty_bytes,
        )
    if cache is None:
        return Gauges(CachedBy.NONE)
    if cache.failed:
        return Gauges(CachedBy.DM_CACHE, cache.mode, "failed")
    chunk_bytes = cache.chunk_sectors * SECTOR_BYTES
    return Gauges(
        technology=CachedBy.DM_CACHE,
        cache_mode=cache.mode,
        cache_state="needs check" if cache.needs_check else "read-only" if cache.read_only else "",
        cache_size_bytes=cache.total * chunk_bytes,
        used_bytes=cache.used * chunk_bytes,
        dirty_bytes=cache.dirty * chunk_bytes,
        metadata_used_bytes=cache.metadata_used * METADATA_BLOCK_BYTES,
        metadata_total_bytes=cache.metadata_total * METADATA_BLOCK_BYTES,
    )


@dataclass(frozen=True, slots=True)
class CacheInside:
    """What a sample says of a cache beside its gauges. `metadata_share` is 0 to 1, `chunk_bytes`
    what it promotes at once; `read_counts` are its own totals of hits, misses, hits and misses that
    it let pass, and the guest's reads. None where its technology does not report it."""

    is_cleaning: bool = False
    is_read_only: bool = False
    metadata_share: float | None = None
    chunk_bytes: int | None = None
    read_counts: tuple[int, int, int, int, int] | None = None


def inside(counters: VolumeCounters) -> CacheInside:
    cache, bcache = counters.cache, counters.bcache
    if bcache is not None:
        totals = (bcache.hits, bcache.misses, bcache.bypass_hits, bcache.bypass_misses)
        return CacheInside(read_counts=(*totals, bcache.disk.reads))
    if cache is None or cache.failed:
        return CacheInside()
    return CacheInside(
        is_cleaning=cache.policy == "cleaner",
        is_read_only=cache.read_only and not cache.needs_check,
        metadata_share=cache.metadata_used / cache.metadata_total if cache.metadata_total else None,
        chunk_bytes=cache.chunk_sectors * SECTOR_BYTES,
    )


def guest_disk(counters: VolumeCounters) -> DiskCounters:
    """The device that the guest uses: bcacheN of a bcache volume, else the logical volume."""
    return counters.disk if counters.bcache is None else counters.bcache.disk


def guest_device(counters: VolumeCounters) -> tuple[str, str] | None:
    """The device that stands in front of the logical volume, by its uuid and its name."""
    bcache = counters.bcache
    return None if bcache is None else (bcache.uuid, bcache.device)


def has_latency(counters: VolumeCounters) -> bool:
    """Whether the histogram of the logical volume is that of what the guest does."""
    return counters.bcache is None


def _bcache(
    old: VolumeCounters,
    new: VolumeCounters,
    before: BcacheCounters,
    after: BcacheCounters,
    dt_ms: int,
) -> CacheDelta | GapReason:
    if after.cset_uuid is None:
        return CacheDelta()
    if after.state == "inconsistent":
        return GapReason.CACHE_FAILED
    if before.cset_uuid is None:
        return GapReason.CACHE_ATTACHED
    if before.cset_uuid != after.cset_uuid:
        return GapReason.CACHE_CHANGED
    backing = subtract(old.disk, new.disk)
    if backing is None:
        return GapReason.CACHE_REWOUND
    legs = bcache_legs(before, after, backing, dt_ms)
    return CacheDelta(_counted(before, after), **legs)


def _counted(old: BcacheCounters, new: BcacheCounters) -> BcacheCounts | None:
    """Its own counts of reads; None where some may be lost."""
    disk = subtract(old.disk, new.disk)
    if disk is None:
        return None
    slack = FOLD_LIMIT + SLACK_IO
    most = _bounds(3 * disk.reads // 2 + slack, 3 * disk.writes // 2 + slack)
    counts = _added(BcacheCounts, old, new, most, wraps=False)
    if isinstance(counts, GapReason):
        return None
    reads = counts.hits + counts.misses + counts.bypass_hits + counts.bypass_misses
    # With so few reads no fold can have lost any; with more, it shows in their sum.
    is_whole = disk.reads <= FOLD_LIMIT or reads >= 3 * disk.reads // 4
    return counts if is_whole and reads <= most[Bound.READS] else None


def _dm_cache(
    old: DmCacheCounters, new: DmCacheCounters, disk: DiskCounters
) -> DmCacheCounts | GapReason:
    origin, cdata = _leg(old.origin, new.origin), _leg(old.cdata, new.cdata)
    reads = _most(disk.reads, disk.read_sectors, new, _sum(origin, cdata, "reads"))
    writes = _most(disk.writes, disk.write_sectors, new, _sum(origin, cdata, "writes"))
    # Promotions and demotions restart at 0 whenever a table is loaded, which shows that the others
    # rewound.
    counts = _added(DmCacheCounts, old, new, _bounds(reads, writes, new.total), wraps=True)
    if isinstance(counts, GapReason):
        return counts
    accesses = counts.read_hits + counts.read_misses
    if accesses > reads or counts.write_hits + counts.write_misses > writes:
        return GapReason.CACHE_IMPLAUSIBLE
    # Every read of the volume is a hit or a miss: where many are neither, the counters rewound and
    # have passed their old values again. Not so for writes: some are never counted.
    return counts if accesses >= _least(disk.reads) else GapReason.CACHE_REWOUND


def _bounds(reads: int, writes: int, chunks: int = 0) -> dict[Bound, int]:
    return {Bound.READS: reads, Bound.WRITES: writes, Bound.MOVES: reads + writes + chunks}


def _added(
    counts: type[Counts], old: Counts, new: Counts, most: Mapping[Bound, int], *, wraps: bool
) -> Counts | GapReason:
    """What each counter added; one that an older agent does not send stays None. The reason why it
    is not known, where one went back or added more than it can. `wraps`: they have 32 bits."""
    added: dict[str, Any] = {}
    reason = None
    for name, counter in COUNTERS[counts].items():
        a, b, limit = getattr(old, name), getattr(new, name), most[counter.bound]
        if a is None or b is None:
            added[name] = None
            continue
        if b < a and not (wraps and a > HALF and b + WRAP - a <= limit):
            return GapReason.CACHE_REWOUND
        added[name] = b - a if b >= a else b + WRAP - a
        if added[name] > limit:
            reason = GapReason.CACHE_IMPLAUSIBLE
    return reason or counts(**added)


def _shape(cache: DmCacheCounters) -> tuple[int, int, str, str]:
    return cache.chunk_sectors, cache.total, cache.mode, cache.policy


def _leg(old: DiskCounters | None, new: DiskCounters | None) -> DiskCounters | None:
    return None if old is None or new is None else subtract(old, new)


def _sum(origin: DiskCounters | None, cdata: DiskCounters | None, name: str) -> int:
    return sum(getattr(leg, name) for leg in (origin, cdata) if leg is not None)


def _most(ios: int, sectors: int, cache: DmCacheCounters, below: int) -> int:
    """The most accesses that an interval's I/O can be: an I/O counts once for each chunk it
    touches. `below` is the I/O of the two legs, where that of a snapshot's readers shows too."""
    return 3 * max(ios + sectors // max(1, cache.chunk_sectors), below) // 2 + SLACK_IO


def _least(ios: int) -> int:
    """The fewest accesses that an interval's I/O can be: as many, but that disk and cache are not
    read in the same moment."""
    return 3 * ios // 4 - SLACK_IO

"""The counters of a volume's last sample, for people: names, numbers, units.

Pure. The counters only grow, and restart when the kernel recreates the device. The panel's figures
are differences of two samples; this table is for checking a doubtful figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from storage.host_data import BadHostData
from storage.metrics.counters import (
    BCACHE_UNITS,
    DISK_UNITS,
    DM_CACHE_UNITS,
    LATENCY_BOUNDS_NS,
    BcacheCounters,
    DiskCounters,
    DmCacheCounters,
    decode_volume,
)


@dataclass(frozen=True, slots=True)
class Counter:
    """`unit` is what one of `value` stands for."""

    name: str
    value: int
    unit: str


@dataclass(frozen=True, slots=True)
class CounterGroup:
    """Counters of one device or one source; `source` is where the kernel shows them."""

    title: str
    source: str
    counters: tuple[Counter, ...]


def groups(stored: Any) -> tuple[CounterGroup, ...]:
    """What `LatestSample.counters` holds; () where another version of the panel wrote it."""
    try:
        counters_read = decode_volume(stored)
    except BadHostData:
        return ()
    shown = [_disk(f"Logical volume {counters_read.kname}", counters_read.disk)]
    if counters_read.cache is not None:
        shown += _dm_cache(counters_read.cache)
    if counters_read.bcache is not None:
        shown += _bcache(counters_read.bcache)
    if counters_read.latency is not None:
        buckets = zip(_bounds(), counters_read.latency.counts, strict=True)
        counters = tuple(Counter(bound, count, "I/Os") for bound, count in buckets)
        shown.append(
            CounterGroup("Latency of reads and writes", "dmsetup message @stats_print", counters)
        )
    return tuple(shown)


def _disk(title: str, disk: DiskCounters) -> CounterGroup:
    counters = (Counter(name, value, _unit(name)) for name, value in disk._asdict().items())
    return CounterGroup(title, "/proc/diskstats", tuple(counters))


def _unit(name: str) -> str:
    return DISK_UNITS.get(name) or ("ms" if name.endswith("_ms") else "I/Os")


def _dm_cache(cache: DmCacheCounters) -> list[CounterGroup]:
    counters = (Counter(name, getattr(cache, name), unit) for name, unit in DM_CACHE_UNITS.items())
    legs = (("Slow device below (origin)", cache.origin), ("SSD below (cache data)", cache.cdata))
    return [
        CounterGroup("dm-cache", "dmsetup status", tuple(counters)),
        *(_disk(title, leg) for title, leg in legs if leg is not None),
    ]


def _bcache(bcache: BcacheCounters) -> list[CounterGroup]:
    known = ((name, getattr(bcache, name), unit) for name, unit in BCACHE_UNITS.items())
    counters = tuple(Counter(*each) for each in known if each[1] is not None)
    return [
        _disk(f"What the guest sees, {bcache.device}", bcache.disk),
        CounterGroup("bcache", f"/sys/block/{bcache.device}/bcache", counters),
    ]


def _bounds() -> list[str]:
    bounds = [f"{bound / 1e6:g} ms" for bound in LATENCY_BOUNDS_NS]
    between = [f"{low} to {high}" for low, high in pairwise(bounds)]
    return [f"below {bounds[0]}", *between, f"{bounds[-1]} and more"]

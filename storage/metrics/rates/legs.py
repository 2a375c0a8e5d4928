"""What a cache did below the volume in an interval: the slow leg (origin, or bcache's backing
device) and the fast one (cache data with its metadata, or the cache set)."""

from __future__ import annotations

from typing import Any, Final

from storage.metrics.counters import BcacheCounters, DiskCounters, DmCacheCounters
from storage.metrics.rates.disk import counts_since, is_plausible, subtract

FIGURES: Final = (
    "reads",
    "writes",
    "read_sectors",
    "write_sectors",
    "read_ms",
    "write_ms",
    "busy_ms",
    "weighted_ms",
)
SUMMED: Final = tuple(name for name in FIGURES if name != "busy_ms")
"""Two devices that are busy at once are not busy for twice the time."""


def dm_cache_legs(old: DmCacheCounters, new: DmCacheCounters, dt_ms: int) -> dict[str, Any]:
    """The fields of `CacheDelta` about the legs; unknown ones are missing."""
    slow = _moved(old.origin, new.origin, dt_ms)
    fast = _moved(old.cdata, new.cdata, dt_ms)
    metadata = _moved(old.cmeta, new.cmeta, dt_ms)
    figures = {**_named("slow", slow), **_named("fast", fast)}
    if fast is not None and metadata is not None:
        for name in SUMMED:
            figures[f"fast_{name}"] = getattr(fast, name) + getattr(metadata, name)
    return {
        **figures,
        "slow_latency_counts": _since(old.origin_counts, new.origin_counts, slow),
        "fast_latency_counts": _since(old.cdata_counts, new.cdata_counts, fast),
    }


def bcache_legs(
    old: BcacheCounters, new: BcacheCounters, backing: DiskCounters, dt_ms: int
) -> dict[str, Any]:
    """The same of bcache; `backing` is what its backing device did."""
    fast = _moved(old.cset_disk, new.cset_disk, dt_ms)
    return {
        **_named("slow", backing),
        **_named("fast", fast),
        "slow_latency_counts": _since(old.backing_counts, new.backing_counts, backing),
        "fast_latency_counts": _since(old.cset_counts, new.cset_counts, fast),
    }


def _named(leg: str, moved: DiskCounters | None) -> dict[str, int | None]:
    return {} if moved is None else {f"{leg}_{name}": getattr(moved, name) for name in FIGURES}


def _moved(old: DiskCounters | None, new: DiskCounters | None, dt_ms: int) -> DiskCounters | None:
    moved = None if old is None or new is None else subtract(old, new)
    return moved if moved is not None and is_plausible(moved, dt_ms) else None


def _since(
    old: tuple[int, ...] | None, new: tuple[int, ...] | None, leg: DiskCounters | None
) -> tuple[int, ...] | None:
    return None if leg is None else counts_since(old, new, leg)

"""Differences of diskstats counters."""

from __future__ import annotations

from typing import Final

from storage.host_data import INT_LIMIT
from storage.metrics.counters import DiskCounters

MAX_IO_PER_SECOND: Final = 2_000_000
MAX_SECTORS_PER_SECOND: Final = 200_000_000  # 100 GB/s
# Counters are read some ms apart, and I/O counts for dm-cache when it starts but for diskstats
# when it ends: what a queue may hold.
SLACK_IO: Final = 1024
WRAP: Final = 2**32
HALF: Final = 2**31

_MS_FIELDS: Final = frozenset(name for name in DiskCounters._fields if name.endswith("_ms"))


def subtract(old: DiskCounters, new: DiskCounters) -> DiskCounters | None:
    """Differences field by field (`in_flight`, a gauge, as it is now); None after a reset.

    A ms counter may wrap, so one that went back shows as a difference above 2^31 ms.
    """
    differences = {}
    for name, a, b in zip(DiskCounters._fields, old, new, strict=True):
        if name == "in_flight":
            differences[name] = b
            continue
        difference = (b - a) % WRAP if name in _MS_FIELDS else b - a
        if difference < 0 or (name in _MS_FIELDS and difference >= HALF):
            return None
        differences[name] = difference
    return DiskCounters(**differences)


def is_plausible(disk: DiskCounters, dt_ms: int) -> bool:
    most_io = MAX_IO_PER_SECOND * dt_ms // 1000 + SLACK_IO
    most_sectors = MAX_SECTORS_PER_SECOND * dt_ms // 1000 + SLACK_IO * 2048
    return (
        max(disk.reads, disk.writes, disk.discards, disk.flushes) <= most_io
        and max(disk.read_sectors, disk.write_sectors) <= most_sectors
        # One discard may be of a whole disk.
        and max(disk) <= INT_LIMIT
    )


def counts_since(
    old: tuple[int, ...] | None, new: tuple[int, ...] | None, disk: DiskCounters
) -> tuple[int, ...] | None:
    """I/Os per latency bucket. None when the region of dm-stats was made anew in between (after an
    extend), and where it counts what the device cannot have done."""
    if old is None or new is None:
        return None
    counts = tuple(b - a for a, b in zip(old, new, strict=True))
    most = 3 * (disk.reads + disk.writes + disk.discards) // 2 + SLACK_IO
    return counts if min(counts) >= 0 and sum(counts) <= most else None

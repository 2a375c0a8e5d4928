"""Shapes of the counters, named as on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

SECTOR_BYTES: Final = 512

# Upper bounds of the dm-stats latency buckets, agreed with the agent; one more bucket is open.
_BOUNDS_MS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LATENCY_BOUNDS_NS: Final = tuple(round(ms * 1_000_000) for ms in _BOUNDS_MS)


class DiskCounters(NamedTuple):
    """Fields 1 to 17 of a `/proc/diskstats` line, in order.

    Sectors are 512 bytes on every device. Fields in ms are printed by the kernel as unsigned
    32-bit numbers, the others as unsigned 64-bit ones; `in_flight` is a gauge.
    """

    reads: int
    reads_merged: int
    read_sectors: int
    read_ms: int
    writes: int
    writes_merged: int
    write_sectors: int
    write_ms: int
    in_flight: int
    busy_ms: int
    weighted_ms: int
    discards: int
    discards_merged: int
    discard_sectors: int
    discard_ms: int
    flushes: int
    flush_ms: int


@dataclass(frozen=True, slots=True)
class DmCacheCounters:
    """One `dmsetup status` of a cache target; all zero when it has `failed`.

    `used`, `total` and `dirty` are chunks, the metadata figures are metadata blocks; hits to
    promotions are 32-bit counters.
    `origin` and `cdata` are the slow and the fast leg below, where the kernel shows them.
    """

    chunk_sectors: int
    used: int
    total: int
    metadata_used: int
    metadata_total: int
    read_hits: int
    read_misses: int
    write_hits: int
    write_misses: int
    demotions: int
    promotions: int
    dirty: int
    mode: str
    policy: str
    read_only: bool
    needs_check: bool
    failed: bool
    origin: DiskCounters | None
    cdata: DiskCounters | None


@dataclass(frozen=True, slots=True)
class BcacheCounters:
    """A registered bcache backing device. `disk` is bcacheN, what the guest sees.

    `hits` to `bypass_misses` are bcache's own `stats_total`: they lose counts above 4,806/s
    (each 13.64 s fold drops all above 16 bits), so they are kept as read and never made into
    figures.
    """

    device: str
    uuid: str
    cset_uuid: str | None
    state: str
    cache_mode: str
    dirty_bytes: int
    disk: DiskCounters
    hits: int
    misses: int
    bypass_hits: int
    bypass_misses: int
    available_percent: int | None
    cset_size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Latency:
    """dm-stats histogram since its region was made: completed I/O, reads and writes together,
    in `LATENCY_BOUNDS_NS` buckets and one open bucket.
    """

    bounds_ns: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VolumeCounters:
    """One public logical volume. `disk` is the LV itself: for a bcache volume the backing
    device, else what the guest sees.
    """

    lv_uuid: str
    kname: str
    suspended: bool
    disk: DiskCounters
    cache: DmCacheCounters | None
    bcache: BcacheCounters | None
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """When the counters were read: CLOCK_BOOTTIME of the host, meaningful within one boot."""

    boot_id: str
    boottime_ns: int

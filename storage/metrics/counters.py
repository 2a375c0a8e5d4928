"""Kernel counters of a host's volumes: the agent's `sample` reply as frozen dataclasses.

A value of another type or out of range raises `BadHostData`, and no part of that reply is used.
Counters stay as the kernel printed them; `storage.metrics.rates` subtracts. Field names are those
of the wire. `encode` gives data that decodes again: so the counters of the last sample are kept for
the next difference.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from storage.host_data import U32, U64, Count, Percent, SomeText, decoded

TEXT_LIMIT: Final = 255
DISKS_LIMIT: Final = 1024

# Upper bounds of the dm-stats latency buckets, agreed with the agent; one more bucket is open.
_BOUNDS_MS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LATENCY_BOUNDS_NS: Final = tuple(round(ms * 1_000_000) for ms in _BOUNDS_MS)
BUCKETS: Final = len(LATENCY_BOUNDS_NS) + 1


class DiskCounters(NamedTuple):
    """Fields 1 to 17 of a `/proc/diskstats` line, in order.

    Sectors are 512 bytes on every device. Fields in ms are printed by the kernel as unsigned
    32-bit numbers, the others as unsigned 64-bit ones; `in_flight` is a gauge.
    """

    reads: U64
    reads_merged: U64
    read_sectors: U64
    read_ms: U64
    writes: U64
    writes_merged: U64
    write_sectors: U64
    write_ms: U64
    in_flight: U64
    busy_ms: U64
    weighted_ms: U64
    discards: U64
    discards_merged: U64
    discard_sectors: U64
    discard_ms: U64
    flushes: U64
    flush_ms: U64


DISK_UNITS: Final = {
    "read_sectors": "sectors of 512 B",
    "write_sectors": "sectors of 512 B",
    "discard_sectors": "sectors of 512 B",
    "in_flight": "I/Os now",
}
"""What one of each counter stands for; the others are I/Os, or ms by their name."""


@dataclass(frozen=True, slots=True)
class DmCacheCounters:
    """One `dmsetup status` of a cache target; all zero when it has `failed`.

    `used`, `total` and `dirty` are chunks, the metadata figures are metadata blocks; hits to
    promotions are 32-bit counters.
    `origin` and `cdata` are the slow and the fast leg below, where the kernel shows them.
    """

    chunk_sectors: U32
    used: U32
    total: U32
    metadata_used: U32
    metadata_total: U32
    read_hits: U32
    read_misses: U32
    write_hits: U32
    write_misses: U32
    demotions: U32
    promotions: U32
    dirty: U32
    mode: str
    policy: str
    read_only: bool
    needs_check: bool
    failed: bool
    origin: DiskCounters | None
    cdata: DiskCounters | None


DM_CACHE_UNITS: Final = {
    "chunk_sectors": "sectors of 512 B a chunk",
    "used": "chunks",
    "total": "chunks",
    "dirty": "chunks",
    "metadata_used": "metadata blocks",
    "metadata_total": "metadata blocks",
    "read_hits": "accesses",
    "read_misses": "accesses",
    "write_hits": "accesses",
    "write_misses": "accesses",
    "demotions": "chunks",
    "promotions": "chunks",
}
"""What one of each stands for, in the order of the page that shows them."""


@dataclass(frozen=True, slots=True)
class BcacheCounters:
    """A registered bcache backing device. `disk` is bcacheN, what the guest sees.

    `hits` to `bypass_misses` are bcache's own `stats_total`: they lose counts above 4,806/s
    (each 13.64 s fold drops all above 16 bits), so they are kept as read and never made into
    figures. `available_percent` is what is not dirty. `unused_percent` is what holds nothing: the
    agent asks the kernel every 1 to 15 minutes and repeats the answer; one of an earlier release
    does not ask.
    """

    device: SomeText
    uuid: str
    cset_uuid: SomeText | None
    state: SomeText
    cache_mode: str
    dirty_bytes: Count
    disk: DiskCounters
    hits: U64
    misses: U64
    bypass_hits: U64
    bypass_misses: U64
    available_percent: Percent | None
    cset_size_bytes: Count | None
    unused_percent: Percent | None = None


BCACHE_UNITS: Final = {
    "dirty_bytes": "B",
    "cset_size_bytes": "B",
    "available_percent": "%, not dirty",
    "unused_percent": "%, read every 1 to 15 min",
    "hits": "accesses, loses counts under load",
    "misses": "accesses, loses counts under load",
    "bypass_hits": "accesses, loses counts under load",
    "bypass_misses": "accesses, loses counts under load",
}


@dataclass(frozen=True, slots=True)
class Latency:
    """dm-stats histogram since its region was made: completed I/O, reads and writes together,
    in `LATENCY_BOUNDS_NS` buckets and one open bucket.
    """

    bounds_ns: tuple[U64, ...]
    counts: Annotated[tuple[U64, ...], Meta(min_length=BUCKETS, max_length=BUCKETS)]

    def __post_init__(self) -> None:
        if self.bounds_ns != LATENCY_BOUNDS_NS:
            raise ValueError("not the agreed buckets of latency")


@dataclass(frozen=True, slots=True)
class VolumeCounters:
    """One public logical volume. `disk` is the LV itself: for a bcache volume the backing
    device, else what the guest sees.
    """

    lv_uuid: SomeText
    kname: SomeText
    suspended: bool
    disk: DiskCounters
    cache: DmCacheCounters | None
    bcache: BcacheCounters | None
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """When the counters were read: CLOCK_BOOTTIME of the host, meaningful within one boot."""

    boot_id: SomeText
    boottime_ns: Count


@dataclass(frozen=True, slots=True)
class _Sample:
    volumes: tuple[VolumeCounters, ...]

    def __post_init__(self) -> None:
        if len({volume.lv_uuid for volume in self.volumes}) != len(self.volumes):
            raise ValueError("one logical volume appears twice")


@dataclass(frozen=True, slots=True)
class HostDisk:
    """A disk of the host, by the kernel's name."""

    name: SomeText
    disk: DiskCounters


@dataclass(frozen=True, slots=True)
class _Disks:
    disks: Annotated[tuple[HostDisk, ...], Meta(max_length=DISKS_LIMIT)] = ()


def decode_disks(data: object) -> tuple[HostDisk, ...]:
    """The disks in the `data` of a `sample` reply; raises `BadHostData`."""
    return decoded(data, _Disks, "sample", TEXT_LIMIT).disks


class _MadeOfCache(msgspec.Struct, frozen=True):
    """A dm-cache or bcache, by what does not change while it does its work."""

    mode: str = ""
    cache_mode: str = ""
    cset_uuid: str | None = None
    read_only: bool = False
    needs_check: bool = False
    failed: bool = False


class _MadeOfVolume(msgspec.Struct, frozen=True):
    lv_uuid: str
    cache: _MadeOfCache | None = None
    bcache: _MadeOfCache | None = None


class _MadeOfDisk(msgspec.Struct, frozen=True):
    name: str


class _MadeOfMember(msgspec.Struct, frozen=True):
    name: str
    state: str


class _MadeOfArray(msgspec.Struct, frozen=True):
    name: str
    degraded_count: int
    sync_action: str
    members: tuple[_MadeOfMember, ...]


class _Makeup(msgspec.Struct, frozen=True):
    """Older agents tell of no arrays."""

    volumes: tuple[_MadeOfVolume, ...]
    disks: tuple[_MadeOfDisk, ...] = ()
    arrays: tuple[_MadeOfArray, ...] = ()


def decode(data: object) -> tuple[VolumeCounters, ...]:
    """The `data` of a `sample` reply; raises `BadHostData`."""
    return decoded(data, _Sample, "sample", TEXT_LIMIT).volumes


def makeup_of(data: object) -> str:
    """A digest of what the host consists of, by the `data` of a `sample` reply: another one than
    before means that a disk, a leg of an array or a cache has come, gone or failed. Raises
    `BadHostData`."""
    whole = decoded(data, _Makeup, "sample", TEXT_LIMIT)
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()


def decode_stamp(host: object) -> Stamp:
    """The `host` block of a reply; raises `BadHostData`."""
    return decoded(host, Stamp, "host", TEXT_LIMIT)


def decode_volume(data: object) -> VolumeCounters:
    """The counters that `encode` kept of a volume; raises `BadHostData`."""
    return decoded(data, VolumeCounters, "volume", TEXT_LIMIT)


def encode(volume: VolumeCounters) -> dict[str, Any]:
    """Plain data that decodes to the same counters."""
    plain: dict[str, Any] = msgspec.to_builtins(volume)
    return plain

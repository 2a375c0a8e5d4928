"""Kernel counters of a host's volumes: the agent's `sample` reply as frozen dataclasses.

A value of another type or out of range raises `BadHostData`; in a whole `sample` it costs the
volume or device that has it.
Counters stay as the kernel printed them; `storage.metrics.rates` subtracts. Field names are those
of the wire. `encode_counters` gives data that decodes again: so the counters of the last
sample are kept for the next difference.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from storage.host_data import (
    U32,
    U64,
    BadHostData,
    Count,
    Percent,
    SomeText,
    cleaned,
    converted,
    decoded,
)
from storage.inventory.cache_counts import COUNTERS, BcacheCounts, DmCacheCounts

TEXT_LIMIT: Final = 255
DEVICES_LIMIT: Final = 1024

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


LatencyCounts = Annotated[tuple[U64, ...], Meta(min_length=BUCKETS, max_length=BUCKETS)]
"""I/Os per bucket of `LATENCY_BOUNDS_NS`, and in the open one above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DmCacheCounters(DmCacheCounts):
    """One `dmsetup status` of a cache target; all zero when it has `failed`.

    `used`, `total` and `dirty` are chunks, the metadata figures are metadata blocks.
    `origin` and `cdata` are the slow and the fast leg below, where the kernel shows them, `cmeta`
    lies on SSD as well. `origin_counts` and `cdata_counts` are what dm-stats count of the legs:
    what the cache does, not what the guest waits for. Older agents send neither these nor `cmeta`.
    """

    chunk_sectors: U32
    used: U32
    total: U32
    metadata_used: U32
    metadata_total: U32
    dirty: U32
    mode: str
    policy: str
    read_only: bool
    needs_check: bool
    failed: bool
    origin: DiskCounters | None
    cdata: DiskCounters | None
    cmeta: DiskCounters | None = None
    origin_counts: LatencyCounts | None = None
    cdata_counts: LatencyCounts | None = None


DM_CACHE_UNITS: Final = {
    "chunk_sectors": "sectors of 512 B a chunk",
    "used": "chunks",
    "total": "chunks",
    "dirty": "chunks",
    "metadata_used": "metadata blocks",
    "metadata_total": "metadata blocks",
    **{name: each.unit for name, each in COUNTERS[DmCacheCounts].items()},
}
"""What one of each stands for, in the order of the page that shows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BcacheCounters(BcacheCounts):
    """A registered bcache backing device. `disk` is bcacheN, what the guest sees.

    `available_percent` is what is not dirty. `unused_percent` is what holds nothing: the agent asks
    the kernel every 1 to 15 minutes and repeats the answer; one of an earlier release does not ask.
    `cset_disk` is the logical volume that holds the cache set. bcacheN is no device of
    device-mapper, so `backing_counts` and `cset_counts` are dm-stats of the two logical volumes
    below: what bcache asks of the slow disk and of the SSD, not what the guest waits for.
    """

    device: SomeText
    uuid: str
    cset_uuid: SomeText | None
    state: SomeText
    cache_mode: str
    dirty_bytes: Count
    disk: DiskCounters
    available_percent: Percent | None
    cset_size_bytes: Count | None
    unused_percent: Percent | None = None
    cset_disk: DiskCounters | None = None
    backing_counts: LatencyCounts | None = None
    cset_counts: LatencyCounts | None = None


BCACHE_UNITS: Final = {
    "dirty_bytes": "B",
    "cset_size_bytes": "B",
    "available_percent": "%, not dirty",
    "unused_percent": "%, read every 1 to 15 min",
    **{name: each.unit for name, each in COUNTERS[BcacheCounts].items()},
}


@dataclass(frozen=True, slots=True)
class Latency:
    """dm-stats since their region was made: completed I/O in `LATENCY_BOUNDS_NS` buckets and one
    open bucket. The kernel has one histogram of reads and writes together; apart it has their
    numbers and the time they took, to the nanosecond, where diskstats count ticks of its clock.
    Discards are writes here.

    `flushes` and `flush_ms` are what diskstats count as writes and dm-stats do not: flushes without
    data. They begin anywhere, so their difference alone means something; `flush_ms` is modulo 2^32.
    Older agents send none of this beside the buckets.
    """

    bounds_ns: tuple[U64, ...]
    counts: LatencyCounts
    reads: U64 | None = None
    read_ns: U64 | None = None
    writes: U64 | None = None
    write_ns: U64 | None = None
    flushes: U64 | None = None
    flush_ms: U64 | None = None

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
class HostDevice:
    """A disk, md array or partition of the host, by the kernel's name. `seq` is another number for
    each device that ever had the name since the boot; None for a partition, before Linux 5.15 and
    from older agents. They send no counters of arrays either."""

    name: SomeText
    disk: DiskCounters | None = None
    seq: Count | None = None


Devices = Annotated[tuple[HostDevice, ...], Meta(max_length=DEVICES_LIMIT)]


@dataclass(frozen=True, slots=True)
class HostDevices:
    """Older agents send the disks alone."""

    disks: Devices = ()
    arrays: Devices = ()
    partitions: Devices = ()


def decode_devices(data: object) -> HostDevices:
    """The devices in the `data` of a `sample` reply; raises `BadHostData`."""
    return decoded(data, HostDevices, "sample", TEXT_LIMIT)


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
    seq: int | None = None


class _MadeOfMember(msgspec.Struct, frozen=True):
    name: str
    state: str


class _MadeOfArray(msgspec.Struct, frozen=True):
    name: str
    degraded_count: int | None
    sync_action: str
    members: tuple[_MadeOfMember, ...]


class _Inventory(msgspec.Struct, frozen=True):
    """Older agents report no arrays."""

    volumes: tuple[_MadeOfVolume, ...]
    disks: tuple[_MadeOfDisk, ...] = ()
    arrays: tuple[_MadeOfArray, ...] = ()


@dataclass(frozen=True, slots=True)
class HostSample:
    """All of a `sample` reply. `inventory_digest` is that of `inventory_digest()`.
    `unread` says what was left out of it, because it does not fit."""

    volumes: tuple[VolumeCounters, ...]
    devices: HostDevices
    inventory_digest: str
    unread: tuple[str, ...] = ()


def decode_sample(data: object) -> HostSample:
    """The `data` of a `sample` reply. A volume or a device that does not fit costs itself alone;
    raises `BadHostData` for what is no sample at all."""
    clean: Any = cleaned(data, TEXT_LIMIT)
    try:
        return _sample(clean)
    except BadHostData:
        if not isinstance(clean, dict) or not isinstance(clean.get("volumes"), list):
            raise
    unread: list[str] = []
    fitting = {
        part: [each for each in clean[part] if _fits(each, part, shapes, unread)]
        for part, shapes in _SAMPLE_PARTS.items()
        if isinstance(clean.get(part), list)
    }
    return _sample({**clean, **fitting}, tuple(unread))


def _sample(clean: object, unread: tuple[str, ...] = ()) -> HostSample:
    return HostSample(
        converted(clean, _Sample, "sample").volumes,
        converted(clean, HostDevices, "sample"),
        _digest(converted(clean, _Inventory, "sample")),
        unread,
    )


_SAMPLE_PARTS: Final[dict[str, tuple[type, ...]]] = {
    "volumes": (VolumeCounters, _MadeOfVolume),
    "disks": (HostDevice, _MadeOfDisk),
    "arrays": (HostDevice, _MadeOfArray),
    "partitions": (HostDevice,),
}


def _fits(thing: object, part: str, shapes: tuple[type, ...], unread: list[str]) -> bool:
    try:
        for shape in shapes:
            converted(thing, shape, f"sample.{part}")
    except BadHostData as error:
        unread.append(str(error))
        return False
    return True


def decode_counters(data: object) -> tuple[VolumeCounters, ...]:
    """The `data` of a `sample` reply; raises `BadHostData`."""
    return decoded(data, _Sample, "sample", TEXT_LIMIT).volumes


def inventory_digest(data: object) -> str:
    """A digest of what the host consists of, by the `data` of a `sample` reply: another one than
    before means that a disk, a leg of an array or a cache has come, gone or failed. Raises
    `BadHostData`."""
    return _digest(decoded(data, _Inventory, "sample", TEXT_LIMIT))


def _digest(inventory: _Inventory) -> str:
    return hashlib.sha256(msgspec.json.encode(inventory)).hexdigest()


_KEPT: Final = msgspec.json.Decoder(VolumeCounters)


def decode_stamp(host: object) -> Stamp:
    """The `host` block of a reply; raises `BadHostData`."""
    return decoded(host, Stamp, "host", TEXT_LIMIT)


def decode_volume(data: object) -> VolumeCounters:
    """The counters that `encode_counters` kept of a volume; raises `BadHostData`."""
    return decoded(data, VolumeCounters, "volume", TEXT_LIMIT)


def decode_kept(text: str) -> VolumeCounters:
    """The same of the text that the database has; raises `BadHostData`."""
    try:
        return _KEPT.decode(text)
    except msgspec.DecodeError as error:
        raise BadHostData(str(error)) from None


def encode_kept(volume: VolumeCounters) -> bytes:
    """The text of what `encode_counters` gives."""
    return msgspec.json.encode(volume)


def encode_counters(volume: VolumeCounters) -> dict[str, Any]:
    """Plain data that decodes to the same counters."""
    plain: dict[str, Any] = msgspec.to_builtins(volume)
    return plain

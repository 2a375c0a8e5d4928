"""Who wears an SSD: what each volume wrote to it over a time, and what no volume explains.

A volume writes to an SSD through its cache (what is copied there because it was read, and writes
that the cache took), or because it lies there. The kernel counts both by the sector; of bcache
where its set is a device of its own and serves that volume alone. What the SSD itself counted in
the same time is the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from storage.byte_sizes import SECTOR_BYTES
from storage.health.smart_reading import DiskAnswer, disk_of
from storage.health.smart_records import DiskCondition
from storage.inventory.device_tree import is_part_of
from storage.inventory.facts import Array, HostFacts, LogicalVolume
from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.models import DiskReading, Placement

SPANS: Final = {
    "24h": ("24 h", timedelta(days=1)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
}
"""Samples are kept no longer."""
COPIES: Final = {"raid1": 1.0, "raid10": 2.0, "raid0": 1.0, "linear": 1.0}
"""How often an array writes each byte; of others that depends on the pattern of writes."""
WRITES: Final = VOLUMES.only("write_sectors", "fast_write_sectors", "promotions")


@dataclass(frozen=True, slots=True)
class SsdWriter:
    """What a volume wrote to the SSD; `promoted_bytes` of it are copies of what it read, None
    where it lies on the SSD, or they are not counted (bcache). `share` is of all that was written,
    0 to 1."""

    key: str
    label: str
    written_bytes: int
    promoted_bytes: int | None
    share: float


@dataclass(frozen=True, slots=True)
class SsdWriters:
    """`total_bytes` is what the SSD counted from `start` to `end`, None where its unit or its
    readings are missing; then shares are of what volumes explain. `other_bytes` is what no volume
    explains. `uncounted` bcache volumes are within that: their set serves several, or is no device
    that was sampled."""

    start: datetime
    end: datetime
    total_bytes: int | None
    volumes: tuple[SsdWriter, ...]
    other_bytes: int | None
    other_share: float | None
    uncounted: int


@dataclass(frozen=True, slots=True)
class _Use:
    """How much of what a volume's cache (or the volume itself) writes lands on the SSD;
    `chunk_bytes` is what one promotion copies."""

    fraction: float
    is_cache: bool
    chunk_bytes: int | None = None


def known_as(facts: HostFacts, condition: DiskCondition) -> str | None:
    """The kernel's name of the disk; None for one that no disk of the inventory is."""
    disk, health = condition.disk, condition.health
    matched = disk_of(facts, DiskAnswer(disk.device, disk.kind, disk.name, "read", health=health))
    return None if matched is None else matched.name


def ssd_writers(
    condition: DiskCondition, facts: HostFacts, name: str, now: datetime, span: timedelta
) -> SsdWriters:
    """Of the SSD that the kernel calls `name`. Four queries."""
    start, end, total_bytes = _counted(condition, now, span)
    uses = uses_of(facts, name)
    placed = Placement.objects.filter(host=condition.disk.host, until=None, lv_uuid__in=uses)
    rows = placed.values_list("volume_id", "lv_uuid", "volume__key", "volume__label")
    volumes = {volume_id: (uuid, key, label) for volume_id, uuid, key, label in rows}
    found = []
    counted = set()
    for volume_id, (cached, promoted, written) in _sums(volumes, start, end).items():
        uuid, key, label = volumes[volume_id]
        use = uses[str(uuid)]
        sectors = cached if use.is_cache else written
        if sectors is None:
            continue
        counted.add(str(uuid))
        written_bytes = int(sectors * SECTOR_BYTES * use.fraction)
        promoted_bytes = (
            None if use.chunk_bytes is None else int(promoted * use.chunk_bytes * use.fraction)
        )
        if written_bytes:
            found.append((written_bytes, promoted_bytes, key, label))
    explained = sum(each[0] for each in found)
    whole = max(total_bytes or 0, explained)
    writers = tuple(
        SsdWriter(key, label, written_bytes, promoted_bytes, written_bytes / whole)
        for written_bytes, promoted_bytes, key, label in sorted(found, key=lambda each: -each[0])
    )
    other = None if total_bytes is None else max(0, total_bytes - explained)
    return SsdWriters(
        start,
        end,
        total_bytes,
        writers,
        other,
        None if other is None or not whole else other / whole,
        sum(_bcache_on(facts, lv, name) > 0 and lv.uuid not in counted for lv in facts.lvs),
    )


def _counted(
    condition: DiskCondition, now: datetime, span: timedelta
) -> tuple[datetime, datetime, int | None]:
    """Between the first and the last reading within the time, what the SSD counted; the whole time
    and None where it did not, or its unit is not known."""
    written = condition.written
    readings = DiskReading.objects.filter(disk=condition.disk, at__gte=now - span, at__lte=now)
    if written is None or written.unit_bytes is None:
        return now - span, now, None
    mine = readings.filter(counter=written.source, written_raw__isnull=False)
    first, last = mine.order_by("at").first(), mine.order_by("at").last()
    if first is None or last is None or first == last:
        return now - span, now, None
    delta = (last.written_raw or 0) - (first.written_raw or 0)
    if delta < 0:
        return now - span, now, None
    return first.at, last.at, delta * written.unit_bytes


def _sums(
    volumes: Iterable[int], start: datetime, end: datetime
) -> Mapping[int, tuple[int | None, int, int]]:
    """What each volume's cache wrote, None where that was never known; what it promoted, and what
    the volume wrote."""
    return {
        each.subject_id: (
            each.counts["fast_write_sectors"] if each.ms["fast_write_sectors"] else None,
            each.counts["promotions"],
            each.counts["write_sectors"],
        )
        for each in aggregate(list(volumes), start, end, kind=WRITES)
    }


def uses_of(facts: HostFacts, name: str) -> dict[str, _Use]:
    """By the LV's uuid, the volumes that write to the SSD `name`. Pure."""
    uses = {}
    for lv in facts.public_lvs():
        if lv.cache is not None:
            fraction = _fraction(facts, lv.cache.pvs, name, _is_mirrored(facts, lv))
            use = _Use(fraction, True, lv.cache.chunk_bytes)
        elif lv.bcache is not None and lv.bcache.cset_uuid is not None:
            cset = facts.cset(lv.bcache.cset_uuid)
            if cset is None or cset.backing_count != 1:
                continue
            use = _Use(_bcache_on(facts, lv, name), True)
        else:
            use = _Use(_lying(facts, lv, name), False)
        if use.fraction > 0:
            uses[lv.uuid] = use
    return uses


def _is_mirrored(facts: HostFacts, lv: LogicalVolume) -> bool:
    """Whether LVM itself mirrors the data of the volume's cache pool."""
    pool = "" if lv.cache is None else lv.cache.pool
    names = {f"{pool}_cdata", f"{pool}_cpool_cdata", pool, f"{pool}_cpool"}
    parts = (each for each in facts.lvs if each.vg_uuid == lv.vg_uuid and each.name in names)
    return any({"raid1", "mirror"} & set(each.layout) for each in parts)


def _lying(facts: HostFacts, lv: LogicalVolume, name: str) -> float:
    """The share of a volume's own extents on the disk: its writes are taken to fall evenly."""
    mirrored = bool({"raid1", "mirror"} & set(lv.layout))
    there = sum(
        segment.size_bytes * _fraction(facts, segment.pvs, name, mirrored)
        for segment in lv.segments
    )
    return min(1.0, there / lv.size_bytes)


def _fraction(facts: HostFacts, pvs: Iterable[str], name: str, mirrored: bool) -> float:
    names = tuple(pvs)
    shares = [on_disk(facts, pv, name) for pv in names]
    return sum(shares) / (1 if mirrored else max(1, len(names)))


def on_disk(facts: HostFacts, pv: str, name: str) -> float:
    """How much of what is written to a physical volume reaches the disk."""
    if is_part_of(pv, name):
        return 1.0
    array = next((each for each in facts.arrays if is_part_of(pv, each.name)), None)
    if array is None or not any(is_part_of(member.name, name) for member in array.members):
        return 0.0
    return _of_array(array)


def _of_array(array: Array) -> float:
    copies = COPIES.get(array.level, 0.0)
    if array.level == "raid1":
        return copies
    return min(1.0, copies / max(1, len(array.members)))


def _bcache_on(facts: HostFacts, lv: LogicalVolume, name: str) -> float:
    """How much of what the cache of a bcache volume writes lands on the disk."""
    cset = facts.cset(lv.bcache.cset_uuid) if lv.bcache and lv.bcache.cset_uuid else None
    if cset is None:
        return 0.0
    device = facts.lv(cset.lv_uuid) if cset.lv_uuid is not None else None
    if device is not None:
        return _lying(facts, device, name)
    return _fraction(facts, cset.devices, name, False)

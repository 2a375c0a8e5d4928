"""Who keeps a disk busy: what the volumes of a host had it do, and what no volume explains.

Disks are what physical volumes lie on: an array counts once, not its members. The kernel tells for
a disk, and for each volume and each leg of its cache, how long reads and writes took, those at once
counted each (I/O time; per second, that is how many were under way). A volume's share of a disk is
its part of that; the disk's busy time is divided in the same shares. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from storage.inventory.device_tree import disk_below
from storage.inventory.facts import HostFacts, LogicalVolume

Fractions = Mapping[str, float]
"""By the name of a disk, how much of what is done there lands on it."""
NOWHERE: Final[Fractions] = {}


@dataclass(frozen=True, slots=True)
class Legs:
    """Where a volume lies, and where its cache does."""

    slow: Fractions
    fast: Fractions


@dataclass(frozen=True, slots=True)
class DiskMap:
    """Where the volumes of a host lie now, by the uuids of their LVs; and the disks and arrays
    below its physical volumes, True for those that are fast."""

    legs: Mapping[str, Legs]
    tiers: Mapping[str, bool]

    @property
    def names(self) -> tuple[str, ...]:
        """The slow ones first, by name."""
        return tuple(sorted(self.tiers, key=lambda name: (self.tiers[name], name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeTimes:
    """What a volume did in a time, of which `dt_ms` are known: I/O time of its own disks and of its
    cache's, in ms. `is_estimate`: that of its own disks follows from what
    the guest waited, because the host does not report the legs."""

    volume_id: int
    dt_ms: int
    slow_ms: float
    fast_ms: float
    is_estimate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskTimes:
    """What a disk did in a time, of which `dt_ms` are known; `io_ms` is None where its kernel does
    not count that of an array."""

    dt_ms: int
    io_ms: int | None
    busy_ms: int


@dataclass(frozen=True, slots=True)
class DiskUser:
    """A volume; `in_flight` is how many of its I/Os the disk had under way on average, `share` its
    part of the disk's I/O time, 0 to 1."""

    volume_id: int
    in_flight: float
    share: float
    is_estimate: bool


@dataclass(frozen=True, slots=True)
class UsedDisk:
    """A disk or array and its users, the greatest first. `busy` is the share of time in which it
    had I/O under way; `other_share` is what no volume explains. None where the host does not count
    the disk: then shares are of what volumes explain."""

    name: str
    is_fast: bool
    busy: float | None
    in_flight: float
    users: tuple[DiskUser, ...]
    other_share: float | None

    @property
    def other_in_flight(self) -> float | None:
        return None if self.other_share is None else self.other_share * self.in_flight


def disk_map(facts: HostFacts) -> DiskMap:
    """What an inventory reports."""
    tiers: dict[str, bool] = {}
    for pv in facts.pvs:
        name = disk_below(facts, pv.name)
        tiers[name] = tiers.get(name, True) and pv.tier == "fast"
    legs = {lv.uuid: Legs(_lying(facts, lv), _cache_of(facts, lv)) for lv in facts.public_lvs()}
    return DiskMap(legs, tiers)


def used_disks(
    there: DiskMap,
    lv_uuids: Mapping[int, str],
    volumes: Collection[VolumeTimes],
    disks: Mapping[str, DiskTimes],
) -> tuple[UsedDisk, ...]:
    """Every disk of the map. `lv_uuids` has the LV of each volume, `disks` what the host counted of
    them."""
    dt_ms: dict[int, int] = {}
    for times in volumes:
        dt_ms[times.volume_id] = dt_ms.get(times.volume_id, 0) + times.dt_ms
    parts: dict[str, dict[int, tuple[float, bool]]] = {}
    for times in volumes:
        for name, io_ms in _landing(there.legs.get(lv_uuids.get(times.volume_id, "")), times):
            users = parts.setdefault(name, {})
            known, is_estimate = users.get(times.volume_id, (0.0, False))
            in_flight = io_ms / dt_ms[times.volume_id] if dt_ms[times.volume_id] else 0.0
            users[times.volume_id] = (known + in_flight, is_estimate or times.is_estimate)
    return tuple(
        _used(name, there.tiers[name], parts.get(name, {}), disks.get(name)) for name in there.names
    )


def _landing(legs: Legs | None, times: VolumeTimes) -> Iterable[tuple[str, float]]:
    """The I/O time of the volume on each disk."""
    if legs is None:
        return
    for name, fraction in legs.slow.items():
        yield name, fraction * times.slow_ms
    for name, fraction in legs.fast.items():
        yield name, fraction * times.fast_ms


def _used(
    name: str, is_fast: bool, parts: Mapping[int, tuple[float, bool]], disk: DiskTimes | None
) -> UsedDisk:
    explained = sum(in_flight for in_flight, _ in parts.values())
    counted = None
    if disk is not None and disk.dt_ms and disk.io_ms is not None:
        counted = disk.io_ms / disk.dt_ms
    # The volumes' clocks start a little earlier and stop a little later than the disk's.
    whole = max(explained, counted or 0.0)
    users = tuple(
        DiskUser(volume_id, in_flight, in_flight / whole, is_estimate)
        for volume_id, (in_flight, is_estimate) in sorted(
            parts.items(), key=lambda each: (-each[1][0], each[0])
        )
        if in_flight > 0
    )
    other = None
    if counted is not None:
        other = max(0.0, 1 - explained / whole) if whole else 0.0
    busy = min(1.0, disk.busy_ms / disk.dt_ms) if disk is not None and disk.dt_ms else None
    return UsedDisk(name, is_fast, busy, whole, users, other)


def _lying(facts: HostFacts, lv: LogicalVolume) -> Fractions:
    """By extents: its I/O is taken to fall evenly on them. A mirror of LVM's own writes to all of
    its legs; it is counted on each for its part."""
    total = sum(segment.size_bytes for segment in lv.segments)
    fractions: dict[str, float] = {}
    for segment in lv.segments:
        for name, fraction in _on(facts, segment.pvs).items():
            fractions[name] = fractions.get(name, 0.0) + fraction * segment.size_bytes / total
    return fractions


def _cache_of(facts: HostFacts, lv: LogicalVolume) -> Fractions:
    if lv.cache is not None:
        return _on(facts, lv.cache.pvs)
    cset = facts.cset(lv.bcache.cset_uuid) if lv.bcache and lv.bcache.cset_uuid else None
    if cset is None:
        return NOWHERE
    device = facts.lv(cset.lv_uuid) if cset.lv_uuid is not None else None
    return _on(facts, device.pvs if device is not None else cset.devices)


def _on(facts: HostFacts, pvs: Iterable[str]) -> Fractions:
    names = [disk_below(facts, pv) for pv in pvs]
    return {name: names.count(name) / len(names) for name in names}

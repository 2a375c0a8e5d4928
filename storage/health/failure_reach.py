"""How far a failure reaches: from a disk or an array to the groups, caches, volumes and guests that
lie on it. Pure, from facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

from storage.inventory.device_tree import degraded_words, disk_below, is_part_of
from storage.inventory.facts import Array, HostFacts, LogicalVolume, PhysicalVolume
from storage.planner.technologies.lookup import cache_of, is_lost, on

Level = Literal["failed", "at-risk", "cache-at-risk"]
COPIES_ONLY: Final = ("writethrough", "writearound", "passthrough", "none")
"""Modes in which a cache without dirty data holds nothing but copies."""
GRAVEST: Final[tuple[Level, ...]] = ("failed", "at-risk", "cache-at-risk")


@dataclass(frozen=True, slots=True)
class PartFault:
    """`failed`: data cannot be read or written. `at-risk`: all of it can, and a copy is missing or
    may be missing. `cache-at-risk`: of a cache that holds nothing but copies, so that one more
    failure loses no data (it stops the volume until its cache is dropped). `source` is the thing
    that is at fault, `what` is wrong with it."""

    level: Level
    source: str
    what: str

    @property
    def has_failed(self) -> bool:
        return self.level == "failed"

    def __str__(self) -> str:
        return f"{self.source}: {self.what}"


def gravest(faults: Iterable[PartFault | None]) -> PartFault | None:
    """The first of the gravest; None where there is none."""
    known = [fault for fault in faults if fault is not None]
    return min(known, key=lambda fault: GRAVEST.index(fault.level), default=None)


class FailureReach:
    """What is at fault on a host, and what lies on that; None where nothing is wrong."""

    def __init__(self, facts: HostFacts) -> None:
        self._facts = facts

    def of_disk(self, name: str) -> PartFault | None:
        """Of a disk, or of a partition: by its own state, whatever its array makes of it."""
        members = [
            (array, member)
            for array in self._facts.arrays
            for member in array.members
            if is_part_of(member.name, name) or member.name == name
        ]
        failed_in = next((array.name for array, member in members if member.has_failed), None)
        if failed_in is not None:
            return PartFault("failed", name, f"failed in {failed_in}")
        disk = next((each for each in self._facts.disks if is_part_of(name, each.name)), None)
        if disk is not None and disk.read_only:
            return PartFault("failed", name, "read-only")
        return None

    def of_array(self, name: str) -> PartFault | None:
        """Of an md array, by what the kernel says of it."""
        return self._arrays.get(name)

    def of_pv(self, pv: PhysicalVolume) -> PartFault | None:
        """Of a physical volume: its own, else that of what it lies on."""
        if pv.missing:
            return PartFault("failed", self._missing(pv), "missing")
        if pv.duplicate:
            return PartFault("failed", pv.name, "seen twice by LVM")
        base = disk_below(self._facts, pv.name)
        below = gravest((self._by_hand.get(pv.name), self.of_array(base) or self.of_disk(base)))
        if below is None and pv.redundant and not pv.healthy:
            return PartFault("at-risk", pv.name, "degraded")
        return below

    def of_cache(self, lv: LogicalVolume) -> PartFault | None:
        """Of the cache in front of the volume."""
        cache = cache_of(self._facts, lv)
        if cache is None:
            return _awaited(lv)
        if is_lost(self._facts, lv):
            return PartFault("failed", cache.name, "the SSD of this cache is missing")
        if cache.trouble:
            return PartFault("failed", cache.name, cache.trouble.removesuffix("."))
        below = self._on(cache.pvs)
        may_be_alone = cache.mode not in COPIES_ONLY or cache.dirty_bytes != 0
        if below is None or below.has_failed or may_be_alone:
            return below
        return replace(below, level="cache-at-risk")

    def of_volume(self, lv: LogicalVolume) -> PartFault | None:
        """Of its own disks and of its cache."""
        return gravest((self._own(lv), self.of_cache(lv)))

    @cached_property
    def _arrays(self) -> Mapping[str, PartFault]:
        faults = {array.name: self._array(array) for array in self._facts.arrays}
        return {name: fault for name, fault in faults.items() if fault is not None}

    def _array(self, array: Array) -> PartFault | None:
        trouble = self._facts.trouble_of(array)
        if trouble is None:
            return None
        level: Level = "at-risk"
        if array.has_failed or trouble.code == "array_read_only":
            level = "failed"
        return PartFault(level, array.name, degraded_words(array) or trouble.message)

    @cached_property
    def _by_hand(self) -> Mapping[str, PartFault]:
        """Of bcache that was made by hand on a disk or an array, by its name."""
        return {
            each.name: PartFault("failed", each.name, "its cache is missing")
            for each in self._facts.backings
            if each.kname is None or each.state == "inconsistent"
        }

    @cached_property
    def _pvs(self) -> Mapping[str, PartFault | None]:
        """By name. All that are missing have the same name, and the same fault."""
        return {pv.name: self.of_pv(pv) for pv in self._facts.pvs}

    def _missing(self, pv: PhysicalVolume) -> str:
        return f"a device of {pv.vg_name}" if pv.name.startswith("[") else pv.name

    def _on(self, pvs: Iterable[str]) -> PartFault | None:
        return gravest(self._pvs.get(name) for name in pvs)

    def _own(self, lv: LogicalVolume) -> PartFault | None:
        if lv.suspended:
            return PartFault("failed", lv.name, "suspended: its I/O waits")
        below, standing = self._on(lv.pvs), lv.standing
        if standing is not None and standing.lost:
            return gravest(
                (below, PartFault("failed", lv.name, "a part of it is on a missing disk"))
            )
        if below is not None and below.has_failed and _has_copies(lv):
            return PartFault("at-risk", below.source, below.what)
        if lv.health == "partial":
            return gravest((below, PartFault("failed", lv.name, "partial")))
        if standing is not None and standing.degraded:
            return below or PartFault("at-risk", lv.name, "a copy is missing or old")
        return below or (PartFault("at-risk", lv.name, lv.health) if lv.health else None)


def _has_copies(lv: LogicalVolume) -> bool:
    """Whether LVM itself keeps it so that a disk may die, and it has not lost more."""
    if lv.standing is not None:
        return not lv.standing.lost
    return lv.health != "partial" and bool({"raid", "mirror"} & set(lv.layout))


def _awaited(lv: LogicalVolume) -> PartFault | None:
    """A volume that has no device for its guest until its cache is there again."""
    technology = on(lv)
    why = technology.why_not_running(lv) if technology is not None else ""
    return PartFault("failed", lv.name, why) if why else None

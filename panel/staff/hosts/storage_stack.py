"""The layers of a host's storage: disk -> array -> volume group -> volume -> cache -> guest. Pure.

The stack contains everything on the host, managed or not. A bcache cache device in use is drawn as
a cache. `host_map` draws it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from storage.agent.commands.retirement import retired
from storage.inventory.device_tree import (
    Box,
    Chain,
    Stage,
    array_of,
    bcache_of,
    below,
    boxes_of,
    disk_box,
    is_part_of,
)
from storage.inventory.facts import HostFacts, LogicalVolume, VolumeGroup
from storage.planner.technologies.lookup import cache_of, on

TierName = Literal["fast", "slow"]
TIERS: tuple[TierName, ...] = ("fast", "slow")
SUB_VOLUMES = re.compile(r".+_(corig|cpool|cdata|cmeta|cvol|tdata|tmeta|rimage_\d+|rmeta_\d+|mlog)")
KINDS = (
    ({"thin", "pool"}, "thin pool"),
    ({"cache", "pool"}, "cache pool, unused"),
    ({"vdo", "pool"}, "VDO pool"),
    ({"thin"}, "thin volume"),
    ({"vdo"}, "VDO volume"),
    ({"mirror"}, "mirror"),
    ({"writecache"}, "dm-writecache"),
    ({"integrity"}, "integrity"),
)
"""LVM layouts that have a name of their own, the more particular first."""


@dataclass(frozen=True, slots=True)
class Tier:
    """The physical volumes of one speed in a group, as chains that end in them."""

    name: TierName
    size_bytes: int
    free_bytes: int
    devices: tuple[Chain, ...]

    @property
    def used_bytes(self) -> int:
        return self.size_bytes - self.free_bytes


@dataclass(frozen=True, slots=True)
class Pillar:
    """A logical volume, the cache on it, and who uses it. `fast_bytes` of it lie on SSD."""

    volume: Box
    cache: Box | None
    users: Stage
    fast_bytes: int

    @property
    def size_bytes(self) -> int:
        return self.volume.size_bytes or 0


@dataclass(frozen=True, slots=True)
class StackGroup:
    """A volume group: the tiers it lies on, and what lies on it."""

    vg: VolumeGroup
    tiers: tuple[Tier, ...]
    pillars: tuple[Pillar, ...]


@dataclass(frozen=True, slots=True)
class Stack:
    """`loose` are devices that no volume group uses."""

    groups: tuple[StackGroup, ...]
    loose: tuple[Chain, ...]


def stack_of(facts: HostFacts) -> Stack:
    """The whole of an inventory; nothing in it is left out but LVM's hidden sub-volumes."""
    groups = tuple(_group(facts, vg) for vg in facts.vgs)
    used = {
        box.name
        for group in groups
        for tier in group.tiers
        for chain in tier.devices
        for box in boxes_of(chain)
    }
    made = tuple(bcache_of(facts, each) for each in facts.backings if each.name not in used)
    used |= {box.name for chain in made for box in boxes_of(chain)}
    arrays = tuple(array_of(facts, array) for array in facts.arrays if array.name not in used)
    used |= {box.name for chain in arrays for box in boxes_of(chain)}
    disks = tuple(
        ((disk_box(facts, disk.name),),)
        for disk in facts.disks
        if not any(is_part_of(name, disk.name) for name in used)
    )
    return Stack(groups, made + arrays + disks)


def kind_of(lv: LogicalVolume) -> str:
    """What a logical volume is, in the words of LVM's manual: "thin pool", "snapshot", "RAID1"."""
    if "snapshot" in lv.role and "thin" not in lv.layout:
        return "snapshot"
    layout = set(lv.layout)
    for words, name in KINDS:
        if words <= layout:
            return f"{name}, snapshot" if "snapshot" in lv.role else name
    level = next((word for word in lv.layout if re.fullmatch(r"raid\d+.*", word)), "")
    if level:
        return level.upper().replace("RAID1_", "RAID1 ")
    striped = any(segment.type == "striped" and len(segment.pvs) > 1 for segment in lv.segments)
    base = "striped" if striped or "striped" in layout else "linear"
    return f"{base}, has snapshots" if "origin" in lv.role and "thickorigin" in lv.role else base


def _group(facts: HostFacts, vg: VolumeGroup) -> StackGroup:
    tiers = []
    for name in TIERS:
        if pvs := facts.pvs_of(vg.uuid, name):
            size_bytes = sum(pv.size_bytes for pv in pvs)
            free_bytes = sum(pv.free_bytes for pv in pvs if not pv.missing)
            devices = tuple(below(facts, pv) for pv in pvs)
            tiers.append(Tier(name, size_bytes, free_bytes, devices))
    fast = {pv.name for pv in facts.pvs_of(vg.uuid, "fast")}
    sets = {cset.lv_uuid for cset in facts.csets}
    caches = [cache_of(facts, lv) for lv in facts.lvs]
    drawn = {cache.device_uuid for cache in caches if cache is not None} - {None}
    pillars = tuple(
        _pillar(facts, lv, fast, is_set=lv.uuid in sets)
        for lv in facts.lvs
        if lv.vg_uuid == vg.uuid and lv.uuid not in drawn and _is_shown(lv)
    )
    return StackGroup(vg, tuple(tiers), pillars)


def _is_shown(lv: LogicalVolume) -> bool:
    """Volumes and pools; not what LVM makes them of, nor what a cache shows already."""
    if SUB_VOLUMES.fullmatch(lv.name) or "spare" in lv.role:
        return False
    return lv.is_public or "pool" in lv.layout


def _pillar(facts: HostFacts, lv: LogicalVolume, fast: set[str], *, is_set: bool) -> Pillar:
    on = f" on {', '.join(lv.pvs)}" if lv.pvs else ""
    off = "" if lv.active else ", not active"
    trouble = lv.health or ("suspended" if lv.suspended else "")
    kind = "bcache cache device" if is_set else kind_of(lv)
    if (marks := retired(lv.tags)) is not None:
        kind = f"retired, was {marks.name}, {kind}"
    fast_bytes = sum(each.size_bytes for each in lv.segments if fast.intersection(each.pvs))
    return Pillar(
        Box("volume", lv.name, f"{kind}{on}{off}", lv.size_bytes, trouble, lv.uuid),
        _cache_box(facts, lv),
        tuple(Box("user", str(user), user.kind) for user in lv.users),
        min(fast_bytes, lv.size_bytes),
    )


def _cache_box(facts: HostFacts, lv: LogicalVolume) -> Box | None:
    cache = cache_of(facts, lv)
    if cache is None:
        empty = on(lv)
        if empty is None:
            return None
        return Box("cache", empty.device_of(lv) or empty.name, f"{empty.name}, no cache yet")
    where = f" on {', '.join(cache.pvs)}" if cache.pvs else ""
    return Box(
        "cache",
        cache.name,
        f"{cache.technology}, {cache.mode}{where}",
        cache.size_bytes,
        cache.trouble,
        is_fast=True,
        used_bytes=cache.used_bytes,
        dirty_bytes=cache.dirty_bytes,
    )

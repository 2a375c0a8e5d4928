"""What stands on what: disk -> array -> volume group -> volume -> cache -> guest. Pure.

Everything on the host is in it, whether Tiercel manages it or not, foreign volumes as what they
are. A page draws a chain as stages from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from storage.agent.retirement import retired
from storage.caches import cache_of
from storage.facts import Array, HostFacts, LogicalVolume, PhysicalVolume, VolumeGroup

Kind = Literal["disk", "array", "pv", "volume", "cache", "user"]
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
class Box:
    """One thing. `trouble` is what is wrong with it, "" when nothing is; `lv_uuid` is set on a
    volume, so that a page can link it."""

    kind: Kind
    name: str
    detail: str
    size_bytes: int | None = None
    trouble: str = ""
    lv_uuid: str = ""


Stage = tuple[Box, ...]
Chain = tuple[Stage, ...]
"""Each stage stands on the one before."""


@dataclass(frozen=True, slots=True)
class Group:
    """A volume group: chains that end in its physical volumes, chains that begin with its
    logical volumes."""

    vg: VolumeGroup
    devices: tuple[Chain, ...]
    volumes: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class Stack:
    """`loose` are devices that no volume group uses."""

    groups: tuple[Group, ...]
    loose: tuple[Chain, ...]


def stack_of(facts: HostFacts) -> Stack:
    """The whole of an inventory; nothing in it is left out but LVM's hidden sub-volumes."""
    groups = tuple(
        Group(
            vg,
            tuple(_below(facts, pv) for pv in facts.pvs if pv.vg_uuid == vg.uuid),
            tuple(_above(facts, lv) for lv in facts.lvs if lv.vg_uuid == vg.uuid and _is_shown(lv)),
        )
        for vg in facts.vgs
    )
    used = {box.name for group in groups for chain in group.devices for box in _boxes(chain)}
    arrays = tuple(_array(facts, array) for array in facts.arrays if array.name not in used)
    used |= {box.name for chain in arrays for box in _boxes(chain)}
    disks = tuple(
        ((_disk_box(facts, disk.name),),)
        for disk in facts.disks
        if not any(is_part_of(name, disk.name) for name in used)
    )
    return Stack(groups, arrays + disks)


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


def is_part_of(name: str, disk: str) -> bool:
    """True for the disk itself and for its partitions (sda3, nvme0n1p3)."""
    partition = r"(p\d+)?" if disk[-1:].isdigit() else r"\d*"
    return re.fullmatch(re.escape(disk) + partition, name) is not None


def _boxes(chain: Chain) -> Iterable[Box]:
    return (box for stage in chain for box in stage)


def _is_shown(lv: LogicalVolume) -> bool:
    """Volumes and pools; not what LVM makes them of, nor what a cache shows already."""
    if SUB_VOLUMES.fullmatch(lv.name) or "spare" in lv.role:
        return False
    return lv.is_public or "pool" in lv.layout


def _below(facts: HostFacts, pv: PhysicalVolume) -> Chain:
    array = next((each for each in facts.arrays if is_part_of(pv.name, each.name)), None)
    trouble = ""
    if pv.missing:
        trouble = "missing"
    elif pv.duplicate:
        trouble = "seen twice"
    elif pv.redundant and not pv.healthy:
        trouble = "degraded"
    tier = "SSD tier" if pv.tier == "fast" else "slow tier"
    safety = "redundant" if pv.redundant else "single device"
    box = Box("pv", pv.name, f"physical volume, {tier}, {safety}", pv.size_bytes, trouble)
    if array is not None:
        return (*_array(facts, array), (box,))
    disk = next((each for each in facts.disks if is_part_of(pv.name, each.name)), None)
    return ((_disk_box(facts, disk.name),), (box,)) if disk is not None else ((box,),)


def _array(facts: HostFacts, array: Array) -> Chain:
    trouble = f"{array.degraded_count} missing" if array.degraded_count else ""
    action = f", {array.sync_action}" if array.sync_action not in ("", "idle") else ""
    box = Box(
        "array", array.name, f"{array.level}, {array.state}{action}", array.size_bytes, trouble
    )
    members = tuple(_disk_box(facts, member.name, member.state) for member in array.members)
    return (members, (box,)) if members else ((box,),)


def _disk_box(facts: HostFacts, name: str, state: str = "") -> Box:
    """A disk by its own name or a partition's; `state` is that of an array's member."""
    trouble = state if "faulty" in state else ""
    disk = next((each for each in facts.disks if is_part_of(name, each.name)), None)
    if disk is None:
        return Box("disk", name, "", None, trouble)
    words = ["slow disk" if disk.rotational else "SSD", disk.model]
    if disk.read_only:
        words.append("read-only")
    detail = ", ".join(word for word in words if word)
    return Box("disk", name, detail, disk.size_bytes, trouble)


def _above(facts: HostFacts, lv: LogicalVolume) -> Chain:
    on = f" on {', '.join(lv.pvs)}" if lv.pvs else ""
    off = "" if lv.active else ", not active"
    trouble = lv.health or ("suspended" if lv.suspended else "")
    is_set = any(cset.lv_uuid == lv.uuid for cset in facts.csets)
    kind = "bcache cache device" if is_set else kind_of(lv)
    if (marks := retired(lv.tags)) is not None:
        kind = f"retired, was {marks.name}, {kind}"
    box = Box("volume", lv.name, f"{kind}{on}{off}", lv.size_bytes, trouble, lv.uuid)
    chain: list[Stage] = [(box,)]
    cache = cache_of(facts, lv)
    if cache is not None:
        where = f" on {', '.join(lv.cache.pvs)}" if lv.cache is not None and lv.cache.pvs else ""
        detail = f"{cache.technology}, {cache.mode}{where}"
        chain.append((Box("cache", cache.name, detail, cache.size_bytes, cache.trouble),))
    elif lv.bcache is not None:
        chain.append((Box("cache", lv.bcache.device or "bcache", "bcache, no cache yet"),))
    if lv.users:
        chain.append(tuple(Box("user", str(user), user.kind) for user in lv.users))
    return tuple(chain)

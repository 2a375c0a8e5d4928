"""The devices below a physical volume: disks, arrays, and hand-made bcache. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from storage.inventory.facts import Array, BareBacking, HostFacts, PhysicalVolume

Kind = Literal["disk", "array", "pv", "volume", "cache", "user"]


@dataclass(frozen=True, slots=True)
class Box:
    """One thing. `trouble` is what is wrong with it, "" when nothing is; `lv_uuid` is set on a
    volume, so that a page can link it; `is_fast` is True for an SSD. Of a cache, `used_bytes` are
    filled (None where it is unknown) and `dirty_bytes` not on the slow disks yet."""

    kind: Kind
    name: str
    detail: str
    size_bytes: int | None = None
    trouble: str = ""
    lv_uuid: str = ""
    is_fast: bool = False
    used_bytes: int | None = None
    dirty_bytes: int = 0


Stage = tuple[Box, ...]
Chain = tuple[Stage, ...]
"""Each stage stands on the one before."""


def is_part_of(name: str, disk: str) -> bool:
    """True for the disk itself and for its partitions (sda3, nvme0n1p3)."""
    if not name.startswith(disk):
        return False
    partition = r"(p\d+)?" if disk[-1:].isdigit() else r"\d*"
    return re.fullmatch(partition, name[len(disk) :]) is not None


def fast_disks(facts: HostFacts) -> frozenset[str]:
    """Names of the SSDs: what the kernel calls one, unless root says otherwise of all physical
    volumes on it (fast-pv, slow-pv): behind hardware RAID the kernel does not know."""
    by_kernel = frozenset(disk.name for disk in facts.disks if not disk.rotational)
    tiers: dict[str, set[str]] = {}
    for pv in facts.pvs:
        names = _disks_below(facts, pv.name)
        # Of an array of both kinds the slower one decides.
        if names <= by_kernel or not names & by_kernel:
            for name in names:
                tiers.setdefault(name, set()).add(pv.tier)
    return frozenset(
        disk.name
        for disk in facts.disks
        if tiers.get(disk.name) == {"fast"}
        or (disk.name in by_kernel and tiers.get(disk.name) != {"slow"})
    )


def _disks_below(facts: HostFacts, pv: str) -> frozenset[str]:
    array = next((each for each in facts.arrays if is_part_of(pv, each.name)), None)
    names = [pv] if array is None else [member.name for member in array.members]
    return frozenset(
        disk.name for disk in facts.disks if any(is_part_of(name, disk.name) for name in names)
    )


def disk_below(facts: HostFacts, pv: str) -> str:
    """The array or the disk that a physical volume lies on, or is."""
    names = [*(each.name for each in facts.arrays), *(each.name for each in facts.disks)]
    return next((name for name in names if is_part_of(pv, name)), pv)


def boxes_of(chain: Chain) -> Iterable[Box]:
    return (box for stage in chain for box in stage)


def below(facts: HostFacts, pv: PhysicalVolume) -> Chain:
    """What a physical volume lies on, and then itself, unless it is the whole of that."""
    trouble = ""
    if pv.missing:
        trouble = "missing"
    elif pv.duplicate:
        trouble = "seen twice"
    elif pv.redundant and not pv.healthy:
        trouble = "degraded"
    safety = "" if trouble == "degraded" else "redundant" if pv.redundant else "single device"
    box = Box("pv", pv.name, safety, pv.size_bytes, trouble, is_fast=pv.tier == "fast")
    made = next((each for each in facts.backings if is_part_of(pv.name, each.name)), None)
    if made is not None:
        return _standing(bcache_of(facts, made), box)
    array = next((each for each in facts.arrays if is_part_of(pv.name, each.name)), None)
    if array is not None:
        return _standing(array_of(facts, array), box)
    disk = next((each for each in facts.disks if is_part_of(pv.name, each.name)), None)
    return _standing(((disk_box(facts, disk.name),),), box) if disk is not None else ((box,),)


def _standing(below: Chain, pv: Box) -> Chain:
    """A physical volume that is a whole disk or array is the same box."""
    top = below[-1][0]
    if top.name != pv.name:
        return (*below, (pv,))
    detail = ", ".join(word for word in (top.detail, pv.detail) if word)
    troubles = (top.trouble, "" if top.trouble.startswith(pv.trouble) else pv.trouble)
    trouble = ", ".join(word for word in troubles if word)
    size_bytes = pv.size_bytes if top.size_bytes is None else top.size_bytes
    return (*below[:-1], (replace(top, detail=detail, trouble=trouble, size_bytes=size_bytes),))


def degraded_words(array: Array) -> str:
    """How many of its disks a degraded array has, "degraded: 1 of 2 disks"; "" for a whole one."""
    if array.has_failed:
        return "failed" if array.state != "inactive" else "not started"
    if not array.degraded_count:
        return ""
    present_count = sum("in_sync" in member.state.split(",") for member in array.members)
    return f"degraded: {present_count} of {present_count + array.degraded_count} disks"


def array_of(facts: HostFacts, array: Array) -> Chain:
    trouble = degraded_words(array)
    state = "" if trouble else f", {array.state}"
    action = f", {array.sync_action}" if array.sync_action not in ("", "idle") else ""
    members = tuple(disk_box(facts, member.name, member.state) for member in array.members)
    box = Box(
        "array",
        array.name,
        f"{array.level}{state}{action}",
        array.size_bytes,
        trouble,
        is_fast=bool(members) and all(member.is_fast for member in members),
    )
    return (members, (box,)) if members else ((box,),)


def bcache_of(facts: HostFacts, backing: BareBacking) -> Chain:
    """The disks of a bcache made by hand, its cache's device beside them, and then itself."""
    *lower, top = _device(facts, backing.device)
    cset = facts.cset(backing.cset_uuid) if backing.cset_uuid is not None else None
    if cset is not None:
        lv = facts.lv(cset.lv_uuid) if cset.lv_uuid is not None else None
        fast = f"{lv.vg_name}/{lv.name}" if lv is not None else cset.device
        top = top if fast is None else (*top, *_device(facts, fast)[-1])
    words = ["bcache", backing.mode if cset is not None else "no cache"]
    if backing.users:
        words.append(f"used by {', '.join(str(user) for user in backing.users)}")
    trouble = "inconsistent" if backing.state == "inconsistent" else ""
    if backing.kname is None:
        trouble = "is stopped: its cache is missing"
    box = Box(
        "pv", backing.name, ", ".join(words), trouble=trouble, dirty_bytes=backing.dirty_bytes
    )
    return (*lower, top, (box,))


def _device(facts: HostFacts, name: str) -> Chain:
    """An array with its members, or a disk or partition alone."""
    array = next((each for each in facts.arrays if each.name == name), None)
    return array_of(facts, array) if array is not None else ((disk_box(facts, name),),)


def disk_box(facts: HostFacts, name: str, state: str = "") -> Box:
    """A disk by its own name or a partition's; `state` is that of an array's member."""
    trouble = state if "faulty" in state else ""
    disk = next((each for each in facts.disks if is_part_of(name, each.name)), None)
    if disk is None:
        return Box("disk", name, "", None, trouble)
    is_fast = disk.name in fast_disks(facts)
    words = ["SSD" if is_fast else "HDD", disk.model]
    if disk.read_only:
        words.append("read-only")
    detail = ", ".join(word for word in words if word)
    return Box("disk", name, detail, disk.size_bytes, trouble, is_fast=is_fast)

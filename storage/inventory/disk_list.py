"""The disks of a host for its page: their use and health. Pure.

Health is what LVM and md report: the disk itself is not queried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from storage.inventory.device_tree import is_part_of
from storage.inventory.facts import Disk, HostFacts

Tone = Literal["ok", "warning", "error", "quiet"]
WELL_MEMBER = frozenset({"in_sync", "spare"})
"""One of these words is in the state of an array's member that works, or is being filled."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """`serves` are the arrays and groups it is part of, as text; `health` is one of a few words,
    `tone` says how bad that is."""

    disk: Disk
    serves: tuple[str, ...]
    tone: Tone
    health: str


def devices_of(facts: HostFacts) -> tuple[DeviceUse, ...]:
    """One for each disk, in the inventory's order."""
    return tuple(_device(facts, disk) for disk in facts.disks)


def _device(facts: HostFacts, disk: Disk) -> DeviceUse:
    serves = tuple(dict.fromkeys(_serves(facts, disk)))
    tone, health = _health(facts, disk)
    if tone == "ok" and not serves:
        tone, health = "quiet", "not used"
    return DeviceUse(disk, serves, tone, health)


def _serves(facts: HostFacts, disk: Disk) -> Iterator[str]:
    for array in facts.arrays:
        if any(is_part_of(member.name, disk.name) for member in array.members):
            groups = [pv.vg_name for pv in facts.pvs if is_part_of(pv.name, array.name)]
            yield f"{array.name} → {', '.join(groups)}" if any(groups) else array.name
    for pv in facts.pvs:
        if is_part_of(pv.name, disk.name):
            yield pv.vg_name or "physical volume in no group"
    for backing in facts.backings:
        if is_part_of(backing.device, disk.name):
            groups = [pv.vg_name for pv in facts.pvs if is_part_of(pv.name, backing.name)]
            yield f"{backing.name} → {', '.join(groups)}" if any(groups) else backing.name
    for cset in facts.csets:
        if cset.lv_uuid is None and is_part_of(cset.device, disk.name):
            yield "bcache cache set"


def _health(facts: HostFacts, disk: Disk) -> tuple[Tone, str]:
    members = [
        (array, member)
        for array in facts.arrays
        for member in array.members
        if is_part_of(member.name, disk.name)
    ]
    pvs = [pv for pv in facts.pvs if is_part_of(pv.name, disk.name)]
    if any("faulty" in member.state for _, member in members):
        return "error", "failed in its array"
    if any(pv.missing for pv in pvs):
        return "error", "missing for LVM"
    if disk.read_only:
        return "error", "read-only"
    if any(pv.duplicate for pv in pvs):
        return "error", "duplicate (seen twice by LVM)"
    states = [member.state for _, member in members]
    if odd := [state for state in states if not WELL_MEMBER.intersection(state.split(","))]:
        return "warning", odd[0].replace("_", " ")
    if any(array.degraded_count for array, _ in members):
        return "warning", "its array is degraded"
    return "ok", "in sync" if members else "in use"

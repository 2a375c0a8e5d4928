"""The disks of a host for its page: their use, and how LVM and md see them. Pure.

What a disk says of itself is in `storage.health`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from storage.inventory.device_tree import fast_disks, is_part_of
from storage.inventory.facts import Array, ArrayMember, Disk, HostFacts

Tone = Literal["ok", "warning", "error", "quiet"]
WELL_MEMBER = frozenset({"in_sync", "spare", "journal"})
"""One of these words is in the state of an array's member that works, or is being filled."""
WELL_WORDS = WELL_MEMBER | {
    "write_mostly", "failfast", "external_bbl", "replacement", "want_replacement"
}  # fmt: skip
"""All that may stand beside it: any other word (of write errors, of waiting I/O, of a later kernel)
is not well."""
NO_ARRAY = "not in an array"
"""No judgement: whether a disk should be in one is for its owner to say."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """`serves` are the arrays and groups it is part of, as text; `state` is one of a few words
    of LVM and md, `tone` says how bad that is. `is_fast` is True for an SSD."""

    disk: Disk
    is_fast: bool
    serves: tuple[str, ...]
    tone: Tone
    state: str


def devices_of(facts: HostFacts) -> tuple[DeviceUse, ...]:
    """One for each disk, in the inventory's order."""
    fast = fast_disks(facts)
    return tuple(_device(facts, disk, disk.name in fast) for disk in facts.disks)


def _device(facts: HostFacts, disk: Disk, is_fast: bool) -> DeviceUse:
    serves = tuple(dict.fromkeys(_serves(facts, disk)))
    tone, state = _state(facts, disk)
    if state == NO_ARRAY and not serves:
        state = "not used"
    return DeviceUse(disk, is_fast, serves, tone, state)


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
        if cset.lv_uuid is None and cset.device and is_part_of(cset.device, disk.name):
            yield "bcache cache set"


def _state(facts: HostFacts, disk: Disk) -> tuple[Tone, str]:
    members = [
        (array, member)
        for array in facts.arrays
        for member in array.members
        if is_part_of(member.name, disk.name)
    ]
    pvs = [pv for pv in facts.pvs if is_part_of(pv.name, disk.name)]
    if any("faulty" in member.state for _, member in members):
        return "error", "failed"
    if any(pv.missing for pv in pvs):
        return "error", "missing for LVM"
    if disk.read_only:
        return "error", "read-only"
    if any(pv.duplicate for pv in pvs):
        return "error", "duplicate (seen twice by LVM)"
    odd = [word for _, member in members for word in _odd_words(member)]
    if odd:
        return "warning", odd[0].replace("_", " ") or "in an unknown state"
    if any(_is_filled(array, member) for array, member in members):
        return "warning", "rebuilding"
    if any(array.has_failed for array, _ in members):
        return "error", "its array is not running"
    if any(array.degraded_count for array, _ in members):
        return "warning", "its array is degraded"
    if any(array.trouble is not None for array, _ in members):
        return "warning", "its array is not well"
    if members:
        if all(member.is_spare for _, member in members):
            return "ok", "spare"
        is_journal = all("journal" in member.state.split(",") for _, member in members)
        return "ok", "write journal" if is_journal else "in sync"
    return "quiet", NO_ARRAY


def _odd_words(member: ArrayMember) -> list[str]:
    """What its state says that is not well."""
    words = member.state.split(",")
    odd = [word for word in words if word not in WELL_WORDS]
    return odd or ([] if WELL_MEMBER.intersection(words) else words)


def seconds_left(facts: HostFacts, array: Array) -> float | None:
    """Until the array's rebuild or check ends; None where it is idle, or says no speed."""
    # What turns is slower on its inner tracks, however fast root calls it.
    rotating = [disk.name for disk in facts.disks if disk.rotational]
    members = [member.name for member in array.members]
    slows = any(is_part_of(member, disk) for member in members for disk in rotating)
    return array.seconds_left(slows=slows)


def free_disks(facts: HostFacts, size_bytes: int) -> tuple[str, ...]:
    """Disks of at least that size of which no array, group or volume uses anything."""
    used = [member.name for array in facts.arrays for member in array.members]
    used += [pv.name for pv in facts.pvs]
    return tuple(
        disk.name
        for disk in facts.disks
        if disk.size_bytes >= size_bytes
        and not disk.read_only
        and not any(is_part_of(name, disk.name) for name in used)
    )


def _is_filled(array: Array, member: ArrayMember) -> bool:
    """True while the array is rebuilt onto it: it has a slot then, which a waiting one lacks."""
    is_filling = "spare" in member.state.split(",") and member.slot not in ("", "none")
    return is_filling and array.sync_action == "recover"

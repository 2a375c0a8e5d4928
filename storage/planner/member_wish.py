"""A disk for an array that lies below a volume group: the suitable disks of a host, and the wish
that one of them takes a place there.

Pure. The agent checks what the inventory does not contain (mounts, signatures, the exact size).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from storage.agent.calls.names import kernel_name
from storage.agent.kernel.disks import COPIES
from storage.inventory.device_tree import fast_disks, is_part_of
from storage.inventory.disk_list import free_disks
from storage.inventory.facts import Array, ArrayMember, Disk, HostFacts, VolumeGroup
from storage.naming import AGENT_PATH
from storage.planner.draft import PlannedStep, Refused, demand_group_change, group_of
from storage.planner.wish import BadWish


@dataclass(frozen=True, slots=True)
class Replacement:
    """That `device`, with this serial number, takes the place of `member` in an array, or ("") the
    place that is free there. The serial numbers decide, the names are shown. The group lies on the
    array."""

    array: str
    array_uuid: str
    member: str
    device: str
    serial: str
    vg_uuid: str
    vg_name: str
    member_serial: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Replacement:
        """The inverse of `to_json`; raises `BadWish` on anything else."""
        names = {field.name for field in fields(cls)}
        # An older version stored none; the host then refuses.
        needed = names - {"member_serial"}
        if not isinstance(data, dict) or not needed <= set(data) <= names:
            raise BadWish("A replacement names an array, a member, a device and a volume group.")
        if not all(isinstance(value, str) for value in data.values()):
            raise BadWish("What a replacement names is text.")
        return cls(**data)


REPAIRABLE: Final = ("array_degraded", "array_weakened")
"""The troubles of an array that a new member repairs."""


def group_on(facts: HostFacts, array: Array) -> VolumeGroup | None:
    """The volume group that lies on the array."""
    uuids = [pv.vg_uuid for pv in facts.pvs if is_part_of(pv.name, array.name) and pv.vg_uuid]
    return next((vg for vg in facts.vgs if vg.uuid in uuids), None)


def members_to_replace(array: Array) -> tuple[ArrayMember, ...]:
    """Those that work; none where one is missing already, since its place is filled first."""
    if array.degraded_count:
        return ()
    return tuple(member for member in array.members if member.slot.isdecimal())


def member_serial(facts: HostFacts, name: str) -> str:
    """The serial number of the disk that a member is, or is a part of; "" where it has none."""
    return next((disk.serial for disk in facts.disks if is_part_of(name, disk.name)), "")


def disks_for(facts: HostFacts, array: Array) -> tuple[Disk, ...]:
    """Unused disks that are large enough and no slower than the members, by what the inventory
    says. A disk without a serial number cannot be named, and is left out."""
    copies = 1 if array.level == "raid1" else max(1, (array.disk_count or 2) - 1)
    free = free_disks(facts, array.size_bytes // copies)
    there = [
        disk
        for disk in facts.disks
        if any(is_part_of(member.name, disk.name) for member in array.members)
    ]
    fast = fast_disks(facts)
    are_slow = not there or any(disk.name not in fast for disk in there)
    sectors = {disk.logical_sector_bytes for disk in there}
    return tuple(
        disk
        for disk in facts.disks
        if disk.name in free
        and disk.serial
        and (are_slow or disk.name in fast)
        and (not sectors or disk.logical_sector_bytes in sectors)
    )


def refusal_of(facts: HostFacts, array: Array, *, allowed: bool | None) -> Refused | None:
    """Why no member of the array can be replaced now; None where one can. `allowed` is what root
    says of it in the host's policy, None where its agent is too old to know."""
    group = group_on(facts, array)
    if array.container:
        return Refused(
            "unsupported",
            f"{array.name} is an array of firmware's RAID: its disks are those of "
            f"{array.container}.",
            f"Replace the disk by hand: mdadm --manage /dev/{array.container} --add /dev/NEW",
        )
    if array.level not in COPIES:
        return Refused(
            "unsupported",
            f"{array.name} is {array.level}: it has no second copy to fill a disk from.",
            "Move its volumes to another disk first.",
        )
    if group is None or not group.allowed or not all(map(_is_name, _names(array))):
        return Refused(
            "observe_only",
            f"No volume group on {array.name} may be changed by Tiercel.",
            f"As root on the host: {AGENT_PATH} allow-vg NAME",
        )
    if allowed is None or not (array.degraded_count or members_to_replace(array)):
        return Refused(
            "unsupported",
            "The agent of this host is too old to replace a disk.",
            "Run a new enrolment command on the host. It upgrades the agent.",
        )
    if not allowed:
        return Refused(
            "observe_only",
            "Root on the host has not allowed Tiercel to replace disks of arrays.",
            f"As root on the host: {AGENT_PATH} allow-replacement",
        )
    if (trouble := array.trouble) is not None and trouble.code not in REPAIRABLE:
        return Refused(
            "busy" if trouble.code == "array_recovering" else "degraded",
            f"{trouble.message}.",
            trouble.correction,
        )
    if array.is_at_work:
        return Refused(
            "busy",
            f"{array.name} is at work: {array.sync_action}.",
            "Wait until it is idle.",
        )
    if not disks_for(facts, array):
        return Refused(
            "not_found",
            f"The host has no unused disk that {array.name} could take.",
            "Install a disk that is at least as large as the others, and no slower. Then refresh "
            "the host.",
        )
    return None


def _names(array: Array) -> list[str]:
    return [array.name, *(member.name for member in array.members)]


def _is_name(name: str) -> bool:
    try:
        kernel_name(name)
    except ValueError:
        return False
    return True


def replace(facts: HostFacts, wanted: Replacement) -> tuple[PlannedStep, ...]:
    """The step that is left, `()` once the device is a full member and the old one is out; raises
    `Refused`. Whether it is empty and the one that was meant, the host says itself."""
    vg = group_of(facts, wanted.vg_uuid, wanted.vg_name)
    array = next((each for each in facts.arrays if each.uuid == wanted.array_uuid), None)
    if array is None or array.name != wanted.array:
        raise Refused(
            "not_found",
            f"The array {wanted.array} is no longer on the host under this name.",
            "Look at the host's arrays, then ask again.",
        )
    if _is_done(facts, array, wanted):
        return ()
    if array.has_failed and array.trouble is not None:
        raise Refused("degraded", f"{array.trouble.message}.", array.trouble.correction)
    serial = member_serial(facts, wanted.member)
    is_there = any(member.name == wanted.member for member in array.members)
    if is_there and serial != wanted.member_serial:
        raise Refused(
            "stale",
            f"{wanted.member} has the serial number {serial or '(none)'} now, not "
            f"{wanted.member_serial or 'a known one'}: it is another disk.",
            "Look at the host's arrays, then ask again.",
        )
    demand_group_change(facts, vg)
    args = {
        "vg": vg.name,
        "array": array.name,
        "uuid": array.uuid,
        "device": wanted.device,
        "serial": wanted.serial,
    }
    place = (
        f"in place of {wanted.member} ({wanted.member_serial})"
        if wanted.member
        else "where a disk is missing"
    )
    return (
        PlannedStep(
            "array.replace",
            {**args, "member": wanted.member, "member_serial": wanted.member_serial}
            if wanted.member
            else args,
            {"vg_uuid": vg.uuid},
            f"Put {wanted.device} ({wanted.serial}) into {array.name} {place}",
            polled=True,
            holds_vg=False,
        ),
    )


def _is_done(facts: HostFacts, array: Array, wanted: Replacement) -> bool:
    members = {member.name: member for member in array.members}
    new = members.get(wanted.device)
    if new is None or not new.is_in_place:
        return False
    if wanted.member:
        serials = {member_serial(facts, name) for name in members}
        return wanted.member not in members and wanted.member_serial not in serials
    return not any(member.has_failed for member in array.members)

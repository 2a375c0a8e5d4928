"""A new SSD for a volume group: the suitable devices of a host, and the wish for one of them.

Pure. The agent checks what the inventory does not contain (mounts, signatures).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from storage.inventory.device_tree import fast_disks, is_part_of
from storage.inventory.disk_list import devices_of
from storage.inventory.facts import HostFacts, VolumeGroup
from storage.planner.draft import PlannedStep, Refused, demand_group_change, group_of
from storage.planner.wish import BadWish


@dataclass(frozen=True, slots=True)
class Spare:
    """An SSD, or an array of SSDs, that no array and no volume group uses. `serial` identifies it:
    the number on a drive's label, or the uuid of an array."""

    name: str
    size_bytes: int
    model: str
    serial: str
    is_redundant: bool


@dataclass(frozen=True, slots=True)
class Preparation:
    """That `device`, with this serial number, gives its space to a volume group."""

    device: str
    serial: str
    vg_uuid: str
    vg_name: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Preparation:
        """The inverse of `to_json`; raises `BadWish` on anything else."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise BadWish("A preparation names a device, its serial number and a volume group.")
        if not all(isinstance(value, str) for value in data.values()):
            raise BadWish("What a preparation names is text.")
        return cls(**data)


def spares_of(facts: HostFacts) -> tuple[Spare, ...]:
    """What could be prepared. A disk without a serial number cannot be named, and is left out."""
    fast = fast_disks(facts)
    disks = [
        Spare(disk.name, disk.size_bytes, disk.model, disk.serial, False)
        for disk in (each.disk for each in devices_of(facts) if not each.serves)
        if disk.name in fast and disk.serial and not disk.read_only
    ]
    arrays = [
        Spare(array.name, array.size_bytes, f"{array.level} array", array.uuid, True)
        for array in facts.arrays
        if array.members
        and all(any(is_part_of(m.name, name) for name in fast) for m in array.members)
        and not any(is_part_of(pv.name, array.name) for pv in facts.pvs)
    ]
    return (*disks, *arrays)


def prepare(facts: HostFacts, wanted: Preparation) -> tuple[PlannedStep, ...]:
    """The step that is left, `()` once the device is a physical volume of the group; raises
    `Refused`. Whether it is empty and the one that was meant, the host says itself."""
    vg = group_of(facts, wanted.vg_uuid, wanted.vg_name)
    if any(pv.name == wanted.device and pv.vg_uuid == vg.uuid for pv in facts.pvs):
        return ()
    demand_group_change(facts, vg)
    _same_sectors(facts, vg, wanted.device)
    return (
        PlannedStep(
            "ssd.prepare",
            {"vg": vg.name, "device": wanted.device, "serial": wanted.serial},
            {"vg_uuid": vg.uuid},
            f"Make {wanted.device} ({wanted.serial}) a physical volume of {vg.name}",
        ),
    )


def _same_sectors(facts: HostFacts, vg: VolumeGroup, device: str) -> None:
    """LVM takes no device into a group of other logical sectors. What the inventory does not list
    as a disk or an array of disks, the host compares itself."""
    members = {each.name: [part.name for part in each.members] for each in facts.arrays}
    names = members.get(device, [device])
    here = {
        disk.logical_sector_bytes
        for disk in facts.disks
        if any(is_part_of(name, disk.name) for name in names)
    }
    others = {
        pv.logical_sector_bytes for pv in facts.pvs if pv.vg_uuid == vg.uuid and not pv.missing
    }
    if here and others and here != others:
        raise Refused(
            "unsupported",
            f"{device} has logical sectors of {_listed(here)} bytes, the disks of {vg.name} have "
            f"{_listed(others)}.",
            "Use a device with the same sectors, or reformat it to them; that erases it.",
        )


def _listed(sizes: set[int]) -> str:
    return ", ".join(str(size) for size in sorted(sizes))

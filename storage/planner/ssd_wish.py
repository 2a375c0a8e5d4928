"""A new SSD for a volume group: the suitable devices of a host, and the wish for one of them.

Pure. The agent checks what the inventory does not contain (mounts, signatures).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from storage.inventory.device_tree import is_part_of
from storage.inventory.disk_list import devices_of
from storage.inventory.facts import HostFacts
from storage.planner.wish import BadWish


@dataclass(frozen=True, slots=True)
class Spare:
    """An SSD, or an array of SSDs, that no array and no volume group uses. `serial` is what tells
    it from all others: on a drive's label, or the uuid of an array."""

    device: str
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
    """What could be prepared. Without a serial number nobody can say which one is meant."""
    fast = {disk.name for disk in facts.disks if not disk.rotational}
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

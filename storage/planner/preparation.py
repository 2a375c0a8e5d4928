"""The steps that turn an empty SSD into space of a volume group."""

from __future__ import annotations

from storage.inventory.device_tree import is_part_of
from storage.inventory.facts import HostFacts, VolumeGroup
from storage.planner.draft import PlannedStep, Refused, group_may_change, group_of
from storage.planner.ssd_wish import Preparation


def prepare(facts: HostFacts, wanted: Preparation) -> tuple[PlannedStep, ...]:
    """The step that is left, `()` once the device is a physical volume of the group; raises
    `Refused`. Whether it is empty and the one that was meant, the host says itself."""
    vg = group_of(facts, wanted.vg_uuid, wanted.vg_name)
    if any(pv.name == wanted.device and pv.vg_uuid == vg.uuid for pv in facts.pvs):
        return ()
    group_may_change(facts, vg)
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

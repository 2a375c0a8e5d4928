"""Keeps a record of each block device of a host below LVM, by its inventory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.inventory.device_tree import fast_disks, is_part_of
from storage.inventory.facts import HostFacts, PhysicalVolume
from storage.models import Device, DeviceKind, Host

IDENTITY_LIMIT, NAME_LIMIT = 200, 80


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """What `storage.models.Device` keeps; `part_of` is the name of a device."""

    kind: DeviceKind
    identity: str
    name: str
    size_bytes: int
    is_fast: bool
    vg_name: str
    part_of: str


def block_devices(facts: HostFacts) -> tuple[BlockDevice, ...]:
    """The disks and arrays of a host, and the partitions that are physical volumes or belong to an
    array. Pure."""
    pvs = {pv.name: pv for pv in facts.pvs if not pv.missing}
    array_by_member = {
        member.name: array.name for array in facts.arrays for member in array.members
    }
    fast = fast_disks(facts)
    listed = []
    for disk in facts.disks:
        words = " ".join(word for word in (disk.model, disk.serial) if word)
        identity = words if disk.serial else f"@{disk.name}"
        inside = [name for name in array_by_member if is_part_of(name, disk.name)]
        parts = {name for name in (*pvs, *array_by_member) if is_part_of(name, disk.name)}
        is_fast = disk.name in fast
        listed.append(
            _device(
                DeviceKind.DISK, identity, disk.name, disk.size_bytes, is_fast, pvs,
                array_by_member[inside[0]] if inside else "",
            )
        )  # fmt: skip
        for name in sorted(parts - {disk.name}):
            pv = pvs.get(name)
            listed.append(
                _device(
                    DeviceKind.PARTITION, f"{identity} {name.removeprefix(disk.name)}", name,
                    pv.size_bytes if pv is not None else 0, is_fast, pvs,
                    array_by_member.get(name, disk.name),
                )
            )  # fmt: skip
    fast_by_name = {each.name: each.is_fast for each in listed}
    for array in facts.arrays:
        members = [fast_by_name.get(member.name, False) for member in array.members]
        listed.append(
            _device(
                DeviceKind.ARRAY, array.uuid or f"@{array.name}", array.name, array.size_bytes,
                bool(members) and all(members), pvs, array_by_member.get(array.name, ""),
            )
        )  # fmt: skip
    return tuple(_different(listed))


def _device(
    kind: DeviceKind,
    identity: str,
    name: str,
    size_bytes: int,
    is_fast: bool,
    pvs: dict[str, PhysicalVolume],
    part_of: str,
) -> BlockDevice:
    """The operator's word on a physical volume wins over what the kernel says of the disk."""
    pv = pvs.get(name)
    return BlockDevice(
        kind=kind,
        identity=identity[:IDENTITY_LIMIT],
        name=name[:NAME_LIMIT],
        size_bytes=size_bytes,
        is_fast=is_fast if pv is None else pv.tier == "fast",
        vg_name=pv.vg_name if pv is not None else "",
        part_of=part_of,
    )


def _different(devices: Iterable[BlockDevice]) -> Iterable[BlockDevice]:
    """Of two that say the same serial number, as the paths to one disk do, both by their names."""
    devices = tuple(devices)
    counts: dict[tuple[DeviceKind, str], int] = {}
    for each in devices:
        counts[each.kind, each.identity] = counts.get((each.kind, each.identity), 0) + 1
    for each in devices:
        if counts[each.kind, each.identity] == 1:
            yield each
        else:
            values = {name: getattr(each, name) for name in BlockDevice.__slots__}
            yield BlockDevice(**values | {"identity": f"@{each.name}"})


def keep_devices(host: Host, facts: HostFacts, at: datetime) -> None:
    """Bring the records up to date with an inventory. An older agent's says of no boot, and such
    devices have no samples."""
    known = {(each.kind, each.identity): each for each in Device.objects.filter(host=host)}
    by_name: dict[str, Device] = {}
    noted = block_devices(facts)
    for each in noted:
        values: dict[str, Any] = {
            "name": each.name,
            "boot_id": facts.boot_id,
            "size_bytes": each.size_bytes,
            "is_fast": each.is_fast,
            "vg_name": each.vg_name,
            "gone_at": None,
        }
        device = known.pop((each.kind, each.identity), None)
        if device is None:
            device = Device.objects.create(
                host=host, kind=each.kind, identity=each.identity, **values
            )
        else:
            _change(device, values)
        by_name[each.name] = device
    for each in noted:
        above = by_name.get(each.part_of)
        _change(by_name[each.name], {"part_of_id": above.pk if above is not None else None})
    for device in known.values():
        if device.gone_at is None and facts.consistent and not facts.stale:
            _change(device, {"gone_at": at})


def _change(device: Device, values: dict[str, Any]) -> None:
    if any(getattr(device, name) != value for name, value in values.items()):
        for name, value in values.items():
            setattr(device, name, value)
        device.save(update_fields=list(values))

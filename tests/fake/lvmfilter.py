"""What LVM on a pretended machine looks into: its configuration, and guests' disks by it."""

from __future__ import annotations

import re

from tests.fake.machine import Machine
from tests.fake.parts import Vg

LOCAL = "/etc/lvm/lvmlocal.conf"
DEVICES = "/etc/lvm/devices/system.devices"
HIDING = b"""devices {
\tglobal_filter = [ "r|^/dev/bcache.*|", "r|^/dev/tiercel-guest/.*|" ]
}
"""
_LIST = re.compile(r"(?m)^[^#\n]*\bglobal_filter\s*=\s*\[(.*)\]")
_ENTRY = re.compile(r'"([^"]*)"')


def global_filter(machine: Machine) -> list[str]:
    """lvmlocal.conf overrides lvm.conf; the last setting in it counts."""
    found: list[str] = _LIST.findall(machine.files.get(LOCAL, b"").decode())
    return _ENTRY.findall(found[-1]) if found else list(machine.global_filter)


def rejects(machine: Machine, name: str) -> bool:
    """By lvm2's devices file where it is in use: the device is not listed. Else by filter-regex.c:
    each name of the device is looked at; the first entry that fits it decides; one accepted name
    lets the device in."""
    if machine.use_devicesfile and DEVICES in machine.files:
        listed = machine.files[DEVICES].decode().split()
        return f"DEVNAME=/dev/{name}" not in listed
    links = [link for link, target in machine.links.items() if target.endswith(f"../{name}")]
    rejected = False
    for alias in (f"/dev/{name}", *links):
        entry = next((e for e in global_filter(machine) if re.search(e[2:-1], alias)), "")
        if entry.startswith("a"):
            return False
        rejected = rejected or entry.startswith("r")
    return rejected


def is_seen(machine: Machine, vg: Vg) -> bool:
    """Whether LVM finds a group: a guest's lies on a bcache device, on a disk of its own, or on an
    LV, which it scans only where it is configured to."""
    if vg.inside is None:
        return not all(rejects(machine, pv.device.name) for pv in vg.pvs)
    backing = machine.backing(vg.inside)
    if backing is None:
        return machine.scan_lvs and vg.inside.minor is not None
    return not rejects(machine, vg.pvs[0].device.name)

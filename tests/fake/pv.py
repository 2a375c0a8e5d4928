"""pvcreate and vgextend."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fake.argv import failed, parse, said
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import ModelGap, Pv


def pvcreate(machine: Machine, argv: Sequence[str]) -> Steps:
    line = parse(argv, (), ("--metadatasize",))
    (path,) = line.operands
    if line.one("--metadatasize") != "16m":
        raise ModelGap(" ".join(argv))
    yield 0.1
    device = next((each for each in machine.disks if f"/dev/{each.name}" == path), None)
    if device is None:
        return failed(f"No device found for {path}.")
    if any(pv.path == path for vg in machine.vgs for pv in vg.pvs):
        raise ModelGap(f"pvcreate of a PV: {path}")
    if path in machine.signed:
        # It asks, and stdin is empty.
        return failed(
            f"WARNING: {machine.signed[path]} signature detected on {path} at offset 1080. "
            "Wipe it? [y/n]: [n]",
            "Aborted wiping of it.",
            "1 existing signature left on the device.",
        )
    machine.orphans.append(Pv(device, machine.lvm_uuid()))
    # Measured with lvm2 2.03.16: 17 MiB less the first page.
    machine.orphans[-1].metadata_area_bytes = 17821696
    machine.signed[path] = "LVM2_member"
    machine.changed()
    return said(f'Physical volume "{path}" successfully created.')


def vgextend(machine: Machine, argv: Sequence[str]) -> Steps:
    name, path = parse(argv, (), ()).operands
    yield 0.1
    vg = machine.vg(name)
    pv = next((each for each in machine.orphans if each.path == path), None)
    if vg is None or pv is None:
        raise ModelGap(" ".join(argv))
    if len({each.device.sector_bytes for each in (*vg.pvs, pv)}) > 1:
        sizes = sorted({each.device.sector_bytes for each in (*vg.pvs, pv)})
        said_sizes = " and ".join(map(str, sizes))
        return failed(f"Devices have inconsistent logical block sizes ({said_sizes}).")
    machine.orphans.remove(pv)
    vg.pvs.append(pv)
    machine.changed(vg)
    return said(f'Volume group "{name}" successfully extended')

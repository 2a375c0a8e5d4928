"""smartctl: what it finds, and what the disks of the machine say of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from storage.agent.kernel.local_host import CommandResult
from tests.fake.argv import parse
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import Disk, ModelGap

TEXT_HEAD = (
    "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-28-amd64] (local build)\n"
    "Copyright (C) 2002-22, Bruce Allen, Christian Franke, www.smartmontools.org\n\n"
)
SMARTCTL = {"version": [7, 3], "svn_revision": "5338"}


def smartctl(machine: Machine, argv: Sequence[str]) -> Steps:
    if list(argv) == ["smartctl", "--scan", "--json"]:
        yield 0.0
        # A virtio disk is none that smartctl knows how to ask.
        found = [(f"/dev/{disk.name}", "scsi") for disk in machine.disks if disk.major == 8]
        rows = [
            {"name": device, "info_name": device, "type": kind, "protocol": "SCSI"}
            for device, kind in (*found, *machine.hidden_disks)
        ]
        return _said({"smartctl": {**SMARTCTL, "exit_status": 0}, "devices": rows}, 0)
    if "-t" in argv:
        yield 0.0
        return _test(machine, argv)
    line = parse(argv, ("--json", "-x"), ("-n", "-d"))
    if not line.has("--json") or not line.has("-x") or line.one("-n") != "standby,3":
        raise ModelGap(" ".join(argv))
    yield 0.0
    device = line.operands[0]
    hidden = machine.hidden_disks.get((device, "".join(line.all("-d"))))
    disk = next((disk for disk in machine.disks if f"/dev/{disk.name}" == device), None)
    if hidden is not None:
        return _said(hidden, 0)
    if disk is None or disk.major != 8:
        message = f"Smartctl open device: {device} failed: No such device"
        return _said({"smartctl": {**SMARTCTL, "messages": [{"string": message}]}}, 2)
    if disk.sleeps:
        message = "Device is in STANDBY mode, exit(3)"
        return _said({"smartctl": {**SMARTCTL, "messages": [{"string": message}]}}, 3)
    return _said(disk.smart or _of_qemu(disk), 0 if disk.smart else 4)


def _test(machine: Machine, argv: Sequence[str]) -> CommandResult:
    """A disk that says how it is begins a test and is at 90 % of it; QEMU's know none."""
    line = parse(argv, (), ("-t", "-d"))
    if line.one("-t") not in ("short", "long"):
        raise ModelGap(" ".join(argv))
    disk = next(disk for disk in machine.disks if f"/dev/{disk.name}" == line.operands[0])
    if disk.smart is None:
        return CommandResult(
            4, f"{TEXT_HEAD}Short offline self test failed [unsupported scsi opcode]\n"
        )
    status = {"value": 249, "string": "in progress, 90% remaining", "remaining_percent": 90}
    self_test = {"status": status, "polling_minutes": {"short": 2, "extended": 600}}
    disk.smart = {**disk.smart, "ata_smart_data": {"self_test": self_test}}
    machine.changed()
    return CommandResult(0, f"{TEXT_HEAD}Testing has begun.\n")


def _of_qemu(disk: Disk) -> Mapping[str, Any]:
    """QEMU's SCSI disks say what they are and nothing of their health."""
    return {
        "smartctl": {**SMARTCTL, "exit_status": 4},
        "device": {"name": f"/dev/{disk.name}", "type": "scsi", "protocol": "SCSI"},
        "scsi_vendor": "QEMU",
        "scsi_model_name": f"QEMU {disk.model}",
        "user_capacity": {"bytes": disk.size_bytes},
        "logical_block_size": disk.sector_bytes,
        "serial_number": disk.serial,
        "smart_support": {"available": False},
        "temperature": {"current": 0},
    }


def _said(document: Mapping[str, Any], status: int) -> CommandResult:
    return CommandResult(status, json.dumps(document, indent=2) + "\n")

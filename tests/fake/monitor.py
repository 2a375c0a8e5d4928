"""The QMP monitors of the pretended guests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fake import bcache
from tests.fake.machine import Machine
from tests.fake.parts import SECTOR, ModelGap, Process


def path(guest: str) -> str:
    return f"/run/guest-{guest}.qmp"


def size_of(machine: Machine, device: str) -> int:
    """Size now of /dev/VG/LV, /dev/bcacheN or a disk."""
    lv = machine.lv_at(device)
    if lv is not None:
        return lv.size_bytes
    for backing in machine.backings:
        if f"/dev/{backing.device}" == device:
            return bcache.size_sectors(backing.lv, backing) * SECTOR
    for disk in machine.disks:
        if f"/dev/{disk.name}" == device:
            return disk.size_bytes
    raise ModelGap(f"a guest on {device}")


def answer(machine: Machine, socket: str, command: Mapping[str, Any]) -> Any:
    """What QEMU returns for one command. Raises OSError like a monitor that is not there or that
    refuses."""
    process = next((each for each in machine.processes if _listens(each, socket)), None)
    if process is None:
        raise FileNotFoundError(2, "No such file or directory", socket)
    device = next(iter(process.sizes))
    if command["execute"] == "query-block":
        kind = image_of(process)
        image = {"filename": device, "format": kind, "virtual-size": process.sizes[device]}
        inserted = {"file": device, "node-name": "#block100", "drv": kind, "image": image}
        return [{"device": "virtio0", "inserted": inserted}, {"device": "floppy0"}]
    if command["execute"] == "query-block-jobs":
        return [{"device": "job0", "type": process.job}] if process.job else []
    if command["execute"] == "query-migrate":
        return {}
    if command["execute"] != "block_resize":
        raise ModelGap(f"QMP {command}")
    arguments = command["arguments"]
    if arguments["device"] != "virtio0":
        raise OSError("Cannot find device")
    if process.job:
        raise OSError("Device 'virtio0' is in use")
    if arguments["size"] > size_of(machine, device):
        raise OSError("Cannot grow device files")
    process.sizes[device] = arguments["size"]
    return {}


def image_of(process: Process) -> str:
    """The format that its command line gives its disk."""
    drive = next(word for word in process.argv if word.startswith("file="))
    return drive.rpartition("format=")[2]


def _listens(process: Process, socket: str) -> bool:
    return any(word.startswith(f"unix:{socket},") for word in process.argv)

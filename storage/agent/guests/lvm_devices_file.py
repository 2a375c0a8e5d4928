"""LVM's devices file. Where it is in use LVM opens what it lists, and asks no filter."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..kernel import disks, dm
from ..kernel.local_host import LocalHost, MissingTool, TimedOut

FOLDER = "/etc/lvm/devices"
CONFIG = ("lvmconfig", "--type", "full", "devices/use_devicesfile", "devices/devicesfile")

_IN_USE = re.compile(r"(?m)^\s*use_devicesfile=1\s*$")
_NAME = re.compile(r'(?m)^\s*devicesfile="([^"/]+)"\s*$')
_DEVICE = re.compile(r"\b(?:IDNAME|DEVNAME)=(/dev/\S+)")
_BCACHE = re.compile(r"(?:/dev/)?(bcache\d+)(?:p\d+)?")


def file_in_use(host: LocalHost) -> str | None:
    """The path of the file that decides what LVM opens; None where a filter does."""
    if not host.list(FOLDER):
        return None
    try:
        settings = host.run(CONFIG, timeout=10.0).stdout
    except (MissingTool, TimedOut):
        return None
    name = _NAME.search(settings)
    path = f"{FOLDER}/{'system.devices' if name is None else name[1]}"
    return path if _IN_USE.search(settings) and host.exists(path) else None


def guests_devices(
    host: LocalHost, path: str, own: Collection[str], theirs: Collection[str]
) -> list[str]:
    """The names that the file lists of guests' disks: `theirs`, logical volumes, what stands on
    either, and bcache devices but for the host's `own`. A number of bcache that is free now is the
    next guest's."""
    text = (host.read(path) or b"").decode("utf-8", "replace")
    entries = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    names = dict.fromkeys(name for line in entries for name in _DEVICE.findall(line))
    volumes = frozenset((*theirs, *(device.kname for device in dm.dm_devices(host))))
    return [name for name in names if _is_guests(host, name, volumes, own)]


def _is_guests(host: LocalHost, name: str, volumes: Collection[str], own: Collection[str]) -> bool:
    real = host.real(name)
    bcache = _BCACHE.fullmatch(real or name)
    if bcache is not None:
        return bcache[1] not in own
    kname = None if real is None else real.rsplit("/", 1)[-1]
    if kname is None:
        return False
    return kname in volumes or disks.stands_on(host, kname, volumes) is not None

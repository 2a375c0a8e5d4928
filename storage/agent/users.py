"""Who uses each volume: guests, mounts, swap, other devices, other processes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from . import guests
from .dm import text
from .host import Host
from .paths import Paths

# They look at every device that changes and let go at once, as does all that udev's rules run
# (probe-bcache, dmsetup, mdadm, …).
_PASSING = frozenset(("(udev-worker)", "systemd-udevd", "udevd", "blkid"))
# Of the host itself: a container has a service of that name too.
_UDEV = re.compile(r"(?m)^\d+:[^:]*:/system\.slice/systemd-udevd\.service(/udev)?$")

User = dict[str, Any]


def user(kind: str, name: str, disk: str = "", pid: int | None = None) -> User:
    return {"kind": kind, "name": name, "disk": disk, "pid": pid}


def of_devices(host: Host, devices: Iterable[str]) -> dict[str, list[User]]:
    """Users of each device given as "MAJOR:MINOR" (the device a guest would open: bcacheN for a
    bcache volume). A running guest that its configuration also names appears once."""
    wanted = {device: [] for device in devices}  # type: dict[str, list[User]]
    if not wanted:
        return wanted
    paths = Paths(host)
    for device, found in _processes(host, wanted, paths):
        wanted[device].append(found)
    for device, found in _configured(host, wanted, paths):
        _merge(wanted[device], found)
    for device, found in [*_mounts(host), *_swaps(host, paths), *_loops(host)]:
        if device in wanted:
            wanted[device].append(found)
    for device in wanted:
        link = host.link(f"/sys/dev/block/{device}")
        if link is not None:
            kname = link.rsplit("/", 1)[-1]
            holders = host.list(f"/sys/block/{kname}/holders")
            wanted[device] += [user("holder", holder) for holder in holders]
    return wanted


def _merge(found: list[User], configured: User) -> None:
    for running in found:
        same_guest = running["name"] == configured["name"]
        if same_guest and running["kind"] in ("qemu", configured["kind"]):
            running["kind"] = configured["kind"]
            running["disk"] = configured["disk"] or running["disk"]
            return
    found.append(configured)


def _processes(host: Host, wanted: Iterable[str], paths: Paths) -> list[tuple[str, User]]:
    """Every process with one of the devices open. Only links below /dev are looked at closer: a
    stat of some other file could hang on a dead network mount."""
    devices = frozenset(wanted)
    found = []
    for pid in host.list("/proc"):
        if not pid.isdecimal():
            continue
        opened = set()
        for number in host.list(f"/proc/{pid}/fd"):
            path = host.link(f"/proc/{pid}/fd/{number}")
            if path is not None and path.startswith("/dev/") and _block(path):
                device = host.rdev(f"/proc/{pid}/fd/{number}")
                if device in devices:
                    opened.add(device)
        if opened:
            found += [(device, each) for device, each in _process(host, pid, opened, paths)]
    return found


def _block(path: str) -> bool:
    """Leave out what every process has open and is no disk."""
    return not path.startswith(("/dev/null", "/dev/pts/", "/dev/tty", "/dev/urandom"))


def _process(host: Host, pid: str, opened: Iterable[str], paths: Paths) -> list[tuple[str, User]]:
    comm = text(host, f"/proc/{pid}/comm")
    if comm in _PASSING or _UDEV.search(text(host, f"/proc/{pid}/cgroup")):
        return []
    words = text(host, f"/proc/{pid}/cmdline").split("\0")
    program = words[0].rsplit("/", 1)[-1]
    if not re.match(r"qemu|kvm", program):
        return [(device, user("process", comm, pid=int(pid))) for device in sorted(opened)]
    name = guests.qemu_name(words) or comm
    disks = {paths.device(path): disk for path, disk in guests.qemu_disks(words)}
    return [
        (device, user("qemu", name, disks.get(device, ""), int(pid))) for device in sorted(opened)
    ]


def _configured(host: Host, wanted: Iterable[str], paths: Paths) -> list[tuple[str, User]]:
    devices = frozenset(wanted)
    found = []
    for guest in guests.configured(host):
        device = guest.device or paths.device(guest.path)
        if device in devices:
            found.append((device, user(guest.kind, guest.name, guest.disk)))
    return found


def _mounts(host: Host) -> list[tuple[str, User]]:
    """/proc/self/mountinfo: third field is MAJOR:MINOR, fifth the mount point."""
    found = []
    for line in text(host, "/proc/self/mountinfo").splitlines():
        fields = line.split(" ")
        if len(fields) > 4:
            found.append((fields[2], user("mount", fields[4])))
    return found


def _swaps(host: Host, paths: Paths) -> list[tuple[str, User]]:
    found = []
    for line in text(host, "/proc/swaps").splitlines()[1:]:
        path = line.split()[0]
        device = paths.device(path)
        if device is not None:
            found.append((device, user("swap", path)))
    return found


def _loops(host: Host) -> list[tuple[str, User]]:
    """A loop device keeps its backing device open without any process that has it open."""
    found = []
    for name in host.list("/sys/block"):
        path = text(host, f"/sys/block/{name}/loop/backing_file") if name[:4] == "loop" else ""
        device = host.rdev(path) if path.startswith("/dev/") else None
        if device is not None:
            found.append((device, user("holder", name)))
    return found

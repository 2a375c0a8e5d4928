"""Who uses each volume: guests, mounts, swap, other devices, other processes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from ..calls import names
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from ..kernel.paths import Mounts, Paths, mounted
from . import guest_configs, targets

# They open every device that changes and close it at once, as does all that udev's rules run
# (probe-bcache, dmsetup, mdadm, …).
_PASSING = frozenset(("(udev-worker)", "systemd-udevd", "udevd", "blkid"))
# Of the host itself: a container has a service of that name too.
_UDEV = re.compile(r"(?m)^\d+:[^:]*:/system\.slice/systemd-udevd\.service(/udev)?$")

User = dict[str, Any]
VOLUME_TAG = "tiercel.volume="


def user(
    kind: str,
    name: str,
    disk: str = "",
    pid: int | None = None,
    *,
    format: str = "",
    domain: str = "",
    path: str = "",
) -> User:
    """`format` is how the guest's image is written on the device ("" = unknown), `domain`
    and `path` are what libvirt knows the guest and its disk by. All of it was written by others."""
    return {
        "kind": kind,
        "name": names.quoted(name),
        "disk": names.quoted(disk),
        "pid": pid,
        "format": _valid(names.image_format, format),
        "domain": _valid(names.uuid, domain),
        "path": _valid(names.device_path, path),
    }


def _valid(check: Callable[[Any], str], value: str) -> str:
    try:
        return check(value)
    except ValueError:
        return ""


def of_devices(host: LocalHost, devices: Iterable[str]) -> dict[str, list[User]]:
    """Users of each device given as "MAJOR:MINOR" (the device a guest would open: bcacheN for a
    bcache volume). A running guest that its configuration also names appears once."""
    users_by_device = {device: [] for device in devices}  # type: dict[str, list[User]]
    if not users_by_device:
        return users_by_device
    paths = Paths(host)
    for device, device_user in _processes(host, users_by_device, paths):
        users_by_device[device].append(device_user)
    for device, device_user in _configured(host, users_by_device, paths):
        _merge(users_by_device[device], device_user)
    others = [*_mounts(host), *_swaps(host, paths), *_loops(host), *_targets(host, paths)]
    for device, device_user in others:
        if device in users_by_device and device_user not in users_by_device[device]:
            users_by_device[device].append(device_user)
    for device in users_by_device:
        link = host.link(f"/sys/dev/block/{device}")
        if link is not None:
            kname = link.rsplit("/", 1)[-1]
            holders = host.list(f"/sys/block/{kname}/holders")
            users_by_device[device] += [user("holder", holder) for holder in holders]
    return users_by_device


def of_inactive(host: LocalHost, lvs: Iterable[Mapping[str, Any]]) -> dict[str, list[User]]:
    """Users, by LV uuid, of LVs that have no device now: whose configuration names one by a path
    that it would have. Proxmox VE switches the LVs of a guest off when it stops."""
    users_by_lv: dict[str, list[User]] = {}
    paths: dict[str, str] = {}
    for lv in lvs:
        users_by_lv[lv["uuid"]] = []
        vg, name = (part.replace("-", "--") for part in (lv["vg_name"], lv["name"]))
        plain = f"{lv['vg_uuid']}{lv['uuid']}".replace("-", "")
        own = [
            f"/dev/{lv['vg_name']}/{lv['name']}",
            f"/dev/mapper/{vg}-{name}",
            f"/dev/disk/by-id/dm-name-{vg}-{name}",
            f"/dev/disk/by-id/dm-uuid-LVM-{plain}",
        ]
        keys = [tag[len(VOLUME_TAG) :] for tag in lv["tags"] if tag.startswith(VOLUME_TAG)]
        paths.update(dict.fromkeys([*own, *(f"/dev/tiercel/{key}" for key in keys)], lv["uuid"]))
    if not paths:
        return users_by_lv
    for guest in guest_configs.configured(host):
        uuid = paths.get(posixpath.normpath(guest.path)) if guest.path else None
        if uuid is not None:
            known = user(guest.kind, guest.name, guest.disk, format=guest.format)
            _merge(users_by_lv[uuid], known)
    for kind, name, path in targets.guest_uses(host):
        uuid = paths.get(posixpath.normpath(path)) if path else None
        if uuid is not None:
            users_by_lv[uuid].append(user(kind, name))
    return users_by_lv


def resting(host: LocalHost, lvs: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """UUIDs of LVs that are off because Proxmox VE switched them off with their guest."""
    off = [lv for lv in lvs if not lv["active"]]
    if not host.exists("/etc/pve"):
        return frozenset()
    named = of_inactive(host, off)
    return frozenset(
        uuid for uuid, users in named.items() if any(each["kind"] == "proxmox" for each in users)
    )


def _merge(users: list[User], configured: User) -> None:
    for running in users:
        if running["kind"] in ("qemu", configured["kind"]) and _same_guest(running, configured):
            running["kind"] = configured["kind"]
            running["disk"] = configured["disk"] or running["disk"]
            if running["domain"] == configured["domain"]:
                running["path"] = configured["path"]
            formats = [each for each in (running["format"], configured["format"]) if each]
            running["format"] = _image(formats)
            return
    users.append(configured)


def _same_guest(running: User, configured: User) -> bool:
    """libvirt's UUID decides where both have one: a name is given anew."""
    if running["domain"] and configured["domain"]:
        return bool(running["domain"] == configured["domain"])
    return bool(running["name"] == configured["name"])


def _image(formats: Sequence[str]) -> str:
    """The format of a disk of which several are said: raw only where all of them are."""
    other = next((each for each in formats if each not in ("", "raw")), "")
    return other if other or not formats or "" in formats else "raw"


def _processes(
    host: LocalHost, users_by_device: Iterable[str], paths: Paths
) -> list[tuple[str, User]]:
    """Every process with one of the devices open, by whatever node: a jailed hypervisor has its own
    ones. A file on a remote mount is left alone: a stat of it could hang."""
    devices = frozenset(users_by_device)
    mounts = Mounts(host)
    users = []
    for pid in host.list("/proc"):
        if not pid.isdecimal():
            continue
        opened = set()
        for number in host.list(f"/proc/{pid}/fd"):
            path = host.link(f"/proc/{pid}/fd/{number}")
            if path is None or not path.startswith("/"):
                continue
            if _block(path) if path.startswith("/dev/") else mounts.is_local(pid, number):
                device = host.rdev(f"/proc/{pid}/fd/{number}")
                if device in devices:
                    opened.add(device)
        if opened:
            users += [(device, each) for device, each in _process(host, pid, opened, paths)]
    return users


def _block(path: str) -> bool:
    """Leave out what every process has open and is no disk."""
    return not path.startswith(("/dev/null", "/dev/pts/", "/dev/tty", "/dev/urandom"))


def _process(
    host: LocalHost, pid: str, opened: Iterable[str], paths: Paths
) -> list[tuple[str, User]]:
    comm = text(host, f"/proc/{pid}/comm")
    if comm in _PASSING or _UDEV.search(text(host, f"/proc/{pid}/cgroup")):
        return []
    words = text(host, f"/proc/{pid}/cmdline").split("\0")
    program = words[0].rsplit("/", 1)[-1]
    if not re.match(r"qemu|kvm", program):
        return [(device, user("process", comm, pid=int(pid))) for device in sorted(opened)]
    name = guest_configs.qemu_name(words) or comm
    users = []
    for device in sorted(opened):
        drives = [
            each for each in guest_configs.qemu_disks(words) if paths.device(each.path) == device
        ]
        image = _image([each.format for each in drives])
        disk = next((each.disk for each in drives if each.disk), "")
        uuid = guest_configs.qemu_uuid(words)
        users.append((device, user("qemu", name, disk, int(pid), format=image, domain=uuid)))
    return users


def _configured(
    host: LocalHost, users_by_device: Iterable[str], paths: Paths
) -> list[tuple[str, User]]:
    devices = frozenset(users_by_device)
    users = []
    for guest in guest_configs.configured(host):
        device = guest.device or paths.device(guest.path)
        if device in devices:
            path = guest.path if guest.kind == "libvirt" else ""
            image, uuid = guest.format, guest.domain
            names = (guest.kind, guest.name, guest.disk)
            users.append((device, user(*names, format=image, domain=uuid, path=path)))
    return users


def _targets(host: LocalHost, paths: Paths) -> list[tuple[str, User]]:
    users = []
    for kind, name, path in targets.guest_uses(host):
        device = paths.device(path) if path.startswith("/") else None
        if device is not None:
            users.append((device, user(kind, name)))
    return users


def _mounts(host: LocalHost) -> list[tuple[str, User]]:
    return [(each.device, user("mount", each.point)) for each in mounted(host)]


def _swaps(host: LocalHost, paths: Paths) -> list[tuple[str, User]]:
    users = []
    for line in text(host, "/proc/swaps").splitlines()[1:]:
        path = line.split()[0]
        device = paths.device(path)
        if device is not None:
            users.append((device, user("swap", path)))
    return users


def _loops(host: LocalHost) -> list[tuple[str, User]]:
    """A loop device keeps its backing device open without any process that has it open."""
    users = []
    for name in host.list("/sys/block"):
        path = text(host, f"/sys/block/{name}/loop/backing_file") if name[:4] == "loop" else ""
        device = host.rdev(path) if path.startswith("/dev/") else None
        if device is not None:
            users.append((device, user("holder", name)))
    return users

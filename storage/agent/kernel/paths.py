"""Which block device a path or an open file leads to, without touching paths that may hang.

A guest's configuration or a command line may name any path, even below a network mount whose server
is gone: a stat there would block the agent forever. Such a path is no disk of this host.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from .dm import text
from .local_host import LocalHost

LINKS_LIMIT = 40
# File systems whose answer comes from elsewhere, or whose look-up mounts one that does.
REMOTE = frozenset(
    (
        "9p",
        "afs",
        "autofs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fuse",
        "fuseblk",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "pvfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "virtiofs",
    )
)


class Paths:
    """Paths of one host, by the mounts it has now."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host
        self._mounts: dict[str, str] | None = None

    def device(self, path: str) -> str | None:
        """ "MAJOR:MINOR" of the block device; None where there is none, where the path is relative,
        and where it leads through a remote file system."""
        plain = posixpath.normpath(path)
        if path.startswith("/dev/") and path.rstrip("/") == plain:
            return self._host.rdev(path)
        real = self._followed(path) if path.startswith("/") else None
        return None if real is None else self._host.rdev(real)

    def _followed(self, path: str) -> str | None:
        """The path without symbolic links; None where it cannot be followed by local means."""
        here, names_left, links = "/", path.split("/"), 0
        while names_left:
            name = names_left.pop(0)
            if name in ("", "."):
                continue
            if name == "..":
                here = posixpath.dirname(here)
                continue
            candidate = posixpath.join(here, name)
            if self._is_remote(candidate):
                return None
            target = self._host.link(candidate)
            if target is None:
                here = candidate
                continue
            links += 1
            if links > LINKS_LIMIT:
                return None
            here = "/" if target.startswith("/") else here
            names_left = [*target.split("/"), *names_left]
        return here

    def _is_remote(self, path: str) -> bool:
        """By the mount that the path lies on, or that lies on the path."""
        if self._mounts is None:
            self._mounts = mounts(text(self._host, "/proc/self/mountinfo"))
        while path not in self._mounts and path != "/":
            path = posixpath.dirname(path)
        kind = self._mounts.get(path, "")
        return kind in REMOTE or kind.startswith("fuse.")


class Mounts:
    """Where the open files of processes lie, by the mount that each was opened on: a path says
    little of a process that lives in another root."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host
        self._types: dict[str, dict[str, str]] = {}

    def is_local(self, pid: str, descriptor: str) -> bool:
        """Whether a descriptor may be looked at without asking another machine. False where that
        is unknown: what was unmounted while it was in use may be remote."""
        info = text(self._host, f"/proc/{pid}/fdinfo/{descriptor}")
        mount = re.search(r"(?m)^mnt_id:\s*(\d+)$", info)
        space = self._host.link(f"/proc/{pid}/ns/mnt") or pid
        if space not in self._types:
            self._types[space] = mount_types(text(self._host, f"/proc/{pid}/mountinfo"))
        kind = self._types[space].get(mount.group(1)) if mount else None
        return kind is not None and kind not in REMOTE and not kind.startswith("fuse.")


def mount_types(mountinfo: str) -> dict[str, str]:
    """Type of the file system of each mount by its number (proc(5): the first field, and the first
    one after the lone hyphen)."""
    types = {}
    for line in mountinfo.splitlines():
        head, hyphen, tail = line.partition(" - ")
        if hyphen:
            types[head.split(" ")[0]] = tail.split(" ")[0]
    return types


def mounts(mountinfo: str) -> dict[str, str]:
    """Mount point -> type of the file system that is on top there (proc(5): the fifth field, and
    the first one after the lone hyphen)."""
    devices = {}
    for line in mountinfo.splitlines():
        head, hyphen, tail = line.partition(" - ")
        fields = head.split(" ")
        if hyphen and len(fields) > 4:
            devices[unescaped(fields[4])] = tail.split(" ")[0]
    return devices


def unescaped(field: str) -> str:
    """A field of mountinfo or fstab as people know it: there a space is \\040."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)


@dataclass(frozen=True)
class MountedDevice:
    """A device ("MAJOR:MINOR") that a mounted file system lies on, and where that is mounted."""

    device: str
    point: str


# A journal, a log or another part of a file system on a device of its own.
_PARTS = re.compile(r"(?:^|,)(?:logdev|rtdev|journal_path)=(/dev/[^,]+)")
BTRFS = "/sys/fs/btrfs"


def mounted(host: LocalHost) -> list[MountedDevice]:
    """Every device below a mounted file system. One of several devices has a number of its own in
    mountinfo (0:22): btrfs names the others in sysfs, bcachefs names all in the source, with
    colons between."""
    devices_mounted: dict[MountedDevice, None] = {}
    paths = Paths(host)
    several = _btrfs(host)
    for line in text(host, "/proc/self/mountinfo").splitlines():
        head, hyphen, tail = line.partition(" - ")
        fields, words = head.split(" "), tail.split(" ")
        if not hyphen or len(fields) < 5:
            continue
        named = [unescaped(each) for each in words[1].split(":")] if len(words) > 1 else []
        named += _PARTS.findall(words[2]) if len(words) > 2 else []
        devices = [paths.device(each) for each in named if each.startswith("/dev/")]
        if not fields[2].startswith("0:"):
            devices.insert(0, fields[2])
        for device in [each for each in devices if each is not None]:
            for each in (device, *several.get(device, ())):
                devices_mounted[MountedDevice(each, unescaped(fields[4]))] = None
    return list(devices_mounted)


def _btrfs(host: LocalHost) -> dict[str, tuple[str, ...]]:
    """All devices of each btrfs of several, by each of them."""
    groups: dict[str, tuple[str, ...]] = {}
    for uuid in host.list(BTRFS):
        names = host.list(f"{BTRFS}/{uuid}/devices")
        devices = [text(host, f"/sys/class/block/{name}/dev") for name in names]
        known = tuple(each for each in devices if each)
        groups.update(dict.fromkeys(known, known))
    return groups

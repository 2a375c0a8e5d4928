"""What belongs to a logical volume: its segments, its standing, what LVM does to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from storage.host_data import Count


@dataclass(frozen=True, slots=True)
class Segment:
    type: str
    start_bytes: Count
    size_bytes: Count
    pvs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataStanding:
    """What the disks below a volume mean for its data, through all of LVM's hidden layers. `lost`:
    some of it cannot be read. `degraded`: all of it can, and a copy is missing or old. `redundant`:
    it is laid out so that any one disk may die, by LVM's own RAID or by arrays."""

    lost: bool
    degraded: bool
    redundant: bool


@dataclass(frozen=True, slots=True)
class WriteCache:
    """A dm-writecache in front of a volume, made by hand. Unless `dirty_known`, 0 `dirty_bytes` do
    not mean that all is on the slow disk."""

    name: str
    size_bytes: Count
    dirty_bytes: Count
    dirty_known: bool
    pvs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What LVM is doing to a volume: a `pvmove` away from the physical volume `source`, the
    `merge` of a snapshot, a `convert`, the `sync` of a mirror. `percent` is None where it is
    unknown; `ours` is a move that Tiercel began, of this volume alone."""

    kind: Literal["pvmove", "merge", "convert", "sync"]
    source: str
    percent: Count | None
    ours: bool


GUEST_KINDS: Final = frozenset({"qemu", "libvirt", "lxc", "proxmox", "xen"})


@dataclass(frozen=True, slots=True)
class VolumeUser:
    """Who holds a volume: a guest by name and disk, a mount, swap, a holder device, a process.
    `format` is how a guest's image is written on it, "" where that is unknown; `domain` and `path`
    are the guest's UUID and the disk's path as libvirt has them. An older agent sends none."""

    kind: str
    name: str
    disk: str
    pid: Count | None
    format: str = ""
    domain: str = ""
    path: str = ""

    @property
    def is_guest(self) -> bool:
        return self.kind in GUEST_KINDS

    def __str__(self) -> str:
        return f"{self.name} · {self.disk}" if self.disk else self.name

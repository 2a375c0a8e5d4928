"""What belongs to a logical volume: its segments, its standing, what LVM does to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

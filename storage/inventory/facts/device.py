"""What volume groups stand on: disks, arrays, physical volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from storage.host_data import Count


@dataclass(frozen=True, slots=True)
class Disk:
    name: str
    dev: str
    size_bytes: Count
    rotational: bool
    model: str
    serial: str
    transport: str
    logical_sector_bytes: Count
    read_only: bool


@dataclass(frozen=True, slots=True)
class ArrayMember:
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Array:
    """An md array; `degraded_count` members are missing or failed."""

    name: str
    dev: str
    uuid: str
    level: str
    state: str
    size_bytes: Count
    degraded_count: Count
    sync_action: str
    members: tuple[ArrayMember, ...]


@dataclass(frozen=True, slots=True)
class PhysicalVolume:
    """An LVM physical volume. `tier` follows the host's local policy, else the kernel's flag;
    `redundant` means one device below may die without losing data, `healthy` that none has. Of
    one that is not `allocatable` (pvchange -xn), or exported, `free_bytes` is 0, and what is free
    all the same is `unusable_bytes`. What has a default, an older agent does not say."""

    uuid: str
    name: str
    vg_uuid: str
    vg_name: str
    size_bytes: Count
    free_bytes: Count
    missing: bool
    duplicate: bool
    tier: Literal["fast", "slow"]
    redundant: bool
    healthy: bool
    logical_sector_bytes: Count
    allocatable: bool = True
    exported: bool = False
    unusable_bytes: Count = 0

    @property
    def is_usable(self) -> bool:
        """Whether LVM would put anything on it."""
        gone = self.missing or self.duplicate or self.exported
        return self.allocatable and not gone

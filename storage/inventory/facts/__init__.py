"""What a host says now: frozen dataclasses decoded from the agent's `inventory` reply.

A reply that does not fit raises `BadHostData`, so that no half-read inventory is used.
Names, tags, models and serials are other people's text: show them escaped, never build with them.
"""

from storage.inventory.facts.device import Array, ArrayMember, Disk, PhysicalVolume
from storage.inventory.facts.host import (
    BareBacking,
    BcacheBacking,
    CacheSet,
    DmCache,
    HostFacts,
    LogicalVolume,
    Orphan,
    Segment,
    VolumeGroup,
    VolumeUser,
    Work,
    WriteCache,
    decode,
    encode,
)

__all__ = [
    "Array",
    "ArrayMember",
    "BareBacking",
    "BcacheBacking",
    "CacheSet",
    "Disk",
    "DmCache",
    "HostFacts",
    "LogicalVolume",
    "Orphan",
    "PhysicalVolume",
    "Segment",
    "VolumeGroup",
    "VolumeUser",
    "Work",
    "WriteCache",
    "decode",
    "encode",
]

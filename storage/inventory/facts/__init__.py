"""What a host says now: frozen dataclasses decoded from the agent's `inventory` reply.

The host is not trusted: every field is checked for its type and range, text is cut to a sane
length, and a reply that does not fit raises `BadFacts`, so that no half-read inventory is used.
Names, tags, models and serials are other people's text: show them escaped, never build with them.
"""

from storage.inventory.facts.decoding import decode, storable
from storage.inventory.facts.device import Array, ArrayMember, Disk, PhysicalVolume
from storage.inventory.facts.encoding import encode
from storage.inventory.facts.host import (
    BadFacts,
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
)

__all__ = [
    "Array",
    "ArrayMember",
    "BadFacts",
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
    "storable",
]

"""Kernel counters of a host's volumes: the agent's `sample` reply as frozen dataclasses.

A value of another type or out of range raises `BadHostData`, and no part of that reply is used.
Counters stay as the kernel printed them; `storage.metrics.rates` subtracts.

Field names are those of the wire. `encode` gives data that decodes again: so the counters of the
last sample are kept for the next difference.
"""

from storage.metrics.counters.decode import decode, decode_stamp, decode_volume, encode
from storage.metrics.counters.shapes import (
    LATENCY_BOUNDS_NS,
    SECTOR_BYTES,
    BcacheCounters,
    DiskCounters,
    DmCacheCounters,
    Latency,
    Stamp,
    VolumeCounters,
)

__all__ = [
    "LATENCY_BOUNDS_NS",
    "SECTOR_BYTES",
    "BcacheCounters",
    "DiskCounters",
    "DmCacheCounters",
    "Latency",
    "Stamp",
    "VolumeCounters",
    "decode",
    "decode_stamp",
    "decode_volume",
    "encode",
]

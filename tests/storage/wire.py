"""A host's `sample` reply as the agent would send it, one function for each part."""

from __future__ import annotations

from typing import Any

from storage.metrics.counters import LATENCY_BOUNDS_NS, DiskCounters, decode_volume
from storage.metrics.rates import CounterReading

LV_UUID = "aaaaaa-bbbb-cccc-dddd-eeee-ffff-000001"
BUCKETS = len(LATENCY_BOUNDS_NS) + 1


def disk(**fields: int) -> list[int]:
    """17 numbers of a diskstats line; zero where not given."""
    return list(DiskCounters(**{**dict.fromkeys(DiskCounters._fields, 0), **fields}))


def cache(**fields: Any) -> dict[str, Any]:
    """A clean writethrough cache of 32,768 chunks of 64 KiB (2 GiB)."""
    defaults = {
        "chunk_sectors": 128,
        "used": 0,
        "total": 32_768,
        "metadata_used": 72,
        "metadata_total": 3072,
        "read_hits": 0,
        "read_misses": 0,
        "write_hits": 0,
        "write_misses": 0,
        "demotions": 0,
        "promotions": 0,
        "dirty": 0,
        "mode": "writethrough",
        "policy": "smq",
        "read_only": False,
        "needs_check": False,
        "failed": False,
        "origin": None,
        "cdata": None,
    }
    return {**defaults, **fields}


def bcache(**fields: Any) -> dict[str, Any]:
    defaults = {
        "device": "bcache0",
        "uuid": "0d5b7d1c-6f7f-4a55-9a35-3f8d6f0c0001",
        "cset_uuid": "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001",
        "state": "clean",
        "cache_mode": "writethrough",
        "dirty_bytes": 0,
        "disk": disk(),
        "hits": 0,
        "misses": 0,
        "bypass_hits": 0,
        "bypass_misses": 0,
        "available_percent": 100,
        "unused_percent": 100,
        "cset_size_bytes": 2**31,
    }
    return {**defaults, **fields}


def counts(*of_buckets: int) -> list[int]:
    """A histogram that begins with these counts."""
    return [*of_buckets, *[0] * (BUCKETS - len(of_buckets))]


def latency(*of_buckets: int, **fields: Any) -> dict[str, Any]:
    """What dm-stats tell; an older agent sends no `fields`."""
    return {"bounds_ns": list(LATENCY_BOUNDS_NS), "counts": counts(*of_buckets), **fields}


def volume(lv_uuid: str = LV_UUID, **fields: Any) -> dict[str, Any]:
    defaults = {
        "lv_uuid": lv_uuid,
        "vg_uuid": "vGvGvG-0000-0000-0000-0000-0000-000000",
        "name": "vg0-web12",
        "kname": "dm-4",
        "suspended": False,
        "disk": disk(),
        "cache": None,
        "bcache": None,
        "latency": None,
    }
    return {**defaults, **fields}


def sample(*volumes: dict[str, Any], **devices: Any) -> dict[str, Any]:
    """`devices` are `disks`, `arrays` and `partitions`; an older agent sends disks alone."""
    return {
        "volumes": list(volumes),
        "disks": [{"name": "sda", "disk": disk()}],
        **devices,
    }


def stamp(seconds: float, boot_id: str = "boot-1") -> dict[str, Any]:
    """The reply's `host` block, that many seconds after the boot."""
    nanoseconds = round(seconds * 1_000_000_000)
    return {"boot_id": boot_id, "boottime_ns": nanoseconds, "wall_ns": 0, "agent": "0.1.0"}


def reading(seconds: float, **fields: Any) -> CounterReading:
    """What `storage.metrics.rates` compares: a volume read that many seconds after the boot."""
    host_id, boot_id = fields.pop("host_id", 1), fields.pop("boot_id", "boot-1")
    counters = decode_volume(volume(**fields))
    return CounterReading(host_id, boot_id, round(seconds * 1_000_000_000), counters)

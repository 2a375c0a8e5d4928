"""Columns of an interval, name -> PostgreSQL type, in the order of COPY."""

from __future__ import annotations

from typing import Final

DISK: Final = {
    "dt_ms": "int4",
    "reads": "int4",
    "writes": "int4",
    "read_sectors": "int8",
    "write_sectors": "int8",
    "read_ms": "int4",
    "write_ms": "int4",
    "busy_ms": "int4",
    "weighted_ms": "int4",
}
CACHE: Final = dict.fromkeys(
    (
        "read_hits",
        "read_misses",
        "write_hits",
        "write_misses",
        "demotions",
        "promotions",
        "slow_read_sectors",
        "slow_write_sectors",
        "fast_read_sectors",
        "fast_write_sectors",
    ),
    "int8",
)
GAUGES: Final = {
    "technology": "int2",
    "cache_size_bytes": "int8",
    "used_bytes": "int8",
    "dirty_bytes": "int8",
}
INTERVAL: Final = {**DISK, **CACHE, "latency_counts": "int8[]", **GAUGES}

"""How much a cache would write to its SSD: what wears the SSD. Pure.

dm-cache copies the whole chunk for each miss that it takes in, and writes each write that hits a
second time, in writethrough too. bcache keeps what was read for a miss, and takes every write; long
runs go around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from storage.analysis.curve.bands import Bounds
from storage.analysis.curve.cache_policy import CachePolicy
from storage.analysis.curve.heat import HeatRecord

DAY: Final = 86_400


def ssd_bytes_per_day(
    records: Sequence[HeatRecord], policy: CachePolicy, reads: Bounds, writes: Bounds
) -> tuple[float, float]:
    """Bytes a day, at least and at most, in the steady state of a cache whose reads and writes hit
    at these rates. Each bound of the hit rates is taken where it makes the range wider."""
    seconds = sum(record.seconds for record in records)
    read_bytes = sum(record.read_bytes for record in records)
    write_bytes = sum(record.write_bytes for record in records)
    if policy.allocates_writes:
        taken = float(read_bytes)
        if policy.bypasses_sequential:
            taken -= sum(record.sequential.read_bytes for record in records)
            write_bytes -= sum(record.sequential.write_bytes for record in records)
        taken, written = max(0.0, taken), max(0, write_bytes)
        least = taken * (1 - reads.high) + written
        most = taken * (1 - reads.low) + written
    else:
        chunk_bytes = records[0].chunk_bytes * policy.promotion_share
        read_references = sum(record.read_references for record in records)
        write_references = sum(record.clock for record in records) - read_references
        least = chunk_bytes * (
            read_references * (1 - reads.high) + write_references * (1 - writes.high)
        )
        most = chunk_bytes * (
            read_references * (1 - reads.low) + write_references * (1 - writes.low)
        )
        least += write_bytes * writes.low
        most += write_bytes * writes.high
    return least * DAY / seconds, most * DAY / seconds

"""What a trace of some minutes says: which share of reads SSD of each size would serve with chunks
of each size, and which chunks serve most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storage.analysis.curve.cache_policy import at_chunk_size
from storage.analysis.curve.heat import HeatRecord, usable
from storage.analysis.curve.miss_ratio import MissRatioCurve, miss_ratio_curve
from storage.analysis.curve.prospects import Range
from storage.analysis.heat_store import trace_records
from storage.byte_sizes import KIB
from storage.models import HeatTrace, TraceState
from storage.planner.wish import smallest_chunk_kib
from storage.volumes.cache_sizes import SIZES_BYTES

CHUNKS_OFFERED: Final = tuple(KIB << n for n in range(6, 11))
"""Of an LVM cache, from 64 KiB to 1 MiB."""
MOST_SIZES: Final = 10
LEAST_GAIN: Final = 0.01
"""Chunks that serve no more than this part of the reads more than others are no better."""


@dataclass(frozen=True, slots=True)
class ChunkShare:
    """The share of reads (0 to 1) that chunks of one size would serve."""

    chunk_bytes: int
    hit_rate: Range

    @property
    def likely(self) -> float:
        return (self.hit_rate.low + self.hit_rate.high) / 2


@dataclass(frozen=True, slots=True)
class TracedSize:
    """SSD of `size_bytes`: `shares` by the sizes of chunks that were traced, the smallest first.
    `best_chunk_bytes` serve most of the chunks that a cache of this size can have, the smallest of
    those that serve alike; None for bcache, which keeps what was read and has no chunks."""

    size_bytes: int
    shares: tuple[ChunkShare, ...]
    best_chunk_bytes: int | None


def outcome_of(trace: HeatTrace) -> tuple[TracedSize, ...]:
    """From the smallest size; nothing before the trace is done, and where the volume read nothing
    meanwhile."""
    if trace.state != TraceState.DONE:
        return ()
    volume = trace.volume
    return trace_outcome(
        trace_records(trace), volume.size_bytes, is_bcache=volume.layout == "bcache"
    )


def trace_outcome(
    records: Sequence[HeatRecord], volume_bytes: int, *, is_bcache: bool
) -> tuple[TracedSize, ...]:
    """The same of a trace's records."""
    curves = dict[int, MissRatioCurve]()
    for record in usable(records):
        curve = miss_ratio_curve([record], volume_bytes)
        if curve is not None and curve.reads is not None:
            curves[record.chunk_bytes] = curve
    sizes = [size for size in SIZES_BYTES if size < volume_bytes][-MOST_SIZES:] if curves else []
    return tuple(
        TracedSize(
            size,
            tuple(share for chunk in sorted(curves) if (share := _share(curves, chunk, size))),
            None if is_bcache else _best(curves, size),
        )
        for size in sizes
    )


def _share(curves: dict[int, MissRatioCurve], chunk_bytes: int, size: int) -> ChunkShare | None:
    misses = at_chunk_size(curves, chunk_bytes, size)
    if misses is None:
        return None
    low, high = misses
    return ChunkShare(chunk_bytes, Range(1 - high, 1 - low))


def _best(curves: dict[int, MissRatioCurve], size: int) -> int | None:
    """The smallest chunks that serve about as much as the best."""
    least = smallest_chunk_kib(size) * KIB
    offered = (_share(curves, chunk, size) for chunk in CHUNKS_OFFERED if chunk >= least)
    shares = [share for share in offered if share is not None]
    if not shares:
        return None
    most = max(share.likely for share in shares)
    return next(share.chunk_bytes for share in shares if share.likely >= most - LEAST_GAIN)

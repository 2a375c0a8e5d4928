"""Figures for people from sums of deltas: every rate and ratio is one sum over another."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import accumulate
from typing import Any, Final, Self

from storage.byte_sizes import SECTOR_BYTES
from storage.metrics.counters import LATENCY_BOUNDS_NS

# Fewer accesses say nothing about a cache: such a window has no hit rate.
MIN_ACCESSES: Final = 100
NO_LATENCY: Final = (0,) * (len(LATENCY_BOUNDS_NS) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Deltas added up over `intervals` that last `dt_ms` together.

    The sectors and reads of bcache intervals are summed apart as well: only there may they be
    compared with what the backing device had to read.
    """

    intervals: int = 0
    dt_ms: int = 0
    reads: int = 0
    writes: int = 0
    read_sectors: int = 0
    write_sectors: int = 0
    read_ms: int = 0
    write_ms: int = 0
    busy_ms: int = 0
    weighted_ms: int = 0
    read_hits: int = 0
    read_misses: int = 0
    write_hits: int = 0
    write_misses: int = 0
    demotions: int = 0
    promotions: int = 0
    bcache_reads: int = 0
    bcache_read_sectors: int = 0
    backing_read_sectors: int = 0
    latency_counts: tuple[int, ...] = NO_LATENCY

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Self:
        """The sums of one interval, by the columns that store it."""
        is_bcache = columns.get("read_hits") is None and columns["slow_read_sectors"] is not None
        return cls(
            intervals=1,
            **{name: columns.get(name) or 0 for name in STORED_SUMS},
            bcache_reads=columns["reads"] if is_bcache else 0,
            bcache_read_sectors=columns["read_sectors"] if is_bcache else 0,
            backing_read_sectors=columns["slow_read_sectors"] if is_bcache else 0,
            latency_counts=tuple(columns["latency_counts"] or NO_LATENCY),
        )

    def __add__(self, other: Self) -> Self:
        totals = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name != "latency_counts"
        }
        counts = zip(self.latency_counts, other.latency_counts, strict=True)
        return type(self)(**totals, latency_counts=tuple(a + b for a, b in counts))


_OF_BCACHE: Final = ("bcache_reads", "bcache_read_sectors", "backing_read_sectors")
STORED_SUMS: Final = tuple(
    each.name
    for each in fields(Sums)
    if each.name not in ("intervals", "latency_counts", *_OF_BCACHE)
)
"""Those that have a column in intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What people compare. None = unknown, never zero.

    `seconds` is the time that the figures cover. `read_ms` and `write_ms` are averages of
    completed I/O; the percentiles are of reads and writes together, and None for bcache volumes.
    `hit_rate` is of reads: dm-cache hits / accesses; bcache 1 - sectors read from the backing
    device / sectors read by the guest. `accesses` is its denominator (bcache: the guest's reads).
    `waiting_reads` is how many reads wait at a time, on average: their rate times the time of each
    (Little's law).
    """

    seconds: float
    read_iops: float | None
    write_iops: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    read_ms: float | None
    write_ms: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    hit_rate: float | None
    write_hit_rate: float | None
    accesses: int
    write_accesses: int
    waiting_reads: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresWindow(Figures):
    """Figures of the whole intervals between `start` and `end`; `seconds` is what they cover.

    The gauges are those at the end, None without a cache.
    """

    start: datetime
    end: datetime
    intervals: int
    cache_size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int | None

    @property
    def coverage(self) -> float:
        """Share of the time that has figures, 0 to 1."""
        return self.seconds / (self.end - self.start).total_seconds()


def figures(sums: Sums, *, least: int = MIN_ACCESSES) -> Figures:
    """Rates, averages, percentiles and hit rates of a sum of intervals. Fewer accesses than `least`
    make no hit rate."""
    seconds = sums.dt_ms / 1000
    write_accesses = sums.write_hits + sums.write_misses
    return Figures(
        seconds=seconds,
        read_iops=_ratio(sums.reads, seconds),
        write_iops=_ratio(sums.writes, seconds),
        read_bytes_per_s=_ratio(sums.read_sectors * SECTOR_BYTES, seconds),
        write_bytes_per_s=_ratio(sums.write_sectors * SECTOR_BYTES, seconds),
        read_ms=_ratio(sums.read_ms, sums.reads),
        write_ms=_ratio(sums.write_ms, sums.writes),
        latency_p50_ms=percentile_ms(sums.latency_counts, 0.50),
        latency_p95_ms=percentile_ms(sums.latency_counts, 0.95),
        latency_p99_ms=percentile_ms(sums.latency_counts, 0.99),
        hit_rate=read_hit_rate(sums, least=least),
        write_hit_rate=sums.write_hits / write_accesses if write_accesses >= least else None,
        accesses=_accesses(sums),
        write_accesses=write_accesses,
        waiting_reads=_ratio(sums.read_ms, sums.dt_ms),
    )


def read_hit_rate(sums: Sums, *, least: int = MIN_ACCESSES) -> float | None:
    """`Figures.hit_rate`, for lists that show no other figure of many sums."""
    accesses = _accesses(sums)
    return _read_hits(sums) / accesses if accesses >= least else None


def percentile_ms(counts: Sequence[int], quantile: float) -> float | None:
    """A latency that `quantile` of the I/Os did not exceed, from a dm-stats histogram.

    The bucket is exact; inside it the position is interpolated, on a log scale (from 0 in the
    first bucket: linearly). So the error is at most the bucket's width: a factor of 2.5, and
    0.1 ms below that. The last bucket is open: its lower bound, 1 s, stands for "1 s or more".
    None without I/O.
    """
    rank = quantile * sum(counts)
    if rank <= 0:
        return None
    cumulative = list(accumulate(counts))
    n = bisect_left(cumulative, rank)
    if n == len(LATENCY_BOUNDS_NS):
        return LATENCY_BOUNDS_NS[-1] / 1e6
    part = 1 - (cumulative[n] - rank) / counts[n]
    high = LATENCY_BOUNDS_NS[n]
    if n == 0:
        return high * part / 1e6
    low = LATENCY_BOUNDS_NS[n - 1]
    return float(low * (high / low) ** part) / 1e6


def _read_hits(sums: Sums) -> float:
    """Reads served by the cache."""
    share = 0.0
    if sums.bcache_read_sectors:
        # Reads in flight at the ends of an interval can push the share out of bounds.
        share = 1 - sums.backing_read_sectors / sums.bcache_read_sectors
    return sums.read_hits + sums.bcache_reads * min(1.0, max(0.0, share))


def _accesses(sums: Sums) -> int:
    """Reads that the cache could have served."""
    return sums.read_hits + sums.read_misses + sums.bcache_reads


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None

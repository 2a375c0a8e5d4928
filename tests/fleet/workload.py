"""What volumes do, as columns of whole numbers: the same each time for the same arguments.

`intervals` gives the samples of one volume as they would lie in `storage_sample`, column by column:
quick enough for thousands of volumes and millions of rows. Volumes differ as those of a provider
do (`Habit`): most follow the day, some do a day's work in one hour of the night, a quarter does
nearly nothing, and each has noise, bursts and sizes of its own. `counters` makes of the columns
what a metrics system would read: counters that only rise, and gauges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from storage.byte_sizes import GIB
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import CachedBy

Column = NDArray[np.int64]
Columns = Mapping[str, Column | None]
"""By the name of a column of `storage.models.sample.Interval`; None = null in every row."""

DAY_SECONDS: Final = 86_400
CHUNK_BYTES: Final = 65_536
GAUGES: Final = (
    "cache_size_bytes",
    "used_bytes",
    "dirty_bytes",
    "metadata_used_bytes",
    "metadata_total_bytes",
)
NO_FIGURES: Final = ("dt_ms", "technology")
"""The time itself, and what is a label elsewhere."""
LEG: Final = (
    "reads",
    "writes",
    "read_sectors",
    "write_sectors",
    "read_ms",
    "write_ms",
    "busy_ms",
    "weighted_ms",
    "latency_counts",
)
HISTOGRAMS: Final = ("latency_counts", "slow_latency_counts", "fast_latency_counts")
# Shares of the I/Os in each latency bucket: on the SSD, and on a slow disk.
ON_SSD: Final = (0.46, 0.34, 0.13, 0.05, 0.02, 0, 0, 0, 0, 0, 0, 0, 0, 0)
ON_DISK: Final = (0, 0, 0, 0.02, 0.07, 0.2, 0.31, 0.25, 0.1, 0.04, 0.01, 0, 0, 0)
SSD_MS, DISK_MS = 0.17, 9.0


@dataclass(frozen=True, slots=True)
class Habit:
    """How a volume is used. I/Os a second are those of its middle hour; `peak` is the hour (UTC)
    in which it is busiest, `swing` how much of the load comes and goes with the day, `noise` the
    shape of the gamma noise (small = wild), `bursts` how many a day."""

    kind: str
    reads_per_s: float
    writes_per_s: float
    read_sectors: int
    write_sectors: int
    peak: float
    swing: float
    noise: float
    bursts: float
    best_hit_rate: float
    technology: CachedBy
    is_writeback: bool
    cache_bytes: int


KINDS: Final = {
    # share of the volumes, reads/s, writes/s, sectors a read, sectors a write, swing, noise, bursts
    "idle": (0.25, 0.004, 0.25, 16, 16, 0.0, 4.0, 1.0),
    "site": (0.35, 6.0, 3.0, 32, 16, 0.8, 3.0, 6.0),
    "database": (0.2, 90.0, 45.0, 32, 32, 0.6, 5.0, 12.0),
    "mail": (0.1, 25.0, 40.0, 16, 16, 0.5, 2.0, 20.0),
    "nightly": (0.1, 0.3, 0.6, 512, 256, 0.0, 2.0, 0.0),
}
_SHARES: Final = tuple(accumulate(share for share, *_ in KINDS.values()))
NIGHTLY: Final = 400.0
"""So many times its usual load has a volume that does its work in an hour of the night."""


def habit(number: int, seed: int = 1) -> Habit:
    """Of the volume of that number."""
    rng = np.random.default_rng((seed, number))
    lot = rng.random()
    kind = next(
        (name for name, until in zip(KINDS, _SHARES, strict=True) if lot < until), "nightly"
    )
    _, reads, writes, read_sectors, write_sectors, swing, noise, bursts = KINDS[kind]
    scale = float(rng.lognormal(0.0, 0.7))
    technology = rng.choice((CachedBy.NONE, CachedBy.DM_CACHE, CachedBy.BCACHE), p=(0.4, 0.4, 0.2))
    peak = rng.normal(14.0, 3.0) if kind != "nightly" else rng.normal(3.0, 1.0)
    return Habit(
        kind=kind,
        reads_per_s=reads * scale,
        writes_per_s=writes * scale,
        read_sectors=int(read_sectors),
        write_sectors=int(write_sectors),
        peak=float(peak) % 24,
        swing=swing,
        noise=noise,
        bursts=bursts,
        best_hit_rate=float(rng.uniform(0.55, 0.99)),
        technology=CachedBy(int(technology)),
        is_writeback=bool(rng.random() < 0.4),
        cache_bytes=int(rng.choice((4, 8, 16, 32))) * GIB,
    )


def intervals(
    number: int, start: int, count: int, seconds: int, *, seed: int = 1
) -> tuple[Column, Columns]:
    """`count` intervals of the volume, one every `seconds` after `start` (Unix time): when each
    ended, in ms of Unix time, and its columns; those of the latencies have a row of buckets for
    each. As from a real host no two last exactly the same time."""
    how = habit(number, seed)
    rng = np.random.default_rng((seed, number, start, seconds))
    ends = (start + seconds * np.arange(1, count + 1)) * 1000
    ends_ms = ends + number * 37 % 1000 + rng.integers(0, 6, count)
    dt_ms = np.diff(ends_ms, prepend=ends_ms[0] - seconds * 1000 - int(rng.integers(-3, 4)))
    load = _load(how, rng, ends // 1000, seconds) * (dt_ms / 1000)
    reads = rng.poisson(how.reads_per_s * load)
    writes = rng.poisson(how.writes_per_s * load * rng.gamma(8.0, 1 / 8.0, count))
    rate = np.clip(how.best_hit_rate * rng.normal(1.0, 0.02, count), 0.0, 1.0)
    is_cached = how.technology != CachedBy.NONE
    read_hits = rng.binomial(reads, rate if is_cached else 0.0)
    write_hits = rng.binomial(writes, 0.98 if how.is_writeback else rate * 0.6)
    write_hits = write_hits if is_cached else np.zeros_like(writes)
    fast_writes = write_hits if how.is_writeback else np.zeros_like(writes)
    slow_reads, slow_writes = reads - read_hits, writes - fast_writes
    crowd = rng.gamma(6.0, 1 / 6.0, count)
    read_ms = _whole(read_hits * SSD_MS + slow_reads * DISK_MS * crowd)
    write_ms = _whole(fast_writes * SSD_MS + slow_writes * DISK_MS * 0.5 * crowd)
    read_sectors = reads * how.read_sectors + 8 * rng.poisson(reads * 0.5)
    write_sectors = writes * how.write_sectors + 8 * rng.poisson(writes * 0.5)
    slow, fast = _legs(how, rng, reads, writes, read_hits, write_hits, crowd)
    flushes = rng.binomial(writes, 0.08)
    discards = rng.poisson(load * 0.002)
    columns: dict[str, Column | None] = {
        "dt_ms": dt_ms,
        "reads": reads,
        "writes": writes,
        "read_sectors": read_sectors,
        "write_sectors": write_sectors,
        "read_ms": read_ms,
        "write_ms": write_ms,
        "busy_ms": np.minimum(dt_ms, _whole((read_ms + write_ms) * 0.35)),
        "weighted_ms": read_ms + write_ms,
        "latency_counts": _histogram(rng, read_hits + fast_writes, slow_reads + slow_writes),
        "technology": np.full(count, int(how.technology)),
        "discards": discards,
        "discard_sectors": discards * 2048,
        "discard_ms": discards,
        "read_us": read_ms * 1000 + rng.integers(0, 1000, count) * (reads > 0),
        "write_us": write_ms * 1000 + rng.integers(0, 1000, count) * (writes > 0),
        "flushes": flushes,
        "flush_ms": _whole(flushes * DISK_MS * 0.7 * crowd),
        "suspended_ms": np.zeros(count, np.int64),
    }
    if how.technology == CachedBy.BCACHE:
        # Its devices are not of the device mapper, which counts these.
        columns |= dict.fromkeys(("latency_counts", "read_us", "write_us", "flushes", "flush_ms"))
    own = _cache(how, rng, reads, writes, read_hits, write_hits)
    return ends_ms, columns | _named("slow", slow) | _named("fast", fast) | own


def _legs(
    how: Habit,
    rng: np.random.Generator,
    reads: Column,
    writes: Column,
    read_hits: Column,
    write_hits: Column,
    crowd: NDArray[np.float64],
) -> tuple[Columns, Columns]:
    """What the slow disk and the SSD did below; nothing without a cache."""
    if how.technology == CachedBy.NONE:
        return {}, {}
    moved = rng.binomial(reads - read_hits, 0.2)
    written_back = rng.binomial(write_hits, 0.7) if how.is_writeback else writes
    slow = _leg(how, rng, reads - read_hits, written_back, DISK_MS * crowd, ON_DISK)
    fast = _leg(how, rng, read_hits, write_hits + moved, SSD_MS * np.ones(len(reads)), ON_SSD)
    return slow, fast


def _leg(
    how: Habit,
    rng: np.random.Generator,
    reads: Column,
    writes: Column,
    each_ms: NDArray[np.float64],
    shares: tuple[float, ...],
) -> Columns:
    read_ms, write_ms = _whole(reads * each_ms), _whole(writes * each_ms * 0.6)
    counts: Column = rng.multinomial(reads + writes, shares)
    return {
        "reads": reads,
        "writes": writes,
        "read_sectors": reads * how.read_sectors + 8 * rng.poisson(reads * 0.5),
        "write_sectors": writes * how.write_sectors + 8 * rng.poisson(writes * 0.5),
        "read_ms": read_ms,
        "write_ms": write_ms,
        "busy_ms": _whole((read_ms + write_ms) * 0.4),
        "weighted_ms": read_ms + write_ms,
        "latency_counts": counts,
    }


def _named(leg: str, columns: Columns) -> dict[str, Column | None]:
    return {f"{leg}_{name}": columns.get(name) for name in LEG}


def _cache(
    how: Habit,
    rng: np.random.Generator,
    reads: Column,
    writes: Column,
    read_hits: Column,
    write_hits: Column,
) -> dict[str, Column | None]:
    """What the cache's own counters say, and what it holds; null without a cache."""
    names = (
        "read_hits",
        "read_misses",
        "write_hits",
        "write_misses",
        "demotions",
        "promotions",
        "counted_hits",
        "counted_misses",
        "bypass_hits",
        "bypass_misses",
        "cache_size_bytes",
        "used_bytes",
        "dirty_bytes",
        "metadata_used_bytes",
        "metadata_total_bytes",
    )
    columns: dict[str, Column | None] = dict.fromkeys(names)
    if how.technology == CachedBy.NONE:
        return columns
    count = len(reads)
    chunks = how.cache_bytes // CHUNK_BYTES
    used = int(min(0.995, rng.uniform(0.4, 1.2)) * chunks) + np.cumsum(rng.integers(-2, 3, count))
    used_bytes = np.clip(used, 0, chunks).astype(np.int64) * CHUNK_BYTES
    dirty = write_hits // 32 * CHUNK_BYTES if how.is_writeback else np.zeros(count, np.int64)
    columns |= {
        "cache_size_bytes": np.full(count, how.cache_bytes),
        "used_bytes": used_bytes,
        "dirty_bytes": np.minimum(used_bytes, dirty),
    }
    if how.technology == CachedBy.BCACHE:
        bypassed = rng.binomial(reads - read_hits, 0.1)
        return columns | {
            "counted_hits": read_hits,
            "counted_misses": reads - read_hits - bypassed,
            "bypass_hits": np.zeros(count, np.int64),
            "bypass_misses": bypassed,
        }
    promotions = rng.binomial(reads - read_hits, 0.2)
    return columns | {
        "read_hits": read_hits,
        "read_misses": reads - read_hits,
        "write_hits": write_hits,
        "write_misses": writes - write_hits,
        "promotions": promotions,
        "demotions": rng.binomial(promotions, 0.9),
        "metadata_used_bytes": (720 + used_bytes // (64 * CHUNK_BYTES)) * 4096,
        "metadata_total_bytes": np.full(count, 3072 * 4096),
    }


def counters(columns: Columns, names: Mapping[str, object]) -> dict[str, Column]:
    """The figures among the columns as a metrics system reads them: counters since some boot,
    gauges as they are, and of a histogram one counter for each bound, which has its label in its
    name and counts all below it. Only columns among `names`, and no nulls."""
    figures: dict[str, Column] = {}
    for place, (name, column) in enumerate(columns.items()):
        if column is None or name in NO_FIGURES or name not in names:
            continue
        if name in GAUGES:
            figures[name] = column
        elif name in HISTOGRAMS:
            below = np.cumsum(np.cumsum(column, axis=1), axis=0)
            base = name.removesuffix("_counts")
            for n, bound in enumerate((*LATENCY_BOUNDS_NS, None)):
                limit = "+Inf" if bound is None else f"{bound / 1e9:g}"
                figures[f'{base}_bucket{{le="{limit}"}}'] = below[:, n] + 1_000_000 * (n + 1)
        else:
            figures[name] = np.cumsum(column) + 7_919 * (place + 1) ** 4
    return figures


def _load(how: Habit, rng: np.random.Generator, ends: Column, seconds: int) -> NDArray[np.float64]:
    """How much of its usual load the volume has in each interval."""
    hours = ends / 3600 % 24
    day = 1 + how.swing * np.cos((hours - how.peak) / 24 * math.tau)
    if how.swing:
        day = day * np.where(ends // DAY_SECONDS % 7 >= 5, 0.7, 1.0)
    if how.kind == "nightly":
        day = np.where(np.abs(hours - how.peak) < 0.5, NIGHTLY, 1.0)
    noise = rng.gamma(how.noise, 1 / how.noise, len(ends))
    load = day * noise
    count = rng.poisson(how.bursts * len(ends) * seconds / DAY_SECONDS)
    lasting = np.maximum(1, rng.exponential(600, count) / seconds).astype(np.int64)
    for first, length in zip(rng.integers(0, len(ends), count), lasting, strict=True):
        load[first : first + length] *= rng.uniform(3, 12)
    return load


def _histogram(rng: np.random.Generator, fast: Column, slow: Column) -> Column:
    counts: Column = rng.multinomial(fast, ON_SSD) + rng.multinomial(slow, ON_DISK)
    return counts


def _whole(values: NDArray[np.float64]) -> Column:
    return np.rint(values).astype(np.int64)

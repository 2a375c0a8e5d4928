"""What a kind of cache does with reads and writes, as far as it matters to who waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from storage.analysis.curve.miss_ratio import MissRatioCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """`promotion_share` of the misses (0 to 1) enter the cache, as the host's counters show it
    (promotions for each miss; `dmsetup status`); each costs `hdd_ios_per_promotion` more of the
    HDD. `bypasses_sequential`: long runs go around the cache. With `writeback` a write waits for
    the SSD alone: with `allocates_writes` each one that does not go around, else those that hit."""

    writeback: bool
    bypasses_sequential: bool
    allocates_writes: bool
    promotion_share: float = 1.0
    hdd_ios_per_promotion: float = 0.0

    def fast_writes(self, write_hit_rate: float, sequential_writes: float) -> float:
        """The share of writes that do not wait for the HDD; `sequential_writes` is the share of
        writes that belong to long runs. In writethrough each write waits, a hit too."""
        if not self.writeback:
            return 0.0
        if self.allocates_writes:
            return 1.0 - (sequential_writes if self.bypasses_sequential else 0.0)
        return write_hit_rate

    def hdd_writes(self, write_hit_rate: float) -> tuple[float, float]:
        """HDD writes for each write of the guest, at least and at most. In writeback a chunk is
        written back at least once for each stay in the cache, which its first write misses, and at
        most once for each write."""
        return (1.0 - write_hit_rate, 1.0) if self.writeback else (1.0, 1.0)


def lvmcache(*, writeback: bool, promotion_share: float = 1.0) -> CachePolicy:
    """dm-cache with smq: a promotion copies the whole chunk from the HDD after the miss was read;
    a write that misses goes to the HDD."""
    return CachePolicy(
        writeback=writeback,
        bypasses_sequential=False,
        allocates_writes=False,
        promotion_share=promotion_share,
        hdd_ios_per_promotion=1.0,
    )


def bcache(*, writeback: bool, bypasses_sequential: bool = True) -> CachePolicy:
    """bcache, with the kernel's sequential cutoff of 4 MiB or without any: what was read for a miss
    is what is kept; in writeback every write that does not go around goes to the SSD."""
    return CachePolicy(
        writeback=writeback, bypasses_sequential=bypasses_sequential, allocates_writes=True
    )


def at_chunk_size(
    curves: dict[int, MissRatioCurve], chunk_bytes: int, size_bytes: float
) -> tuple[float, float] | None:
    """The miss ratio of reads, low and high, of a cache of `size_bytes` with chunks of another
    size, between `curves` of a fine trace by their size of chunks; None outside of these, and
    without reads. A chunk brings its neighbours in and takes their place, and which of the two
    matters more only a trace shows."""
    smaller = max((size for size in curves if size <= chunk_bytes), default=None)
    larger = min((size for size in curves if size >= chunk_bytes), default=None)
    if smaller is None or larger is None:
        return None
    ends = [_misses(curves[size], size_bytes) for size in (smaller, larger)]
    if not all(ends):
        return None
    part = log(chunk_bytes / smaller) / log(larger / smaller) if larger > smaller else 0.0
    low, high = (first + part * (second - first) for first, second in zip(*ends, strict=True))
    return low, high


def _misses(curve: MissRatioCurve, size_bytes: float) -> list[float]:
    ratios = [curve.miss_ratios(size_bytes, growth).reads for growth in curve.growths]
    return sorted(ratio for ratio in ratios if ratio is not None)

"""What the evening measures. Sizes are those of the lab; ratios of data to cache are the published
ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from storage.benchmarks.matrix import CacheState, Cell, Profile, TargetKind
from storage.benchmarks.published import published_runs
from storage.byte_sizes import MIB

DATA_BYTES: Final = 64 * MIB
# 4 GiB of data had a cache of 5 GiB by bcache, of 4 GiB by lvmcache. LVM's pool has a chunk more
# than the data, which no chunk of the data has to leave for.
BCACHE_BYTES: Final = 80 * MIB
LVMCACHE_BYTES: Final = 64 * MIB
SWEPT_CACHE_BYTES: Final = 64 * MIB
CUTOFF_KIB: Final = 4096
BUCKET_KIB: Final = 64


@dataclass(frozen=True, slots=True)
class EveningSize:
    """For how many seconds each of the six runs lasts, each run of the sweep (and its warming),
    and each run of the comparison; which data sizes the sweep has, in shares of the cache; and how
    many caches are made anew for the comparison."""

    run_seconds: int
    sweep_seconds: int
    sweep: tuple[float, ...]
    compared_seconds: int
    repeats: int


SIZES: Final[Mapping[str, EveningSize]] = {
    "small": EveningSize(45, 15, (1, 4), 15, 0),
    "full": EveningSize(600, 90, (0.5, 1, 1.5, 2, 3, 4), 60, 3),
}

_BASE: Final = Cell(TargetKind.HDD, Profile.ZIPF_READ, DATA_BYTES, 0, jobs=2, iodepth=8)
_LVMCACHE: Final = replace(
    _BASE, target=TargetKind.LVMCACHE, mode="writethrough", cache_bytes=LVMCACHE_BYTES
)
_BCACHE: Final = replace(
    _BASE,
    target=TargetKind.BCACHE,
    mode="writethrough",
    cache_bytes=BCACHE_BYTES,
    chunk_kib=BUCKET_KIB,
)


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One of the six: IOPS of both jobs together, and the share of reads that the SSD answered
    (None without a cache)."""

    label: str
    iops: float
    hit_rate: float | None


def published() -> dict[str, PublishedRun]:
    """By id."""
    return {
        name: PublishedRun(run["label"], sum(run["job_iops"]), run.get("hit_rate"))
        for name, run in published_runs().items()
    }


def six_runs(size: EveningSize) -> dict[str, Cell]:
    """By the published id."""
    cells = {
        "ssd": replace(_BASE, target=TargetKind.SSD),
        "hdd": _BASE,
        "bcache-sc4m": replace(_BCACHE, sequential_cutoff_kib=CUTOFF_KIB),
        "bcache-sc0": _BCACHE,
        "lvmcache-empty": _LVMCACHE,
        "lvmcache-full": replace(_LVMCACHE, state=CacheState.JUNK),
    }
    return {name: replace(cell, seconds=size.run_seconds) for name, cell in cells.items()}


def sweep(size: EveningSize) -> dict[float, Cell]:
    """Data of each size, in shares of one cache, which was warmed."""
    return {
        share: replace(
            _LVMCACHE,
            data_bytes=int(share * SWEPT_CACHE_BYTES),
            cache_bytes=SWEPT_CACHE_BYTES,
            seconds=size.sweep_seconds,
            warm_seconds=size.sweep_seconds,
            state=CacheState.WARMED,
        )
        for share in size.sweep
    }


def compared(size: EveningSize) -> dict[str, Cell]:
    """What is measured several times, on caches that are made anew and warmed."""
    cells = {
        "bcache, sequential_cutoff 0": _BCACHE,
        "lvmcache": _LVMCACHE,
        "lvmcache, chunks of 256 KiB": replace(_LVMCACHE, chunk_kib=256),
    }
    seconds = size.compared_seconds
    return {
        name: replace(cell, seconds=seconds, warm_seconds=seconds, state=CacheState.WARMED)
        for name, cell in cells.items()
    }

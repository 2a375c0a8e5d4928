"""Counters of a run's device, of the devices behind its cache, and of the cache itself: what hit
rates, promotions and bytes written to the SSD are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..calls.refusals import Refusal
from ..kernel import bcache_sysfs, dm
from ..kernel.diskstats import diskstats
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from . import scratch
from .profiles import BCACHE, LVMCACHE, SSD
from .scratch import Args

# dmsetup is a process of its own.
CACHE_NS = 2_000_000_000
FIELDS = {"reads": 0, "read_sectors": 2, "writes": 4, "written_sectors": 6, "io_ms": 9}
_BCACHE_COUNTS = ("cache_hits", "cache_misses", "cache_bypass_hits", "cache_bypass_misses")


@dataclass(frozen=True)
class RunLegs:
    """Kernel names. `top` is what fio has; `slow`, `fast` and `meta` are "" where there is none."""

    top: str
    slow: str
    fast: str
    meta: str = ""

    @property
    def knames(self) -> frozenset[str]:
        return frozenset((self.top, self.slow, self.fast, self.meta)) - {""}


def find_legs(host: LocalHost, args: Args) -> RunLegs | None:
    """None while a device of them is not there."""
    data = dm.kname(host, args["vg"], scratch.data_name(args["key"]))
    target = args["target"]
    if target == BCACHE:
        backing = bcache_sysfs.backing(host, data) if data else None
        cache = dm.kname(host, args["vg"], scratch.cache_name(args["key"]))
        return RunLegs(backing.device, data, cache) if backing and backing.device else None
    if target == LVMCACHE:
        layers = {_layer(host, part): part for part in host.list(f"/sys/block/{data}/slaves")}
        parts = [layers.get(layer, "") for layer in ("real", "cdata", "cmeta")]
        return RunLegs(data, *parts) if data else None
    return (RunLegs(data, "", data) if target == SSD else RunLegs(data, data, "")) if data else None


def _layer(host: LocalHost, kname: str) -> str:
    """ "LVM-…-cdata" -> "cdata"."""
    return text(host, f"/sys/block/{kname}/dm/uuid").rpartition("-")[2]


def dm_cache(host: LocalHost, args: Args) -> dm.CacheStatus | None:
    """None where the kernel has no such cache, or it has failed. Raises Refusal."""
    kname = dm.kname(host, args["vg"], scratch.data_name(args["key"]))
    name = text(host, f"/sys/block/{kname}/dm/name") if kname else ""
    status = dm.caches(host).get(name)
    return None if status is None or status.failed else status


class LegsSampler:
    """One row each time it is asked; all of them count up from wherever they were."""

    def __init__(self, host: LocalHost, args: Args, legs: RunLegs) -> None:
        self._host = host
        self._args = args
        self._legs = legs
        self._cache: Mapping[str, int] = {}
        self._cache_ns: int | None = None

    def row(self, ms: int) -> dict[str, Any]:
        """The figures of the cache are renewed every 2 s."""
        counts = diskstats(text(self._host, "/proc/diskstats"), self._legs.knames)
        now_ns = self._host.boottime_ns()
        if self._cache_ns is None or now_ns - self._cache_ns >= CACHE_NS:
            self._cache_ns = now_ns
            self._cache = self._cache_counts()
        row: dict[str, Any] = {"ms": ms}
        for leg in ("top", "slow", "fast", "meta"):
            fields = counts.get(getattr(self._legs, leg))
            if fields is not None:
                row[leg] = {name: fields[at] for name, at in FIELDS.items()}
            elif leg != "meta":
                row[leg] = {}
        return {**row, "cache": dict(self._cache), "cpu": cpu_ticks(self._host)}

    def _cache_counts(self) -> Mapping[str, int]:
        if self._args["target"] == BCACHE:
            return _bcache_counts(self._host, self._legs.slow)
        if self._args["target"] != LVMCACHE:
            return {}
        try:
            status = dm_cache(self._host, self._args)
        except Refusal:
            # It is asked again with one of the next rows.
            return self._cache
        return self._cache if status is None else dm_cache_counts(status)


def dm_cache_counts(status: dm.CacheStatus) -> dict[str, int]:
    """In chunks of `chunk_bytes`; promotions and demotions since the table was loaded."""
    counts = {name: getattr(status, name) for name in ("used", "total", *dm.COUNTERS)}
    return {**counts, "chunk_bytes": status.chunk_sectors * dm.SECTOR}


def _bcache_counts(host: LocalHost, kname: str) -> dict[str, int]:
    here = bcache_sysfs.folder(kname)
    counts = {name: text(host, f"{here}/stats_total/{name}") for name in _BCACHE_COUNTS}
    numbers = {name: int(count) for name, count in counts.items() if count.isdecimal()}
    dirty_bytes = bcache_sysfs.human(text(host, f"{here}/dirty_data"))
    return {**numbers, "dirty_bytes": max(0, dirty_bytes)}


def cpu_ticks(host: LocalHost) -> dict[str, int]:
    """Of all processors since the boot; waiting for a disk is no work."""
    words = text(host, "/proc/stat").split("\n", 1)[0].split()[1:9]
    ticks = [int(word) for word in words if word.isdecimal()]
    return {"busy": sum(ticks) - sum(ticks[3:5]), "total": sum(ticks)}

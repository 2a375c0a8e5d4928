"""What time does: guests' I/O moves the counters, caches warm up, dirty data is written back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.fake import bcache
from tests.fake.machine import Machine
from tests.fake.parts import SECTOR, Array, Backing, Cache, Disk, Load, Lv, ModelGap

HIT_MS = 0.15
DISK_READ_MS = 8.0
HAMMERED = 8.0
"""So many times as long an I/O takes beside a program that writes without a pause."""
QUEUE_DEPTH = 8
PROMOTED = 0.3
AVAILABLE_USE = 0.97
"""A full set keeps two of a hundred buckets unused, and one for its metadata."""


@dataclass(frozen=True)
class Share:
    """I/Os of one stretch of time: reads and writes that the cache serves (`hits`), and all."""

    reads: float
    read_hits: float
    writes: float
    write_hits: float
    sectors: int
    disk_ms: float

    @property
    def read_misses(self) -> float:
        return self.reads - self.read_hits


def advance(machine: Machine, seconds: float) -> None:
    for load in machine.loads:
        if load.program and load.program not in machine.hammered:
            continue
        backing = machine.backing(load.lv)
        if backing is not None:
            _bcache(machine, load, backing, seconds)
        elif load.lv.minor is not None and not load.lv.suspended:
            _volume(machine, load, seconds)
    busy = {load.lv for load in machine.loads}
    rate = machine.flush_bytes_per_second * seconds
    for lv in machine.lvs():
        cache = lv.cache
        if cache is not None and (cache.kernel_policy == "cleaner" or lv not in busy):
            cache.dirty = max(0.0, cache.dirty - rate / cache.pool.chunk_bytes)
    for array in machine.arrays:
        if array.is_filling:
            array.rebuild(seconds)
            machine.changed()
    for backing in list(machine.backings):
        unbraked = backing.writeback_running and not backing.writeback_percent
        if backing.detaching or unbraked or backing.lv not in busy:
            backing.dirty_bytes = max(0.0, backing.dirty_bytes - rate)
        bcache.settle(machine, backing)


def _share(
    machine: Machine, load: Load, seconds: float, warmth: float, writes_cached: bool
) -> Share:
    hit = load.hit_rate * warmth
    cost = (1 - hit) * (1 - load.write_share) + load.write_share * (1 - hit if writes_cached else 1)
    others = (devices for words, devices in machine.hammered.items() if words != load.program)
    beside = {run.pv.device.name for run in load.lv.bottom.runs} & frozenset().union(*others)
    disk_iops = load.disk_iops / (HAMMERED if beside else 1)
    total = min(load.iops, disk_iops / max(cost, 1e-3)) * seconds
    reads, writes = total * (1 - load.write_share), total * load.write_share
    sectors = load.io_bytes // SECTOR
    disk_ms = 1000 * QUEUE_DEPTH / disk_iops
    return Share(reads, reads * hit, writes, writes * hit, sectors, disk_ms)


def _warmer(warmth: float, load: Load, seconds: float) -> float:
    return 1 - (1 - warmth) * math.exp(-seconds / load.warm_up_seconds)


def _volume(machine: Machine, load: Load, seconds: float) -> None:
    cache = load.lv.cache
    if cache is None:
        share = _share(machine, load, seconds, 0.0, writes_cached=False)
        _physical(load.lv, share.reads, share.writes, share)
        return
    cache.warmth = _warmer(cache.warmth, load, seconds)
    writeback = cache.mode == "writeback" and cache.kernel_policy != "cleaner"
    share = _share(machine, load, seconds, cache.warmth, writeback)
    _count(load.lv, share)
    _dm_cache(cache, share, writeback)
    slow_writes = share.writes - share.write_hits if writeback else share.writes
    _physical(cache.origin, share.read_misses, slow_writes, share)
    if cache.pool.data is not None:
        _physical(cache.pool.data, share.read_hits, share.write_hits, share, ms=HIT_MS)


def _dm_cache(cache: Cache, share: Share, writeback: bool) -> None:
    cache.read_hits += share.read_hits
    cache.read_misses += share.read_misses
    cache.write_hits += share.write_hits
    cache.write_misses += share.writes - share.write_hits
    promoted = share.read_misses * PROMOTED
    cache.promotions += promoted
    cache.demotions += max(0.0, cache.used + promoted - cache.total)
    cache.used = min(float(cache.total), cache.used + promoted)
    if writeback:
        cache.dirty = min(cache.used, cache.dirty + share.write_hits / 16)


def _bcache(machine: Machine, load: Load, backing: Backing, seconds: float) -> None:
    cset = backing.cset
    if cset is None or backing.cache_mode == "none":
        share = _share(machine, load, seconds, 0.0, writes_cached=False)
    else:
        backing.warmth = _warmer(backing.warmth, load, seconds)
        writeback = backing.cache_mode == "writeback" and not backing.detaching
        share = _share(machine, load, seconds, backing.warmth, writeback)
        backing.hits += share.read_hits
        backing.misses += share.read_misses
        limit = cset.lv.size_bytes * AVAILABLE_USE
        cset.used_bytes = min(limit, cset.used_bytes + share.read_misses * load.io_bytes)
        # Reads that hit so often read what is there.
        read_again = backing.warmth * min(limit, load.lv.size_bytes / 2)
        cset.used_bytes = max(cset.used_bytes, read_again)
        if writeback:
            backing.dirty_bytes = min(
                cset.used_bytes, backing.dirty_bytes + share.write_hits * load.io_bytes / 16
            )
        _physical(cset.lv, share.read_hits, share.write_hits, share, ms=HIT_MS)
    _count(backing, share)
    _physical(backing.lv, share.read_misses, share.writes, share)


def read_directly(machine: Machine, path: str, offset: int, size_bytes: int) -> float:
    """A program of the host reads a volume through its cache; how many seconds that takes."""
    kname = path.removeprefix("/dev/")
    sectors = size_bytes // SECTOR
    backing = next((each for each in machine.backings if each.device == kname), None)
    if backing is not None:
        backing.misses += 1
        backing.counters.read(1, sectors, DISK_READ_MS)
        if backing.cset is not None:
            backing.cset.used_bytes += size_bytes
            backing.cset.lv.counters.write(1, sectors, HIT_MS)
        return DISK_READ_MS / 1000
    lv = next((each for each in machine.lvs() if each.kname == kname), None)
    if lv is None or lv.cache is None:
        raise ModelGap(f"direct reads of {path}")
    cache = lv.cache
    chunk = offset // cache.pool.chunk_bytes
    reads = cache.chunks.get(chunk, 0)
    cache.chunks[chunk] = reads + 1
    is_hit = reads >= cache.reads_to_promote
    lv.counters.read(1, sectors, HIT_MS if is_hit else DISK_READ_MS)
    if is_hit:
        cache.read_hits += 1
        return HIT_MS / 1000
    cache.read_misses += 1
    if reads + 1 >= cache.reads_to_promote and cache.used < cache.total:
        cache.used += 1
        cache.promotions += 1
    return DISK_READ_MS / 1000


def _count(device: Lv | Backing, share: Share) -> None:
    counters, sectors = device.counters, share.sectors
    counters.read(share.read_hits, share.read_hits * sectors, HIT_MS)
    counters.read(share.read_misses, share.read_misses * sectors, share.disk_ms)
    counters.write(share.writes, share.writes * sectors, share.disk_ms)


def _physical(lv: Lv, reads: float, writes: float, share: Share, ms: float | None = None) -> None:
    """An LV of extents, and the devices under its first one."""
    each_ms = share.disk_ms if ms is None else ms
    targets: list[Lv | Disk | Array] = [lv]
    if lv.runs:
        device = lv.runs[0].pv.device
        targets.append(device)
        if isinstance(device, Array):
            each = reads / len(device.members)
            for member in device.members:
                member.counters.read(each, each * share.sectors, each_ms)
                member.counters.write(writes, writes * share.sectors, each_ms)
    for target in targets:
        target.counters.read(reads, reads * share.sectors, each_ms)
        target.counters.write(writes, writes * share.sectors, each_ms)

"""Fills a new cache: reads what is read most of its volume through it, one read at a time, hottest
first, until the cache is full or takes no more.

dm-cache (smq) promotes a chunk on a read that misses, but once many of its promotions came to
nothing, only what it has missed again and again: so a batch of chunks is read in several rounds,
the hottest batch first, and a read of what is in the cache by then costs the slow disk nothing.
bcache takes each read that misses, unless it belongs to a sequential run: the order is that of
hotness, never that of addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from ..calls.refusals import Refusal
from ..commands.command import Args
from ..kernel import bcache_sysfs, dm
from ..kernel.dm import SECTOR
from ..kernel.local_host import LocalHost, LockBusy
from ..state import hot_map_files
from ..state.hot_chunks import PAGE_BYTES, HotChunk, hot_chunks
from .pacer import Pacer
from .waits import WorkProgress, kname

# Reads that are repeated before others begin: in some seconds, as smq counts.
BATCH = 1024
# Rounds in a row that brought less than this share of a batch before it is given up. A block of
# smq's hotspots rises by 1 to 4 of 64 levels in a second in which it misses, and promotes from
# level 32 or 48 on where smq is not sure of itself.
PATIENCE = 20
LEAST_GAIN = 0.02
# The guest itself may have brought the hottest; after so many batches that brought nothing, no
# colder one will.
VAIN_BATCHES = 3
FULL = 0.97
# bcache keeps some buckets free, and has its own metadata in others.
BCACHE_USE = 0.9
LOOK_SECONDS = 5.0
# The service looks every 10 s.
FRESH_SECONDS = 15.0
# dm-cache copies behind a read.
SETTLE_SECONDS = 2.0
MIB = 1 << 20

Read = tuple[int, int]


@dataclass(frozen=True)
class CacheRoom:
    """A cache that can be filled. `chunk_bytes` is what it takes as a whole, None where it takes
    what is read alone; `held_bytes` is what it holds, by its own counters."""

    size_bytes: int
    chunk_bytes: int | None
    held_bytes: Callable[[], int]


def room(host: LocalHost, args: Args) -> CacheRoom | None:
    """That of the volume; None where it has no cache that works. Raises what dm.caches raises."""
    lv = kname(host, args)
    backing = bcache_sysfs.backing(host, lv)
    if backing is not None:
        return _of_bcache(host, backing.cset_uuid) if backing.cset_uuid else None
    name = dm.text(host, f"/sys/block/{lv}/dm/name")

    def status() -> dm.CacheStatus | None:
        # With a classic snapshot the cache sits on the layer below the volume.
        statuses = dm.caches(host)
        return statuses.get(name) or statuses.get(f"{name}-real")

    def held_bytes() -> int:
        now = status()
        return 0 if now is None else now.used * now.chunk_sectors * SECTOR

    first = status()
    if first is None or first.failed or not first.total:
        return None
    chunk_bytes = first.chunk_sectors * SECTOR
    return CacheRoom(first.total * chunk_bytes, chunk_bytes, held_bytes)


def _of_bcache(host: LocalHost, cset_uuid: str) -> CacheRoom | None:
    """A new set is empty: what it holds is what was written to it since. Its own counters move
    every 13.6 s only, and to report its fill it walks all buckets under a lock."""
    cset = bcache_sysfs.cache_set(host, cset_uuid)
    size = dm.text(host, f"/sys/block/{cset.kname}/size")
    if cset.kname is None or not size.isdecimal():
        return None
    begun_bytes = _written_bytes(host, cset.kname)
    device = cset.kname
    return CacheRoom(
        int(int(size) * SECTOR * BCACHE_USE),
        None,
        lambda: _written_bytes(host, device) - begun_bytes,
    )


def _written_bytes(host: LocalHost, device: str) -> int:
    words = dm.text(host, f"/sys/block/{device}/stat").split()
    return int(words[6]) * SECTOR if len(words) > 6 else 0


def reads_of(entries: list[HotChunk], cache: CacheRoom) -> tuple[list[Read], int]:
    """Where to read how much, hottest first, as far as the cache has room; and how many bytes of it
    that fills."""
    reads: list[Read] = []
    filled_bytes, seen = 0, set()
    for entry in entries:
        for offset, size_bytes in entry.runs():
            if cache.chunk_bytes is None:
                reads.append((offset, size_bytes))
                filled_bytes += size_bytes
            else:
                for chunk in range(
                    offset // cache.chunk_bytes, (offset + size_bytes - 1) // cache.chunk_bytes + 1
                ):
                    if chunk not in seen:
                        seen.add(chunk)
                        reads.append((max(offset, chunk * cache.chunk_bytes), PAGE_BYTES))
                        filled_bytes += cache.chunk_bytes
        if filled_bytes >= cache.size_bytes:
            break
    return reads, min(filled_bytes, cache.size_bytes)


class CacheFiller:
    """One run. `show` and `say` are for people; `stopping` says that it is to end."""

    def __init__(
        self,
        host: LocalHost,
        args: Args,
        lv_uuid: str,
        pacer: Pacer,
        show: Callable[[WorkProgress], None],
        stopping: Callable[[], bool],
    ) -> None:
        self._host = host
        self._args = args
        self._lv_uuid = lv_uuid
        self._pacer = pacer
        self._show = show
        self._stopping = stopping
        self._begun_ns = self._looked_ns = host.boottime_ns()
        self._wanted_bytes = 0
        self._held_bytes = self._count = 0

    def run(self) -> str:
        """What became of it, in a sentence: whatever happens, the cache works, and fills as its
        guest reads. Its volume is marked no more."""
        try:
            outcome = self._fill()
        except (OSError, Refusal, LockBusy) as problem:
            outcome = f"The cache was not filled any further: {problem}"
        try:
            hot_map_files.unmark(self._host, (self._lv_uuid,))
        except (OSError, LockBusy) as problem:
            return f"{outcome} All reads of the volume are counted for a day: {problem}"
        return outcome

    def _fill(self) -> str:
        cache = room(self._host, self._args)
        if cache is None:
            return "The volume has no cache that works: nothing was read."
        counted = self._counted()
        reads, self._wanted_bytes = reads_of(hot_chunks(counted), cache)
        if not reads:
            return "Nothing was counted of this volume: nothing was read."
        with self._host.direct_reads(self._device()) as read:
            vain_batches = 0
            for at in range(0, len(reads), BATCH):
                before_bytes = cache.held_bytes()
                ended = self._read_batch(cache, reads[at : at + BATCH], read)
                if ended:
                    return self._outcome(ended)
                vain_batches = vain_batches + 1 if self._held_bytes <= before_bytes else 0
                if vain_batches == VAIN_BATCHES:
                    break
        is_full = self._held_bytes >= FULL * self._wanted_bytes
        return self._outcome("All is there" if is_full else "It takes no more")

    def _read_batch(
        self, cache: CacheRoom, batch: list[Read], read: Callable[[int, int], None]
    ) -> str:
        """In rounds, until it is there or no round brings more; why no other batch is to follow."""
        batch_bytes = sum(cache.chunk_bytes or size_bytes for _, size_bytes in batch)
        begun_bytes = self._held_bytes = cache.held_bytes()
        vain_rounds = 0
        while vain_rounds < PATIENCE:
            before_bytes = self._held_bytes
            for offset, size_bytes in batch:
                ended = self._ended(cache)
                if ended:
                    return ended
                read(offset, size_bytes)
                self._count += 1
            self._host.sleep(SETTLE_SECONDS)
            self._look(cache)
            if self._held_bytes >= FULL * min(self._wanted_bytes, begun_bytes + batch_bytes):
                break
            is_vain = self._held_bytes - before_bytes < LEAST_GAIN * batch_bytes
            vain_rounds = vain_rounds + 1 if is_vain else 0
        return ""

    def _counted(self) -> bytes:
        """The service writes down what it has when it sees that its volume is read by the agent."""
        before = hot_map_files.map_head(self._host, self._lv_uuid)
        hot_map_files.begin_warming(self._host, self._lv_uuid)
        end_ns = self._host.boottime_ns() + int(FRESH_SECONDS * 1e9)
        while self._host.boottime_ns() < end_ns and not self._stopping():
            if hot_map_files.map_head(self._host, self._lv_uuid) != before:
                break
            self._host.sleep(1.0)
        return hot_map_files.data(self._host, self._lv_uuid)

    def _device(self) -> str:
        return f"/dev/{top_kname(self._host, self._args)}"

    def _ended(self, cache: CacheRoom) -> str:
        """Waits for this read's turn; why there is none any more, "" while it goes on."""
        while True:
            passed_seconds = (self._host.boottime_ns() - self._begun_ns) / 1e9
            if self._stopping():
                return "It was stopped"
            if passed_seconds > self._args["limit_seconds"]:
                return "Its time was over"
            if self._host.boottime_ns() - self._looked_ns > LOOK_SECONDS * 1e9:
                self._look(cache)
                if self._held_bytes >= FULL * cache.size_bytes:
                    return "The cache is full"
            beat = self._pacer.beat()
            if not beat.rests:
                return ""
            self._host.sleep(beat.seconds)

    def _look(self, cache: CacheRoom) -> None:
        self._looked_ns = self._host.boottime_ns()
        self._held_bytes = cache.held_bytes()
        done_bytes = min(self._held_bytes, self._wanted_bytes)
        self._show(
            WorkProgress("warm", done_bytes, self._wanted_bytes, False, others=self._pacer.others)
        )

    def _outcome(self, why: str) -> str:
        warm_bytes = min(self._held_bytes, self._wanted_bytes)
        percent = 100 * warm_bytes // max(1, self._wanted_bytes)
        return (
            f"{why}: {percent} % of what is read most is in the cache, "
            f"{warm_bytes / MIB:.0f} of {self._wanted_bytes / MIB:.0f} MiB, "
            f"after {self._count} reads."
        )


def top_kname(host: LocalHost, args: Args) -> str:
    """What the guest has: dm-N of the volume, or its bcacheN."""
    lv = kname(host, args)
    backing = bcache_sysfs.backing(host, lv)
    return lv if backing is None or backing.device is None else backing.device

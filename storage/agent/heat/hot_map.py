"""Counts which parts of a volume are read, for the cache that it is to get: a hash table of bounded
size. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..kernel.trace_pages import TracedIo
from ..state.hot_chunks import CHUNK_BYTES, PAGE_BYTES, HotColumns, hot_columns, hottest_first
from .observation import is_write
from .sequential_runs import SequentialRuns
from .trace_filter import SECTOR_BYTES

CHUNKS_LIMIT = 65_536
FIRST_SLOTS = 1024
CHUNK_SECTORS, PAGE_SECTORS = CHUNK_BYTES // SECTOR_BYTES, PAGE_BYTES // SECTOR_BYTES
_LARGEST = (1 << 32) - 1
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


class HotMap:
    """Reads of a volume, without those that belong to a long sequential run: no cache is for them.
    Where more than `limit` chunks were read, the half that was read most stays known. `known` is
    what an earlier one had counted (`to_bytes`), of so many `reads`. It is taken up as a whole: to
    place each chunk anew would take longer than the service may."""

    def __init__(self, limit: int = CHUNKS_LIMIT, known: bytes = b"", reads: int = 0) -> None:
        self._limit = limit
        self._runs = SequentialRuns(is_sampled=False)
        self._make(min(FIRST_SLOTS, 2 * limit))
        self.reads = reads
        columns = hot_columns(known)
        slots = len(columns.counts)
        tracked = slots - columns.counts.count(0)
        if slots & (slots - 1) == 0 and 2 * tracked <= slots <= 2 * limit and tracked:
            self._columns = columns
            self._tracked, self._slots, self._mask = tracked, slots, slots - 1

    def add(self, ios: Iterable[TracedIo]) -> None:
        """What was seen, in the order of time."""
        for ns, _, sector, sectors, letters in ios:
            if is_write(letters) is not False or not sectors:
                continue
            if self._runs.bypasses(ns, sector, sectors):
                continue
            self.reads += 1
            end = sector + sectors
            for chunk in range(sector // CHUNK_SECTORS, (end - 1) // CHUNK_SECTORS + 1):
                begin = chunk * CHUNK_SECTORS
                first = max(0, sector - begin) // PAGE_SECTORS
                last = (min(CHUNK_SECTORS, end - begin) - 1) // PAGE_SECTORS
                self._touch(1, chunk, (2 << last) - (1 << first))

    def to_bytes(self) -> bytes:
        return self._columns.to_bytes()

    def halve(self) -> None:
        """Each count; what was read once is forgotten."""
        entries = list(self._columns.filled())
        self._make(self._slots)
        self.reads //= 2
        for times, chunk, pages in entries:
            if times > 1:
                self._touch(times // 2, chunk, pages)

    def _touch(self, count: int, chunk: int, pages: int) -> None:
        if chunk > _LARGEST:
            # Beyond 256 TiB.
            return
        counts, chunks, mask = self._columns.counts, self._columns.chunks, self._mask
        slot = (chunk * _GOLDEN & _WORD) >> 32 & mask
        while counts[slot]:
            if chunks[slot] == chunk:
                counts[slot] = min(_LARGEST, counts[slot] + count)
                self._columns.pages[slot] |= pages
                return
            slot = (slot + 1) & mask
        counts[slot], chunks[slot], self._columns.pages[slot] = count, chunk, pages
        self._tracked += 1
        if 2 * self._tracked > self._slots:
            self._make_room()

    def _make_room(self) -> None:
        """More slots up to the limit; then the colder half is forgotten."""
        entries = list(self._columns.filled())
        if self._slots < 2 * self._limit:
            self._make(2 * self._slots)
        else:
            entries = hottest_first(entries)[: self._limit // 2]
            self._make(self._slots)
        for entry in entries:
            self._touch(*entry)

    def _make(self, slots: int) -> None:
        self._tracked, self._slots, self._mask = 0, slots, slots - 1
        self._columns = HotColumns(slots)

"""What is read most of a volume, as one process of the agent hands it to another. Pure.

Unlike all else of heat these are addresses, because a warm start must know what to read. They stay
on the host (docs/security.md#what-heat-sees).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CHUNK_BYTES, PAGE_BYTES = 64 << 10, 4 << 10
PAGES = CHUNK_BYTES // PAGE_BYTES
_ENTRY_BYTES = 10


class HotChunk(NamedTuple):
    """How often a chunk was read, its number, and a bit for each page of it that was."""

    times: int
    chunk: int
    pages: int

    def runs(self) -> Iterator[tuple[int, int]]:
        """Offset and length, in bytes, of its pages that were read; neighbours are one."""
        begin = None
        for page in range(PAGES + 1):
            if self.pages >> page & 1:
                begin = page if begin is None else begin
            elif begin is not None:
                yield self.chunk * CHUNK_BYTES + begin * PAGE_BYTES, (page - begin) * PAGE_BYTES
                begin = None


class HotColumns:
    """Slots of a table; one whose count is 0 is free."""

    def __init__(self, slots: int) -> None:
        self.counts = array("I", bytes(4 * slots))
        self.chunks = array("I", bytes(4 * slots))
        self.pages = array("H", bytes(2 * slots))

    def filled(self) -> Iterator[HotChunk]:
        """In the order of the slots."""
        rows = zip(self.counts, self.chunks, self.pages)
        return (HotChunk(*row) for row in rows if row[0])

    def to_bytes(self) -> bytes:
        return b"".join(each.tobytes() for each in (self.counts, self.chunks, self.pages))


def hot_columns(data: bytes) -> HotColumns:
    """What `HotColumns.to_bytes` made; no slots where it is not whole."""
    slots, rest = divmod(len(data), _ENTRY_BYTES)
    columns = HotColumns(0)
    if not rest:
        columns.counts.frombytes(data[: 4 * slots])
        columns.chunks.frombytes(data[4 * slots : 8 * slots])
        columns.pages.frombytes(data[8 * slots :])
    return columns


def hot_chunks(data: bytes) -> list[HotChunk]:
    """The same, hottest first. Chunks of one count come in the order of their hashes: bcache would
    take that of addresses for a sequential run."""
    return hottest_first(hot_columns(data).filled())


def hottest_first(entries: Iterable[HotChunk]) -> list[HotChunk]:
    """What is equal stays in the order that it has."""
    return sorted(entries, key=lambda each: -each.times)

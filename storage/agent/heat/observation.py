"""From traced I/Os to histograms of reuse times: 1/64 of a volume always, or a quarter of it in
three sizes of chunks for some minutes. Pure.

The clock of reuse times counts every reference of the device, also those that are not seen: only
then a reuse time is a size of cache. A reference is one chunk touched by one I/O.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from ..kernel.trace_pages import TracedIo
from .reuse_table import COLD, ReuseTable
from .sequential_runs import SequentialRuns
from .trace_filter import CHUNK_BYTES, CHUNK_SECTORS, LARGE_SECTORS, SECTOR_BYTES, SHARE

FINE_SHARE = 4
PAGE_BYTES, MIB = 4096, 1 << 20
# A reuse time has 32 bits (heat/reuse_table.py).
OCTAVES, PARTS = 32, 16

_kinds: dict[bytes, bool | None] = {}


def is_write(letters: bytes) -> bool | None:
    """By the first two letters that the kernel gives an I/O ("R", "W", "WS", "FW" for a write
    behind a flush); None for a discard, a zone's reset and whatever else moves no data."""
    if letters not in _kinds:
        letter = letters[1:2] if letters[:1] == b"F" else letters[:1]
        _kinds[letters] = {b"R": False, b"W": True}.get(letter)
    return _kinds[letters]


def bucket_of(reuse: int) -> int:
    """Sixteen buckets for each octave of a reuse time of at least 1."""
    octave = reuse.bit_length() - 1
    return PARTS * octave + ((reuse << 4) >> octave) - PARTS


@dataclass(frozen=True)
class Io:
    """What diskstats say of a device between two readings."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0

    def __add__(self, other: Io) -> Io:
        return Io(
            self.reads + other.reads,
            self.read_bytes + other.read_bytes,
            self.writes + other.writes,
            self.write_bytes + other.write_bytes,
        )

    def to_json(self) -> dict[str, int]:
        return {
            "reads": self.reads,
            "writes": self.writes,
            "read_bytes": self.read_bytes,
            "write_bytes": self.write_bytes,
        }


class Histogram:
    """References by the time since the last touch of the same chunk."""

    def __init__(self) -> None:
        self._cold = 0
        self._buckets = array("Q", bytes(8 * PARTS * OCTAVES))

    def count(self, reuse: int, weight: int) -> None:
        if reuse == COLD:
            self._cold += weight
        else:
            self._buckets[bucket_of(reuse)] += weight

    def to_json(self) -> dict[str, Any]:
        buckets = [[index, count] for index, count in enumerate(self._buckets) if count]
        return {"cold": self._cold, "buckets": buckets}


class Stream:
    """References in their order, and the clock that counts them: when each chunk was touched last,
    and what a record says of it."""

    def __init__(self, salt: int) -> None:
        self.clock = 0
        self._table = ReuseTable(salt)
        self.begin()

    def begin(self) -> None:
        """Count from nothing; when each chunk was touched last stays known."""
        self._begun_clock = self.clock
        self._reads_writes = (Histogram(), Histogram())

    def touch(self, chunk: int, clock: int, kind: bool) -> None:
        """`kind`: a write touches it."""
        reuse = self._table.touch(chunk, clock)
        if reuse >= 0:
            self._reads_writes[kind].count(reuse, self._table.weight)

    def to_json(self) -> dict[str, Any]:
        reads, writes = self._reads_writes
        return {
            "clock_before": self._begun_clock,
            "clock": self.clock - self._begun_clock,
            "reuse": {"reads": reads.to_json(), "writes": writes.to_json()},
        }


class Reuse:
    """Reuse times of chunks of one size: of every `share` neighbours the one whose number is
    `residue` modulo `share`. `whole` is of all references. `kept` is of those that bcache lets into
    its cache, with a clock of their own; None as long as that is all of them, so that a volume
    without long runs costs half, and of what is not `on_bcache`."""

    def __init__(
        self, chunk_bytes: int, share: int, residue: int, salt: int, *, on_bcache: bool
    ) -> None:
        self.chunk_bytes = chunk_bytes
        self.chunk_sectors = chunk_bytes // SECTOR_BYTES
        self.share = share
        self.residue = residue
        self._on_bcache = on_bcache
        self.whole = Stream(salt)
        self.kept: Stream | None = None

    def begin(self) -> None:
        """Count from nothing; when each chunk was touched last stays known."""
        self.whole.begin()
        if self.kept is not None:
            self.kept.begin()

    def keep_apart(self) -> None:
        """An I/O is about to be bypassed: up to now, everything was kept."""
        if self.kept is None and self._on_bcache:
            self.kept = deepcopy(self.whole)

    def touch(
        self, first: int, last: int, kind: bool, bypassed: bool, clock: int, kept_clock: int
    ) -> None:
        """An I/O touches the chunks from `first` to `last`; `kind`: it is a write."""
        observed = first + (self.residue - first) % self.share
        if observed > last:
            return
        kept = None if bypassed else self.kept
        for chunk in range(observed, last + 1, self.share):
            self.whole.touch(chunk, clock, kind)
            if kept is not None:
                kept.touch(chunk, kept_clock, kind)

    def to_json(self) -> dict[str, Any]:
        """The part of a record that is of this size of chunks."""
        return {
            "chunk_bytes": self.chunk_bytes,
            "share": self.share,
            **self.whole.to_json(),
            "kept": None if self.kept is None else self.kept.to_json(),
        }


class Sampled:
    """What is always observed of a volume: one of SHARE chunks."""

    def __init__(self, residue: int, salt: int, *, on_bcache: bool = False) -> None:
        self._reuse = Reuse(CHUNK_BYTES, SHARE, residue, salt, on_bcache=on_bcache)
        self._runs = SequentialRuns(is_sampled=True)
        self._debt = self._bypassed_debt = 0
        self.begin()

    def begin(self) -> None:
        self._reuse.begin()
        self._io = self._sequential = Io()

    def add(self, ios: Iterable[TracedIo], passed: Io, begun_ns: int, ended_ns: int) -> None:
        """What was seen, in the order of time, and all that `passed` between two readings of
        diskstats.

        The clock moves on by all I/Os that diskstats counted, less the flushes among them, which
        touch nothing, and by the further chunks of those that touch several: of large ones each is
        seen, of others one in SHARE. In between it is interpolated by time. Two touches within one
        reading are so placed roughly, and no cache is as small as what passes in 2 s."""
        reuse, residue = self._reuse, self._reuse.residue
        further = flushes = around = 0
        seen = []
        for ns, _, sector, sectors, letters in ios:
            kind = is_write(letters)
            if not sectors:
                flushes += 1
            elif kind is not None:
                first, last = sector // CHUNK_SECTORS, (sector + sectors - 1) // CHUNK_SECTORS
                weight = 1 if sectors > LARGE_SECTORS else SHARE * (first % SHARE == residue)
                further += weight * (last - first)
                bypassed = self._runs.bypasses(ns, sector, sectors)
                if bypassed:
                    reuse.keep_apart()
                    around += weight * (last - first + 1)
                    self._sequential += _one(kind, weight, sectors)
                if first + (residue - first) % SHARE <= last:
                    seen.append((ns, first, last, kind, bypassed))
        # Diskstats count an I/O when it is done, or has begun: what is too little now comes later.
        references = passed.reads + passed.writes - flushes + further - self._debt
        self._debt, references = max(0, -references), max(0, references)
        # A small one stands for SHARE, which may be more than there was in so short a time.
        around += self._bypassed_debt
        self._bypassed_debt, around = max(0, around - references), min(around, references)
        span_ns = max(1, ended_ns - begun_ns)
        begun, kept_begun = reuse.whole.clock, 0 if reuse.kept is None else reuse.kept.clock
        for ns, first, last, kind, bypassed in seen:
            past_ns = min(max(0, ns - begun_ns), span_ns)
            clock = begun + references * past_ns // span_ns
            kept_clock = kept_begun + (references - around) * past_ns // span_ns
            reuse.touch(first, last, kind, bypassed, clock, kept_clock)
        reuse.whole.clock += references
        if reuse.kept is not None:
            reuse.kept.clock += references - around
        self._io += passed

    def to_json(self) -> dict[str, Any]:
        return {
            **self._io.to_json(),
            **self._reuse.to_json(),
            "sequential": self._sequential.to_json(),
        }


class Fine:
    """A trace of all I/Os of a volume for some minutes: one of FINE_SHARE chunks of three sizes.
    Each reference is seen, so that the clock is exact."""

    def __init__(self, chunk_bytes: int, salt: int, *, on_bcache: bool = False) -> None:
        self._sizes = [
            Reuse(size, FINE_SHARE, salt % FINE_SHARE, salt, on_bcache=on_bcache)
            for size in sorted({PAGE_BYTES, chunk_bytes, MIB})
        ]
        self._runs = SequentialRuns(is_sampled=False)
        self._io = self._sequential = Io()
        self.events = 0

    def add(self, ios: Iterable[TracedIo], passed: Io) -> None:
        self._io += passed
        for ns, _, sector, sectors, letters in ios:
            self.events += 1
            kind = is_write(letters)
            if kind is None or not sectors:
                continue
            bypassed = self._runs.bypasses(ns, sector, sectors)
            if bypassed:
                self._sequential += _one(kind, 1, sectors)
            for reuse in self._sizes:
                if bypassed:
                    reuse.keep_apart()
                chunk_sectors, whole, kept = reuse.chunk_sectors, reuse.whole, reuse.kept
                first, last = sector // chunk_sectors, (sector + sectors - 1) // chunk_sectors
                whole.clock += last - first + 1
                kept_clock = 0
                if kept is not None:
                    kept.clock += 0 if bypassed else last - first + 1
                    kept_clock = kept.clock
                reuse.touch(first, last, kind, bypassed, whole.clock, kept_clock)

    def to_json(self) -> Sequence[Mapping[str, Any]]:
        """One for each size of chunks."""
        sequential = self._sequential.to_json()
        return [
            {**self._io.to_json(), **reuse.to_json(), "sequential": sequential}
            for reuse in self._sizes
        ]


def _one(kind: bool, weight: int, sectors: int) -> Io:
    size_bytes = weight * sectors * SECTOR_BYTES
    return Io(0, 0, weight, size_bytes) if kind else Io(weight, size_bytes)

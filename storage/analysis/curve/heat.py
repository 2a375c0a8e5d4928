"""What an agent sends of a volume's heat: histograms of reuse times, never addresses. Pure.

A *reference* is one chunk touched by one I/O. The device's *clock* counts references, reads and
writes together. A *reuse time* is how far the clock moved since the same chunk was last touched; a
reference without one is *cold*: its chunk was not touched since observation of it began.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Final

import msgspec

from storage.host_data import Count, decoded

BUCKETS_PER_OCTAVE: Final = 16
LAST_BUCKET: Final = 63 * BUCKETS_PER_OCTAVE - 1
MOST_LOST: Final = 0.01
"""A record that lost a greater part of its references is left out: what is lost makes reuse times
longer and chunks cold."""
LATE_SHARE: Final = 0.1
"""A record that begins later than this part of an hour's record after the last one ended does not
continue it."""
NS: Final = 1_000_000_000
RENEWED_NS: Final = 86_400 * NS
"""After so long the agent observes other chunks."""
SMALLEST_IO_BYTES: Final = 4096
"""The usual alignment of I/O of guests."""

Bucket = Annotated[int, msgspec.Meta(ge=0, le=LAST_BUCKET)]
OneOrMore = Annotated[int, msgspec.Meta(ge=1, le=2**40)]


@dataclass(frozen=True, slots=True)
class ReuseTimes:
    """Numbers of observed references: `cold` ones, and (index, number) of each bucket of reuse
    times that is not empty (`bucket_bounds`)."""

    cold: Count
    buckets: tuple[tuple[Bucket, Count], ...]

    @property
    def total(self) -> int:
        return self.cold + sum(number for _, number in self.buckets)

    @property
    def longest(self) -> float:
        """The longest reuse time for certain: the lower bound of its bucket; 0 without any."""
        return max((bucket_bounds(index)[0] for index, n in self.buckets if n), default=0.0)


@dataclass(frozen=True, slots=True)
class ReuseByKind:
    """The reuse times of reads and those of writes."""

    reads: ReuseTimes
    writes: ReuseTimes


@dataclass(frozen=True, slots=True)
class SequentialIos:
    """The I/Os that bcache's rule would bypass at a cutoff of 4 MiB."""

    reads: Count = 0
    read_bytes: Count = 0
    writes: Count = 0
    write_bytes: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRecord:
    """One volume in one hour, or in one fine trace. One of `share` chunks was observed. `reads`,
    `writes` and their bytes are of all I/Os of the device; `clock` is how many references passed.
    `lost` events never reached the agent."""

    begun_ns: Count
    seconds: OneOrMore
    chunk_bytes: OneOrMore
    share: OneOrMore
    reads: Count
    writes: Count
    read_bytes: Count
    write_bytes: Count
    clock: Count
    sequential: SequentialIos
    reuse: ReuseByKind
    lost: Count = 0

    @property
    def observed(self) -> int:
        """References of the chunks that were observed."""
        return self.reuse.reads.total + self.reuse.writes.total

    @property
    def is_usable(self) -> bool:
        """False where too much of it was lost, and where nothing was seen."""
        return self.observed > 0 < self.clock and (
            self.lost <= MOST_LOST * (self.lost + self.observed)
        )

    @property
    def read_references(self) -> float:
        """The part of the clock that is reads."""
        reads = references(self.reads, self.read_bytes, self.chunk_bytes)
        writes = references(self.writes, self.write_bytes, self.chunk_bytes)
        return self.clock * reads / (reads + writes) if reads + writes else 0.0

    @property
    def sequential_reads(self) -> float:
        """References of reads that bcache would bypass."""
        runs, chunk = self.sequential, self.chunk_bytes
        in_runs = references(runs.reads, runs.read_bytes, chunk)
        total = references(self.reads, self.read_bytes, chunk)
        return self.read_references * min(1.0, in_runs / total) if total else 0.0

    @property
    def sequential_writes(self) -> float:
        """References of writes that bcache would bypass."""
        runs, chunk = self.sequential, self.chunk_bytes
        in_runs = references(runs.writes, runs.write_bytes, chunk)
        total = references(self.writes, self.write_bytes, chunk)
        writes = self.clock - self.read_references
        return writes * min(1.0, in_runs / total) if total else 0.0


@dataclass(frozen=True, slots=True)
class Observed:
    """A record, and how far the clock had moved since observation began when the record did
    (`age_before`): no reuse time can be longer than that and the record's own clock."""

    record: HeatRecord
    age_before: int

    def references_older_than(self, age: float) -> float:
        """How many of the record's references came when observation was older than `age`."""
        return max(0.0, min(self.record.clock, self.age_before + self.record.clock - age))


def heat_record(data: object) -> HeatRecord:
    """What an agent sent, checked; raises `storage.host_data.BadHostData`."""
    return decoded(data, HeatRecord, "heat")


@cache
def bucket_bounds(index: int) -> tuple[float, float]:
    """The reuse times of a bucket: from the first, up to and without the second. Sixteen to each
    power of two."""
    octave, part = divmod(index, BUCKETS_PER_OCTAVE)
    low, step = float(2**octave), 2**octave / BUCKETS_PER_OCTAVE
    return low + part * step, low + (part + 1) * step


def references(ios: int, size_bytes: int, chunk_bytes: int) -> float:
    """How many chunks so many I/Os touch, at any alignment to 4 KiB."""
    return ios + max(0, size_bytes - ios * SMALLEST_IO_BYTES) / chunk_bytes


def observed(records: Iterable[HeatRecord]) -> list[Observed]:
    """The usable records in the order of time, with the age of observation.

    Records do not say when observation began. It begins anew after a pause, and after a day, when
    the agent chooses other chunks. The day ends for certain where reuse times longer than a record
    are gone that the one before had; it goes on where there are such.
    """
    usable = sorted(
        (record for record in records if record.is_usable), key=lambda record: record.begun_ns
    )
    observations, begun_ns = list[Observed](), 0
    for n, record in enumerate(usable):
        if n and _continues(usable[n - 1], record, begun_ns):
            age = observations[-1].age_before + usable[n - 1].clock
        else:
            age, begun_ns = 0, record.begun_ns
        observations.append(Observed(record, age))
    return observations


def _continues(before: HeatRecord, record: HeatRecord, begun_ns: int) -> bool:
    """Whether the observation that began at `begun_ns` goes on."""
    late_ns = record.begun_ns - before.begun_ns - before.seconds * NS
    if late_ns > LATE_SHARE * before.seconds * NS:
        return False
    if (before.chunk_bytes, before.share) != (record.chunk_bytes, record.share):
        return False
    if _reaches_back(record):
        return True
    return not _reaches_back(before) and record.begun_ns - begun_ns < RENEWED_NS


def _reaches_back(record: HeatRecord) -> bool:
    """Whether a reuse time is longer than the record, so that observation began before it."""
    reuse = record.reuse
    return max(reuse.reads.longest, reuse.writes.longest) > record.clock

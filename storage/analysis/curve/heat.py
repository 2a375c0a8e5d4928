"""What an agent sends of a volume's heat: histograms of reuse times, never addresses. Pure.

A *reference* is one chunk touched by one I/O. The device's *clock* counts references, reads and
writes together. A *reuse time* is how far the clock moved since the same chunk was last touched; a
reference without one is *cold*: its chunk was not touched since observation of it began.
Observation begins anew after a pause, and after a day, when the agent chooses other chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Final

import msgspec

from storage.host_data import Count, decoded

BUCKETS_PER_OCTAVE: Final = 16
LAST_BUCKET: Final = 63 * BUCKETS_PER_OCTAVE - 1
MOST_LOST: Final = 0.01
"""A record that lost a greater part of its references is left out: what is lost makes reuse times
longer and chunks cold."""
NS: Final = 1_000_000_000
SMALLEST_IO_BYTES: Final = 4096
"""The usual alignment of I/O of guests."""

Bucket = Annotated[int, msgspec.Meta(ge=0, le=LAST_BUCKET)]
OneOrMore = Annotated[int, msgspec.Meta(ge=1, le=2**40)]


@dataclass(frozen=True, slots=True)
class ReuseTimes:
    """Numbers of observed references: `cold` ones, and (index, number) of each bucket of reuse
    times that is not empty (`bucket_bounds`)."""

    cold: Count
    buckets: Annotated[tuple[tuple[Bucket, Count], ...], msgspec.Meta(max_length=LAST_BUCKET + 1)]

    @property
    def total(self) -> int:
        return self.cold + sum(number for _, number in self.buckets)


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
class RecordedStream:
    """References with a clock that counts them: so many passed since observation began, and in the
    record's time."""

    clock_before: Count
    clock: Count
    reuse: ReuseByKind

    def references_older_than(self, age: float) -> float:
        """How many of them came when observation was older than `age`: no other one can have a
        longer reuse time."""
        return max(0.0, min(self.clock, self.clock_before + self.clock - age))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRecord(RecordedStream):
    """One volume in one hour, or in one fine trace. One of `share` chunks was observed. `reads`,
    `writes` and their bytes are of all I/Os of the device. `kept` is the stream of those that
    bcache lets into its cache; None: of all. `lost` events never reached the agent."""

    begun_ns: Count
    seconds: OneOrMore
    chunk_bytes: OneOrMore
    share: OneOrMore
    reads: Count
    writes: Count
    read_bytes: Count
    write_bytes: Count
    sequential: SequentialIos
    kept: RecordedStream | None
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
    def let_in(self) -> RecordedStream:
        """What bcache lets in."""
        return self if self.kept is None else self.kept

    @property
    def read_references(self) -> float:
        """The part of the clock that is reads."""
        return self.clock * self._read_share(SequentialIos())

    @property
    def let_in_reads(self) -> float:
        """The part of the clock of what bcache lets in that is reads."""
        return self.let_in.clock * self._read_share(self.sequential)

    def _read_share(self, without: SequentialIos) -> float:
        reads = references(
            max(0, self.reads - without.reads),
            max(0, self.read_bytes - without.read_bytes),
            self.chunk_bytes,
        )
        writes = references(
            max(0, self.writes - without.writes),
            max(0, self.write_bytes - without.write_bytes),
            self.chunk_bytes,
        )
        return reads / (reads + writes) if reads + writes else 0.0


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


def usable(records: Iterable[HeatRecord]) -> list[HeatRecord]:
    """Those that can be counted on, in the order of time."""
    kept = (record for record in records if record.is_usable)
    return sorted(kept, key=lambda record: record.begun_ns)


def observations(records: Sequence[HeatRecord]) -> int:
    """In how many choices of chunks the records, in the order of time, were observed."""
    return 1 + sum(
        later.clock_before <= earlier.clock_before for earlier, later in pairwise(records)
    )

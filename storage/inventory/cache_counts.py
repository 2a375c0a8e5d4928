"""What caches count themselves, each counter described once.

From here the agent's reply is decoded, differences are taken, PostgreSQL and the packed chunks get
their columns, `/metrics` its families, the API its series and the page of raw counters its rows.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Annotated, Any, Final, get_type_hints

from storage.host_data import U32, U64


class Bound(Enum):
    """The most that a counter can add in an interval."""

    READS = "the reads of the volume"
    WRITES = "its writes"
    MOVES = "its reads and writes, and as many chunks as the cache has"


READS, WRITES, MOVES = Bound


@dataclass(frozen=True, slots=True)
class CacheCounter:
    """`unit` is what one of it stands for. `number` is that of its column in chunks, which no other
    one ever had (`storage.metrics.samples.columns.NUMBERS`); `column` its name, where it is not
    that of the wire. With a `text` it is exposed at /metrics. With `has_rate` a volume's series has
    it as `<column>_per_s`; the others are part of figures that have a formula."""

    unit: str
    number: int
    bound: Bound
    text: str = ""
    has_rate: bool = False
    column: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DmCacheCounts:
    """Of a dm-cache: accesses, which are I/O split at chunk borders, and chunks that moved. Totals
    as the kernel prints them, modulo 2^32, or what an interval added. One that an older agent does
    not send is None."""

    read_hits: Annotated[U32, CacheCounter("accesses", 10, READS, "Reads that the SSD answered.")]
    read_misses: Annotated[U32, CacheCounter("accesses", 11, READS, "Reads from the slow disk.")]
    write_hits: Annotated[U32, CacheCounter("accesses", 12, WRITES, "Writes to cached blocks.")]
    write_misses: Annotated[U32, CacheCounter("accesses", 13, WRITES, "Writes to other blocks.")]
    promotions: Annotated[
        U32, CacheCounter("chunks", 15, MOVES, "Chunks that came into the cache.", has_rate=True)
    ]
    demotions: Annotated[
        U32, CacheCounter("chunks", 14, MOVES, "Chunks that left the cache.", has_rate=True)
    ]


_LOSSY: Final = "accesses, loses counts under load"


@dataclass(frozen=True, slots=True, kw_only=True)
class BcacheCounts:
    """Of a bcache, its `stats_total` of reads alone: totals, or what an interval added. It loses
    counts above 4,806/s (each 13.64 s fold drops all above 16 bits). So they show which share of
    reads went by the cache, and only where none can be lost; never how many there were."""

    hits: Annotated[U64, CacheCounter(_LOSSY, 47, READS, column="counted_hits")]
    misses: Annotated[U64, CacheCounter(_LOSSY, 48, READS, column="counted_misses")]
    bypass_hits: Annotated[U64, CacheCounter(_LOSSY, 49, READS)]
    bypass_misses: Annotated[U64, CacheCounter(_LOSSY, 50, READS)]


CacheCounts = DmCacheCounts | BcacheCounts


def _described(counts: type[CacheCounts]) -> dict[str, CacheCounter]:
    hints = get_type_hints(counts, include_extras=True)
    return {
        field.name: replace(each, column=each.column or field.name)
        for field in fields(counts)
        for each in hints[field.name].__metadata__
        if isinstance(each, CacheCounter)
    }


COUNTERS: Final[Mapping[type[CacheCounts], Mapping[str, CacheCounter]]] = {
    counts: _described(counts) for counts in (DmCacheCounts, BcacheCounts)
}
"""By the name on the wire."""
COLUMNS: Final = {
    each.column: each for described in COUNTERS.values() for each in described.values()
}


def by_column(counts: CacheCounts | None) -> dict[str, Any]:
    """The counts under the names of their columns."""
    if counts is None:
        return {}
    kind = DmCacheCounts if isinstance(counts, DmCacheCounts) else BcacheCounts
    return {each.column: getattr(counts, name) for name, each in COUNTERS[kind].items()}

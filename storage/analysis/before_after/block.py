"""A block: the sums of one part of a window, the unit that is compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from storage.metrics.rates.figures import MIN_ACCESSES, NO_LATENCY

LEAST_ACCESSES: Final = MIN_ACCESSES
"""A block with fewer reads says nothing of a hit rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`at` is its start in seconds of the epoch; `dt_ms` how much of it has figures. `accesses` are
    the reads that a cache could have served and `hits` those that one did: without a cache, none
    of them. Reads whose counters are unknown (the interval in which a cache came) are in neither.
    `counts` is the latency histogram of reads and writes, all zero where none is kept (bcache)."""

    at: int
    dt_ms: int
    reads: int
    read_ms: int
    accesses: int
    hits: float
    counts: tuple[int, ...] = NO_LATENCY

    @property
    def hit_rate(self) -> float:
        """The share of reads served from SSD, 0 to 1; ask only where there are accesses."""
        return min(1.0, self.hits / self.accesses)

    @property
    def is_used(self) -> bool:
        """True where it holds enough reads to be compared."""
        return self.accesses >= LEAST_ACCESSES

    def to_json(self) -> dict[str, Any]:
        """As it is kept; `from_json` reads it."""
        return {**asdict(self), "hits": round(self.hits, 2), "counts": list(self.counts)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**{**data, "counts": tuple(data["counts"])})


def total(blocks: Iterable[Block]) -> Block:
    """All in one; it begins with the first. Raises ValueError without any."""
    found = list(blocks)
    if not found:
        raise ValueError("no blocks")
    return Block(
        at=min(block.at for block in found),
        dt_ms=sum(block.dt_ms for block in found),
        reads=sum(block.reads for block in found),
        read_ms=sum(block.read_ms for block in found),
        accesses=sum(block.accesses for block in found),
        hits=sum(block.hits for block in found),
        counts=tuple(map(sum, zip(*(block.counts for block in found), strict=True))),
    )

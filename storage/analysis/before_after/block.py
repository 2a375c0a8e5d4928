"""A block: the sums of one part of a window, the unit that is compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import floor
from typing import Any, Final, Self

from storage.metrics.rates.figures import MIN_ACCESSES, NO_LATENCY
from storage.metrics.rates.warming import LEAST_PARTS, CachePart, learning

LEAST_ACCESSES: Final = MIN_ACCESSES
"""A block with fewer reads says nothing of a hit rate, one with fewer writes nothing of their
time."""


DAY: Final = 86_400
WEEK: Final = 7 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`at` is its start in seconds of the epoch; `dt_ms` how much of it has figures. `accesses` are
    the reads that a cache could have served and `hits` those that one did: without a cache, none
    of them. Reads whose counters are unknown (the interval in which a cache came) are in neither.
    Blocks that were kept before writes were looked at have none. `counts` is the latency histogram
    of reads and writes, all zero where none is kept (bcache). At its end `used_bytes` of the
    cache's `cache_size_bytes` held data; None where unknown."""

    at: int
    dt_ms: int
    reads: int
    read_ms: int
    accesses: int
    hits: float
    writes: int = 0
    write_ms: int = 0
    counts: tuple[int, ...] = NO_LATENCY
    used_bytes: int | None = None
    cache_size_bytes: int | None = None

    @property
    def hit_rate(self) -> float:
        """The share of reads served from SSD, 0 to 1; ask only where there are accesses."""
        return min(1.0, self.hits / self.accesses)

    @property
    def is_used(self) -> bool:
        """True where it holds enough reads to be compared."""
        return self.accesses >= LEAST_ACCESSES

    @property
    def is_written(self) -> bool:
        """True where it holds enough writes to be compared."""
        return self.writes >= LEAST_ACCESSES

    def to_json(self) -> dict[str, Any]:
        """As it is kept; `from_json` reads it."""
        return {**asdict(self), "hits": round(self.hits, 2), "counts": list(self.counts)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**{**data, "counts": tuple(data["counts"])})


def total(blocks: Iterable[Block]) -> Block:
    """All in one; it begins with the first. Raises ValueError without any."""
    parts = list(blocks)
    if not parts:
        raise ValueError("no blocks")
    return Block(
        at=min(block.at for block in parts),
        dt_ms=sum(block.dt_ms for block in parts),
        reads=sum(block.reads for block in parts),
        read_ms=sum(block.read_ms for block in parts),
        accesses=sum(block.accesses for block in parts),
        hits=sum(block.hits for block in parts),
        writes=sum(block.writes for block in parts),
        write_ms=sum(block.write_ms for block in parts),
        counts=tuple(map(sum, zip(*(block.counts for block in parts), strict=True))),
    )


Pair = tuple[Block, Block]
"""Before, after."""
SHORTEST_PERIOD: Final = DAY


def period_seconds(window_seconds: float) -> int | None:
    """The period of a guest's load: a week in windows of whole weeks, a day in windows of whole
    days; None in shorter windows, which cannot show one."""
    if window_seconds >= WEEK:
        return WEEK
    return SHORTEST_PERIOD if window_seconds >= SHORTEST_PERIOD else None


def pairs(
    before: Sequence[Block], after: Sequence[Block], period: int | None, *, of_writes: bool = False
) -> list[Pair]:
    """The pairs in the order of time after the change, of blocks with enough reads, or writes:
    those of the same hour of the period, the first with the first; without a period, simply in
    their order."""
    waiting: dict[int, list[Block]] = {}
    for block in sorted(before, key=lambda block: block.at):
        if block.is_written if of_writes else block.is_used:
            waiting.setdefault(block.at % period if period else 0, []).append(block)
    paired = []
    for block in sorted(after, key=lambda block: block.at):
        candidates = waiting.get(block.at % period if period else 0)
        if candidates and (block.is_written if of_writes else block.is_used):
            paired.append((candidates.pop(0), block))
    return paired


HOUR: Final = 3600
BLOCKS: Final = 12
"""A window has at least so many blocks, where samples come often enough."""


def block_seconds(window_seconds: int, sample_seconds: int) -> int:
    """An hour in long windows, so that hours of the day can be paired; never shorter than the time
    between two samples, which no block could tell apart."""
    return max(sample_seconds, min(HOUR, window_seconds // BLOCKS))


def before_window(
    limit: datetime, end: datetime, window_seconds: int, block: int
) -> tuple[datetime, datetime]:
    """The window before a change that began at `end`, at most `window_seconds` long, and nothing of
    it before `limit`. From a day on it is whole days (from a week on, whole weeks) that begin and
    end with an hour; shorter ones are whole blocks. It is empty where not one fits."""
    hour = datetime.fromtimestamp(floor(end.timestamp() / HOUR) * HOUR, tz=end.tzinfo)
    length = min(window_seconds, (hour - limit).total_seconds())
    if length >= DAY:
        whole = WEEK if length >= WEEK else DAY
        return hour - timedelta(seconds=length // whole * whole), hour
    length = min(window_seconds, max(0.0, (end - limit).total_seconds()))
    return end - timedelta(seconds=length // block * block), end


def is_warm(blocks: Sequence[Block]) -> bool:
    """Whether the cache was warm in the last blocks. A cache without reads learns nothing, and is
    never called warm, however little it takes in."""
    learnt = learning(
        [
            CachePart(n, block.accesses, block.hits, block.used_bytes, block.cache_size_bytes)
            for n, block in enumerate(blocks[-LEAST_PARTS:])
        ]
    )
    return bool(learnt.is_flat and learnt.is_warm)


def warm_from(blocks: Sequence[Block]) -> int | None:
    """How many of the blocks since the change it took until the cache was warm, None where it
    still is not. The blocks are in the order of time; those without any sample are left out."""
    return next((n for n in range(LEAST_PARTS, len(blocks) + 1) if is_warm(blocks[:n])), None)

"""The counters of a run's devices over time: of what fio has (`top`), of the slow and the fast
device behind it, of the cache, and of the CPUs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from storage.byte_sizes import MIB, SECTOR_BYTES
from storage.host_data import INT_LIMIT, BadHostData

MOST_BYTES: Final = 66 * MIB
MOST_ROWS: Final = 400_000
Floats = npt.NDArray[np.float64]
Counter = Annotated[int, Meta(ge=0, le=INT_LIMIT)]


class LegCounters(Struct, frozen=True):
    reads: Counter | None = None
    read_sectors: Counter | None = None
    writes: Counter | None = None
    written_sectors: Counter | None = None


class CacheCounters(Struct, frozen=True):
    promotions: Counter | None = None
    demotions: Counter | None = None
    chunk_bytes: Counter | None = None


class CpuTicks(Struct, frozen=True):
    busy: Counter | None = None
    total: Counter | None = None


class LegRow(Struct, frozen=True):
    ms: Annotated[int, Meta(ge=0, le=2**40)]
    top: LegCounters = LegCounters()
    slow: LegCounters = LegCounters()
    fast: LegCounters = LegCounters()
    meta: LegCounters = LegCounters()
    cache: CacheCounters = CacheCounters()
    cpu: CpuTicks = CpuTicks()


@dataclass(frozen=True, slots=True)
class LegRows:
    """Rows in order of time. Counters are cumulative; NaN where a row has none."""

    rows: tuple[LegRow, ...]

    @property
    def ms(self) -> Floats:
        return np.array([row.ms for row in self.rows], float)

    @property
    def last_ms(self) -> int:
        return self.rows[-1].ms if self.rows else 0

    @property
    def chunk_bytes(self) -> int:
        """Of a cache that promotes whole chunks; 0 for others."""
        return next((row.cache.chunk_bytes for row in self.rows if row.cache.chunk_bytes), 0) or 0

    def counter(self, leg: str, name: str) -> Counted | None:
        """None where no row has it, or it ran backwards."""
        values = [getattr(getattr(row, leg), name) for row in self.rows]
        known = [(row.ms, value) for row, value in zip(self.rows, values, strict=True)
                 if value is not None]  # fmt: skip
        if len(known) < 2:
            return None
        times, counts = (np.array(each, float) for each in zip(*known, strict=True))
        return None if (np.diff(counts) < 0).any() else Counted(times, counts - counts[0])

    def renewed(self, name: str) -> Counted | None:
        """A counter of the cache, which the host renews more seldom than it writes rows: by the
        rows alone in which it is another."""
        counted = self.counter("cache", name)
        if counted is None:
            return None
        kept = np.concatenate([[True], np.diff(counted.counts) > 0])
        kept[-1] = True
        return Counted(counted.ms[kept], counted.counts[kept])


@dataclass(frozen=True, slots=True)
class Counted:
    """How much was counted by a time, from 0 at the first row on."""

    ms: Floats
    counts: Floats

    @property
    def total(self) -> float:
        return float(self.counts[-1])

    def at(self, edges_ms: Floats) -> Floats:
        return np.interp(edges_ms, self.ms, self.counts)


def legs_of(content: bytes) -> LegRows:
    """legs.jsonl; a run that was killed may have left half a row at its end. Raises
    `BadHostData`."""
    if len(content) > MOST_BYTES:
        raise BadHostData(f"legs.jsonl: {len(content)} bytes, and {MOST_BYTES} are the most")
    lines = content.split(b"\n")
    if len(lines) > MOST_ROWS:
        raise BadHostData(f"legs.jsonl: more than {MOST_ROWS} rows")
    decoder = msgspec.json.Decoder(LegRow)
    rows: list[LegRow] = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadHostData(f"legs.jsonl, row {number}: {error}") from None
        if rows and row.ms < rows[-1].ms:
            raise BadHostData(f"legs.jsonl, row {number}: it is earlier than the one before")
        rows.append(row)
    return LegRows(tuple(rows))


@dataclass(frozen=True, slots=True)
class Reads:
    """Bytes that the volume read and those of them that the slow disk had to give, by a time."""

    all: Counted
    missed: Floats

    def hit_rate(self, edges_ms: Floats) -> Floats:
        """Between each two of some times; NaN where nothing was read."""
        read = np.diff(self.all.at(edges_ms))
        missed = np.diff(np.interp(edges_ms, self.all.ms, self.missed))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.clip(np.where(read > 0, 1 - missed / read, np.nan), 0.0, 1.0)

    def between(self, start_ms: float, end_ms: float) -> float | None:
        """The hit rate of a time; None where nothing was read."""
        rate = float(self.hit_rate(np.array([start_ms, end_ms]))[0])
        return None if np.isnan(rate) else rate


def reads_of(legs: LegRows) -> Reads | None:
    """From the legs, without what the cache itself reads to promote chunks; None where they do not
    tell."""
    top, slow = legs.counter("top", "read_sectors"), legs.counter("slow", "read_sectors")
    if top is None or slow is None:
        return None
    missed = slow.at(top.ms) * SECTOR_BYTES
    promotions = legs.renewed("promotions")
    if promotions is not None:
        missed = np.maximum(0.0, missed - promotions.at(top.ms) * legs.chunk_bytes)
    return Reads(Counted(top.ms, top.counts * SECTOR_BYTES), missed)

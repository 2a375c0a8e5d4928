"""Traces of references, the heat that an agent makes of them, and what an LRU cache serves of them.

A trace is an array of chunks and one of which references are writes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2

import numpy as np
import numpy.typing as npt

from storage.analysis.curve.heat import (
    HeatRecord,
    RecordedStream,
    ReuseByKind,
    ReuseTimes,
    SequentialIos,
)

CHUNK_BYTES = 65536
NS = 1_000_000_000
Chunks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    chunks: Chunks
    is_write: npt.NDArray[np.bool_]
    volume_chunks: int

    @property
    def volume_bytes(self) -> int:
        return self.volume_chunks * CHUNK_BYTES

    def __len__(self) -> int:
        return len(self.chunks)

    def part(self, begin: int, end: int) -> Trace:
        return Trace(self.chunks[begin:end], self.is_write[begin:end], self.volume_chunks)


def zipf_ranks(random: np.random.Generator, n: int, of: int, theta: float) -> Chunks:
    """`n` ranks of `of`, rank r with a weight of (r + 1) ** -theta."""
    cumulative = np.cumsum(np.arange(1, of + 1, dtype=float) ** -theta)
    return np.searchsorted(cumulative, random.random(n) * cumulative[-1])


def zipf(random: np.random.Generator, n: int, of: int, theta: float) -> Chunks:
    """References to `of` chunks whose ranks lie anywhere."""
    ranks = zipf_ranks(random, n, of, theta)
    return random.permutation(of)[ranks]


def mixed(random: np.random.Generator, shares: Sequence[float], parts: Sequence[Chunks]) -> Chunks:
    """References of several programs at once: of each so large a share, in its own order."""
    n = min(len(part) for part in parts)
    which = random.choice(len(parts), size=n, p=shares)
    chunks = np.empty(n, dtype=np.int64)
    for number, part in enumerate(parts):
        mine = which == number
        chunks[mine] = part[: int(mine.sum())]
    return chunks


def zipf_load(theta: float, n: int, volume: int, seed: int = 1) -> Trace:
    random = np.random.default_rng(seed)
    return Trace(zipf(random, n, volume, theta), random.random(n) < 0.2, volume)


def uniform_load(n: int, volume: int, seed: int = 1) -> Trace:
    random = np.random.default_rng(seed)
    return Trace(random.integers(0, volume, n), random.random(n) < 0.2, volume)


def scan_load(n: int, volume: int, seed: int = 1) -> Trace:
    """Three tenths read the whole volume in turn; the others go to a hot tenth of it."""
    random = np.random.default_rng(seed)
    hot = random.permutation(volume)[zipf(random, n, volume // 10, 0.9)]
    chunks = mixed(random, (0.7, 0.3), (hot, np.arange(n) % volume))
    return Trace(chunks, random.random(n) < 0.2, volume)


def journal_load(n: int, volume: int, seed: int = 1) -> Trace:
    """Small writes go round a journal, sixteen to each chunk; reads are zipf 0.9."""
    random = np.random.default_rng(seed)
    journal = np.arange(n) // 16 % (volume // 32)
    chunks = mixed(random, (0.4, 0.6), (journal, zipf(random, n, volume, 0.9)))
    return Trace(chunks, chunks < volume // 32, volume)


def databases_load(n: int, volume: int, seed: int = 1) -> Trace:
    """Index pages that are always hot, a table with zipf 1.1, and a heap that is read anywhere."""
    random = np.random.default_rng(seed)
    parts = (
        random.integers(0, volume // 200, n),
        zipf(random, n, volume // 2, 1.1),
        random.integers(0, volume, n),
    )
    return Trace(mixed(random, (0.4, 0.4, 0.2), parts), random.random(n) < 0.3, volume)


def bucket_index(time: int) -> int:
    """The contract's index of a reuse time."""
    octave = floor(log2(time))
    return 16 * octave + floor(16 * (time / 2**octave - 1))


class _Observing:
    """A stream whose chunks are observed, from its first reference on."""

    def __init__(self) -> None:
        self.clock = 0
        self._last: dict[int, int] = {}
        self.begin()

    def begin(self) -> None:
        self._begun = self.clock
        self._cold, self._buckets = [0, 0], (Counter[int](), Counter[int]())

    def touch(self, chunk: int, at: int, kind: int) -> None:
        if chunk in self._last:
            self._buckets[kind][bucket_index(at - self._last[chunk])] += 1
        else:
            self._cold[kind] += 1
        self._last[chunk] = at

    def stream(self) -> RecordedStream:
        reads, writes = (
            ReuseTimes(cold, tuple(sorted(buckets.items())))
            for cold, buckets in zip(self._cold, self._buckets, strict=True)
        )
        return RecordedStream(
            clock_before=self._begun,
            clock=self.clock - self._begun,
            reuse=ReuseByKind(reads, writes),
        )


def heat(
    trace: Trace,
    *,
    share: int = 64,
    hours: int = 1,
    begun_ns: int = 0,
    seconds: int = 3600,
    offset: int = 5,
    bypassed: npt.NDArray[np.bool_] | None = None,
) -> Iterator[HeatRecord]:
    """What an agent says of a trace: one of `share` chunks is observed, chosen by bits of the
    address, from the first reference on; the clock counts all. `bypassed` are the references that
    bcache does not let in."""
    whole, kept = _Observing(), _Observing()
    around = np.zeros(len(trace), dtype=bool) if bypassed is None else bypassed
    kept_clock = np.cumsum(~around)
    borders = np.linspace(0, len(trace), hours + 1).astype(int)
    for hour in range(hours):
        begin, end = int(borders[hour]), int(borders[hour + 1])
        chosen = np.flatnonzero(trace.chunks[begin:end] % share == offset % share) + begin
        for at, chunk in zip(chosen.tolist(), trace.chunks[chosen].tolist(), strict=True):
            kind = int(trace.is_write[at])
            whole.touch(chunk, at, kind)
            if not around[at]:
                kept.touch(chunk, int(kept_clock[at]), kind)
        whole.clock, kept.clock = end, int(kept_clock[end - 1]) if end else 0
        writes = int(trace.is_write[begin:end].sum())
        reads = end - begin - writes
        bypassed_writes = int((trace.is_write & around)[begin:end].sum())
        bypassed_reads = int(around[begin:end].sum()) - bypassed_writes
        both = whole.stream()
        yield HeatRecord(
            begun_ns=begun_ns + hour * seconds * NS,
            seconds=seconds,
            chunk_bytes=CHUNK_BYTES,
            share=share,
            reads=reads,
            writes=writes,
            read_bytes=reads * 4096,
            write_bytes=writes * 4096,
            clock_before=both.clock_before,
            clock=both.clock,
            reuse=both.reuse,
            sequential=SequentialIos(
                bypassed_reads, bypassed_reads * 4096, bypassed_writes, bypassed_writes * 4096
            ),
            kept=None if bypassed is None else kept.stream(),
        )
        whole.begin()
        kept.begin()


def stack_distances(chunks: Sequence[int]) -> list[int]:
    """How many other chunks were touched since the last touch of the same one, -1 for the first:
    exact, by a Fenwick tree over the references (Mattson et al. 1970; Bennett and Kruskal 1975). An
    LRU cache of more chunks than that serves the reference."""
    n = len(chunks)
    tree, last, distances = [0] * (n + 1), dict[int, int](), list[int]()
    for at, chunk in enumerate(chunks, start=1):
        before = last.get(chunk)
        if before is None:
            distances.append(-1)
        else:
            distance, i = 0, at - 1
            while i:
                distance += tree[i]
                i &= i - 1
            i = before
            while i:
                distance -= tree[i]
                i &= i - 1
            distances.append(distance)
            i = before
            while i <= n:
                tree[i] -= 1
                i += i & -i
        last[chunk], i = at, at
        while i <= n:
            tree[i] += 1
            i += i & -i
    return distances


def hit_rates(trace: Trace, sizes: Sequence[int], warm_after: int = 0) -> dict[str, list[float]]:
    """The share of hits of an LRU cache of so many chunks, of all references after `warm_after`:
    of reads, of writes and of both."""
    distances = np.array(stack_distances(trace.chunks.tolist()))[warm_after:]
    is_write = trace.is_write[warm_after:]
    known = distances >= 0
    return {
        name: [float(np.mean((known & (distances < size))[which])) for size in sizes]
        for name, which in (
            ("reads", ~is_write),
            ("writes", is_write),
            ("both", np.full(len(distances), True)),
        )
        if which.any()
    }


def played(trace: Trace, size: int, warm_after: int = 0) -> float:
    """The same of one size, by playing the cache: faster where only one is asked for."""
    cache, hits = OrderedDict[int, None](), 0
    for at, chunk in enumerate(trace.chunks.tolist()):
        hits += chunk in cache and at >= warm_after
        cache[chunk] = None
        cache.move_to_end(chunk)
        if len(cache) > size:
            cache.popitem(last=False)
    return hits / (len(trace) - warm_after)

"""When a cache is warm: the one definition, which staff, customers and proofs share.

A cache begins empty and learns what its guest reads. Until then its figures understate its final
effect. It is warm once neither its hit rate nor what it holds grows any more, and also, however
little of it is used, once it serves nearly all reads and misses no longer become fewer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_PARTS: Final = 6
"""Fewer parts are a moment: nothing in them shows growth."""
LEAST_READS: Final = 300
"""A half with fewer reads may look flat by chance."""
STEADY_RISE: Final = 0.03
"""A hit rate that rises by less is flat."""
STEADY_GROWTH: Final = 0.01
"""A cache that grew by less of its size is as full as its guest makes it."""
FULL: Final = 0.95
"""A cache with more of its size in use is full, whatever it takes in."""
NEARLY_ALL: Final = 0.95
"""The hit rate from which what a cache still takes in changes little."""
HARDLY_ANY: Final = 0.01
"""Fewer misses than this share of the reads are no sign of learning."""
STEADY_MISSES: Final = 0.75
"""The share of misses has stopped falling if this much of it is left in the later half."""
LEFT_OF_FILL: Final = 0.5
"""What less of a cache than this is left of its fill is another cache, which began empty."""


@dataclass(frozen=True, slots=True)
class CachePart:
    """What a cache did in the part `n` of a time, all parts being equally long: the `reads` that it
    could have served and the `hits` that it did serve. The bytes are those at the end, None where
    unknown."""

    n: int
    reads: float
    hits: float
    used_bytes: float | None
    cache_size_bytes: float | None


@dataclass(frozen=True, slots=True)
class Learning:
    """How the later half of a time stands against the earlier one; None = unknown. `fill` is the
    share of the cache in use, `growth` how much of it was added in the last `growth_parts` parts,
    `rise` the change of the hit rate, which is `hit_rate` in the later half; all of 1."""

    fill: float | None
    growth: float | None
    growth_parts: int
    rise: float | None
    hit_rate: float | None

    @property
    def is_flat(self) -> bool | None:
        """Whether the hit rate has stopped rising; a falling one has."""
        return None if self.rise is None else self.rise < STEADY_RISE

    @property
    def is_full(self) -> bool:
        return self.fill is not None and self.fill >= FULL

    @property
    def is_settled(self) -> bool | None:
        """Whether the cache takes in nothing more that counts."""
        if self.fill is None:
            return None
        return self.is_full or (self.growth is not None and self.growth <= STEADY_GROWTH)

    @property
    def serves_nearly_all(self) -> bool:
        """Whether few reads miss, and no fewer than before."""
        if self.hit_rate is None or self.rise is None or self.hit_rate < NEARLY_ALL:
            return False
        misses = 1 - self.hit_rate
        return misses <= HARDLY_ANY or misses >= STEADY_MISSES * (misses + self.rise)

    @property
    def is_warm(self) -> bool | None:
        """What is unknown of hit rate and fill is left out; None where both are."""
        if self.serves_nearly_all:
            return True
        known = [each for each in (self.is_flat, self.is_settled) if each is not None]
        return all(known) if known else None


NOTHING_LEARNT: Final = Learning(None, None, 0, None, None)


def learning(parts: Sequence[CachePart]) -> Learning:
    """The parts are in the order of time; those without any sample may be missing. What is before
    the present cache began says nothing about it."""
    if not parts:
        return NOTHING_LEARNT
    parts = parts[_began(parts) :]
    first, last = parts[0], parts[-1]
    middle = first.n + (last.n - first.n + 1) // 2
    used, size = last.used_bytes, last.cache_size_bytes
    fill = used / size if used is not None and size else None
    early = [part for part in parts if part.n < middle]
    late = [part for part in parts if part.n >= middle]
    growth, rise, begun = None, None, last
    if last.n - first.n + 1 >= LEAST_PARTS:
        begun = next(part for part in reversed(parts) if part.n <= middle)
        if size and used is not None and begun.used_bytes is not None:
            growth = (used - begun.used_bytes) / size
        if min(sum(part.reads for part in half) for half in (early, late)) >= LEAST_READS:
            rise = (_hit_rate(late) or 0.0) - (_hit_rate(early) or 0.0)
    return Learning(fill, growth, last.n - begun.n, rise, _hit_rate(late))


def _began(parts: Sequence[CachePart]) -> int:
    """Which part is the first of the cache that the last one has."""
    pairs = list(enumerate(itertools.pairwise(parts), 1))
    return next((n for n, (one, next_one) in reversed(pairs) if _is_another(one, next_one)), 0)


def _is_another(one: CachePart, next_one: CachePart) -> bool:
    if one.cache_size_bytes != next_one.cache_size_bytes:
        return True
    before, after = one.used_bytes, next_one.used_bytes
    return before is not None and after is not None and after < LEFT_OF_FILL * before


def _hit_rate(parts: Sequence[CachePart]) -> float | None:
    reads = sum(part.reads for part in parts)
    return sum(part.hits for part in parts) / reads if reads else None

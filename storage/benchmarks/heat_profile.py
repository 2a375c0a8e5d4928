"""A volume's own heat as a load for fio: independent references that an LRU cache of any size
serves as often as it would have served the volume's. Pure.

A zone of fio's `random_distribution=zoned_abs` is a part of the data that so many percent of the
requests go to. (In `zoned` the sizes are whole percents too, and what is hot is often less than
one.) `storage.analysis.curve.replay` finds the zones.

Independent references have no order in time: no loop, no phase, no working set that moves. Their
curve is concave, and one that is not cannot be replayed: `most_off` says how far they part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from math import expm1
from typing import Final

import msgspec

from storage.agent.benchmark.profiles import Option
from storage.byte_sizes import KIB

PIECES: Final = 100
"""fio draws a whole percent."""
WHOLE: Final = 10**9
"""Of it the sizes of zones are parts."""
CHUNKS: Final = range(4 * KIB, 512 * KIB + 1, 4 * KIB)
"""At least 128 chunks fit the smallest data, so that each zone has one."""

Zone = tuple[int, int]


@dataclass(frozen=True, slots=True)
class HeatFigures:
    """What a replay needs of a volume's heat, without its name and without any address. `zones`
    are percents of the references and parts of a thousand million of the data, the hottest first;
    what they leave out is never touched. `most_off` is by how much the hit rate of an LRU cache
    differs at most between the replay and the volume, from 0 to 1."""

    chunk_bytes: int
    read_percent: int
    block_bytes: int
    zones: tuple[Zone, ...]
    most_off: float

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits, the same for the same figures."""
        return sha256(msgspec.json.encode(self)).hexdigest()[:12]


def fio_options(figures: HeatFigures, data_bytes: int) -> tuple[Option, ...]:
    """The replay on so many bytes: a cache of the same share of them is hit as often. A zone is
    whole chunks; those of less than one are added up."""
    chunks, end, percent, zones = data_bytes // figures.chunk_bytes, 0, 0, list[Zone]()
    edges = accumulate(size for _, size in figures.zones)
    for (more, _), edge in zip(figures.zones, edges, strict=True):
        begin, end, percent = end, round(edge * chunks / WHOLE), percent + more
        if end > begin:
            zones.append((percent, end - begin))
            percent = 0
    if percent:
        zones[-1:] = [(percent + sum(p for p, _ in zones[-1:]), zones[-1][1] if zones else 1)]
    words = [f"{percent}/{size * figures.chunk_bytes}" for percent, size in zones]
    return (
        ("rw", "randrw"),
        ("rwmixread", str(figures.read_percent)),
        ("random_distribution", f"zoned_abs:{':'.join(words)}"),
        ("norandommap", "1"),
    )


def is_sound(figures: HeatFigures) -> bool:
    """Whether `fio_options` may be made of them."""
    percents, sizes = zip(*figures.zones, strict=True) if figures.zones else ((), ())
    return (
        sum(percents) == PIECES
        and min(percents) > 0 < min(sizes)
        and sum(sizes) <= WHOLE
        and 0 <= figures.read_percent <= 100
        and figures.chunk_bytes in CHUNKS
    )


def lru_hit_rate(zones: Sequence[Zone], cache_share: float) -> float:
    """Of a cache that holds such a share of the data, by Che's approximation."""
    low, high = 0.0, 1.0
    touched = sum(size for _, size in zones) / WHOLE
    if cache_share >= touched:
        return 1.0
    while _held(zones, high) < cache_share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _held(zones, middle) < cache_share else (low, middle)
    return sum(percent / PIECES * _found(percent, size, high) for percent, size in zones)


def _held(zones: Sequence[Zone], time: float) -> float:
    return sum(size / WHOLE * _found(percent, size, time) for percent, size in zones)


def _found(percent: int, size: int, time: float) -> float:
    """The share of a zone's chunks that were touched within a time."""
    return -expm1(-percent / size * time)

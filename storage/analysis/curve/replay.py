"""The zones of a benchmark that replays a volume's heat, from its curve. Pure.

The rates behind the volume's curve say how many chunks are touched how often: an LRU cache holds a
chunk with the probability 1 - exp(-rate * T), where T is such that those held fill it (Che, Tung
and Wang, "Hierarchical web caching systems", IEEE JSAC 2002). From the hottest on, each hundredth
of the references gets so many chunks: that is a zone of fio's `random_distribution=zoned_abs`,
whose shares of accesses are whole percents. (In `zoned` the sizes are whole percents too, and what
is hot is often less than one.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.analysis.curve.heat import HeatRecord
from storage.analysis.curve.miss_ratio import MissRatioCurve
from storage.benchmarks.heat_profile import PIECES, WHOLE, HeatFigures, Zone, lru_hit_rate
from storage.byte_sizes import KIB

SIZES: Final = tuple(2 ** (-n / 2) for n in range(2, 18))
"""Caches that both are compared at, as shares of the volume: from a 300th to half of it."""
STEPS: Final = 2
"""Times in each octave; of rates there are twice as many."""
SLOWEST: Final = 1 / 16
"""The lowest rate, in touches within the longest time of the curve."""
ROUNDS: Final = 4000
BLOCK_STEP: Final = 4 * KIB
Floats = npt.NDArray[np.float64]


def heat_figures(curve: MissRatioCurve, records: Sequence[HeatRecord]) -> HeatFigures:
    """`records` are those of the curve, one or more."""
    ios = sum(record.reads + record.writes for record in records)
    sizes = sum(record.read_bytes + record.write_bytes for record in records)
    read = sum(record.read_references for record in records)
    mean_bytes = sizes / ios if ios else BLOCK_STEP
    steps = max(1, round(min(mean_bytes, curve.chunk_bytes) / BLOCK_STEP))
    zones = _zones(curve)
    return HeatFigures(
        chunk_bytes=curve.chunk_bytes,
        read_percent=round(100 * read / sum(record.clock for record in records)),
        block_bytes=steps * BLOCK_STEP,
        zones=zones,
        most_off=round(max(abs(_difference(curve, zones, share)) for share in SIZES), 4),
    )


def _rate_shares(curve: MissRatioCurve) -> tuple[Floats, Floats]:
    """Rates in touches for each reference, the highest first, and the share of the references that
    goes to chunks of each: P(t) as a mixture of exp(-rate * t), by expectation maximisation."""
    end, growth = curve.times[-1], curve.growths[0]
    times = np.exp2(np.arange(0, np.log2(max(2.0, end)), 1 / STEPS))
    left = [curve.miss_ratios_at(time, growth).both for time in times]
    masses = np.maximum(0.0, -np.diff([1.0, *left, 0.0]))
    ends = np.array([0.0, *times, np.inf])
    rates = np.exp2(np.arange(0, np.log2(SLOWEST / max(2.0, end)), -1 / (2 * STEPS)))
    kernel = -np.diff(np.exp(-np.outer(rates, ends)), axis=1)
    shares = np.full(len(rates), 1 / len(rates))
    for _ in range(ROUNDS):
        expected = shares @ kernel
        shares *= kernel @ np.divide(masses, expected, where=expected > 0, out=masses * 0)
    return rates, shares / shares.sum()


def _zones(curve: MissRatioCurve) -> tuple[Zone, ...]:
    """Whole percents of the references with the chunks that they go to. Together these are no more
    than the volume has: what is touched least is taken to be touched alike."""
    rates, shares = _rate_shares(curve)
    edges = np.interp(
        np.arange(PIECES + 1) / PIECES,
        np.concatenate([[0.0], np.cumsum(shares)]),
        np.concatenate([[0.0], np.cumsum(shares / rates)]),
    )
    sizes = _capped(np.sort(np.diff(edges)), curve.volume_chunks)
    zones, percent, chunks = list[Zone](), 0, 0.0
    for piece in sizes:
        percent, chunks = percent + 1, chunks + float(piece)
        if chunks >= 1:
            zones.append((percent, int(chunks / curve.volume_chunks * WHOLE)))
            percent, chunks = 0, 0.0
    if percent:
        zones.append((percent, int(WHOLE / curve.volume_chunks)))
    return tuple(_merged(zones))


def _capped(sizes: Floats, most: float) -> Floats:
    """None above a level at which their sum is `most`."""
    if sizes.sum() <= most:
        return sizes
    low, high = 0.0, float(sizes.max())
    for _ in range(60):
        level = (low + high) / 2
        low, high = (low, level) if np.minimum(sizes, level).sum() > most else (level, high)
    return np.minimum(sizes, low)


def _merged(zones: Sequence[Zone]) -> list[Zone]:
    """Neighbours that are touched alike are one."""
    merged = list[Zone]()
    for percent, size in zones:
        if merged and abs(merged[-1][1] * percent - size * merged[-1][0]) <= percent * size / 1000:
            percent, size = percent + merged[-1][0], size + merged.pop()[1]
        merged.append((percent, size))
    return merged


def _difference(curve: MissRatioCurve, zones: Sequence[Zone], cache_share: float) -> float:
    bytes_ = cache_share * curve.volume_bytes
    missed = [curve.miss_ratios(bytes_, growth).both for growth in curve.growths]
    return lru_hit_rate(zones, cache_share) - (1 - sum(missed) / len(missed))

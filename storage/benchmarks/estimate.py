"""What a benchmark takes: time, space, and writes to the SSD. Pure.

The rates are those of plain disks. They decide how long the data are laid out and what a run can
write at most; how long a run is measured, its matrix says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storage.agent.benchmark.profiles import PROFILES
from storage.benchmarks.matrix import CacheState, Cell, Profile, Spec, TargetKind, runs_of
from storage.benchmarks.run_wish import args_of
from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import VolumeGroup
from storage.planner.benchmark_wish import JUNK, JUNK_FACTOR, scratch_space

LAYOUT_BYTES_S: Final = {"slow": 120 * MIB, "fast": 400 * MIB}
"""Sequential writes; next to busy guests they rest."""
JUNK_IOPS: Final = 150
"""Random reads of chunks from the slow disks, which fill the cache."""
CHUNK_BYTES: Final = 64 * 1024
AROUND_SECONDS: Final = 45
"""Making and removing volumes, looks at neighbours before and after, and the job around it."""
MOST_IOPS: Final = 20_000
MOST_WRITTEN_S: Final = 300 * MIB
"""The most that a profile writes."""
TURNOVER_GIB_HOUR: Final = 20
"""What a cache promotes in an hour, once it is full."""


@dataclass(frozen=True, slots=True)
class BenchmarkEstimate:
    """`slow_bytes` and `fast_bytes` are what the largest run takes while it lasts. `ssd_written`
    are bytes that all runs together write to the SSD at most; `endurance_share` is that of what its
    maker rates it for, 0 to 1, None where no rating is known."""

    runs: int
    seconds: float
    slow_bytes: int
    fast_bytes: int
    ssd_written: int
    endurance_share: float | None


def estimate(spec: Spec, vg: VolumeGroup, rated_bytes: int | None = None) -> BenchmarkEstimate:
    """`rated_bytes` is what the SSD is made to take in its life."""
    runs = runs_of(spec)
    spaces = [scratch_space(vg, args_of(cell, spec.seed)) for cell in spec.cells]
    written = sum(ssd_written(run.cell) for run in runs)
    return BenchmarkEstimate(
        len(runs),
        sum(seconds_of(run.cell) for run in runs),
        max((space.slow for space in spaces), default=0),
        max((space.fast for space in spaces), default=0),
        written,
        written / rated_bytes if rated_bytes else None,
    )


def seconds_of(cell: Cell) -> float:
    """From the beginning of its job to its end, on disks that have nothing else to do."""
    tier = "fast" if cell.target == TargetKind.SSD else "slow"
    laid_out = cell.data_bytes + (cell.cache_bytes * JUNK_FACTOR if cell.state == JUNK else 0)
    seconds = laid_out / LAYOUT_BYTES_S[tier] + cell.warm_seconds + cell.seconds
    if cell.state == CacheState.JUNK:
        seconds += cell.cache_bytes / CHUNK_BYTES / JUNK_IOPS
    return seconds + AROUND_SECONDS


def ssd_written(cell: Cell) -> int:
    """Bytes that a run writes to the SSD at most."""
    if cell.target == TargetKind.HDD:
        return 0
    busy_seconds = cell.seconds + cell.warm_seconds
    rate = min(MOST_WRITTEN_S, MOST_IOPS * cell.block_bytes) * _write_share(cell)
    if cell.target == TargetKind.SSD:
        return round(cell.data_bytes + rate * busy_seconds)
    # A cache takes what is written through it, or promoted into it.
    filled = cell.cache_bytes * (2 if cell.state == CacheState.JUNK else 1)
    turned_over = TURNOVER_GIB_HOUR * GIB * busy_seconds / 3600
    return round(filled + min(turned_over, cell.data_bytes) + rate * busy_seconds)


def _write_share(cell: Cell) -> float:
    if cell.profile == Profile.HEAT:
        return 1 - int(dict(cell.options)["rwmixread"]) / 100
    return PROFILES[cell.profile].write_share


def seconds_left(
    waiting: Sequence[Cell],
    current: Cell | None = None,
    current_seconds: float = 0.0,
    measured: Mapping[Cell, float] | None = None,
) -> float:
    """Until all of these runs are over, where nothing holds them up. `measured` is what runs of a
    cell have taken here, which counts for more than any estimate; `current` is at work since
    `current_seconds`."""
    known = measured or {}
    factor = _factor(known)

    def lasts(cell: Cell) -> float:
        return known.get(cell, cell.seconds + cell.warm_seconds + _rest(cell) * factor)

    left = 0.0 if current is None else max(0.0, lasts(current) - current_seconds)
    return left + sum(lasts(cell) for cell in waiting)


def _rest(cell: Cell) -> float:
    """What is not fixed by the matrix."""
    return seconds_of(cell) - cell.seconds - cell.warm_seconds


def _factor(measured: Mapping[Cell, float]) -> float:
    """By how much slower than estimated all else was so far."""
    took = sum(max(0.0, each - cell.seconds - cell.warm_seconds) for cell, each in measured.items())
    thought = sum(map(_rest, measured))
    return took / thought if thought else 1.0

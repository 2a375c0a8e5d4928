"""What a benchmark would take: time, space, and wear of the SSD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.benchmarks.matrix import CacheState, Cell, Profile, Spec, TargetKind, runs_of
from storage.benchmarks.run_wish import args_of
from storage.byte_sizes import MIB
from storage.formatting import percent
from storage.health.smart_endurance import rated_bytes
from storage.inventory.device_tree import fast_disks
from storage.models import Host
from storage.planner.benchmark_wish import scratch_space
from storage.stored_inventory import inventory_of

HDD_BYTES_S, SSD_BYTES_S = 100 * MIB, 400 * MIB
"""At which data are laid out."""
JUNK_BYTES_S: Final = 20 * MIB
"""At which a cache takes junk, which it reads from HDD."""
AROUND_SECONDS: Final = 30
"""To make scratch volumes and to remove them."""
WRITE_BYTES_S: Final = {
    Profile.MIXED: 120 * MIB,
    Profile.SEQUENTIAL_WRITE: 400 * MIB,
    Profile.SYNC_WRITE: 40 * MIB,
    Profile.OWN: 400 * MIB,
}
"""At most, to an SSD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkEstimate:
    """Conservative. Space is that of the largest run, the rest that of all of them. `wear_share` is
    the part of the rated endurance of one of the SSDs; None where that is not known."""

    runs: int
    seconds: float
    slow_bytes: int
    fast_bytes: int
    ssd_written_bytes: int
    wear_share: float | None


def estimated(host: Host, spec: Spec) -> BenchmarkEstimate:
    """Of a matrix on a host, as of its last inventory."""
    facts = inventory_of(host)
    group = next((vg for vg in facts.vgs if vg.uuid == spec.vg_uuid), None) if facts else None
    spaces = [
        (cell.slow_bytes, cell.fast_bytes)
        if group is None
        else ((space := scratch_space(group, args_of(cell, spec.seed))).slow, space.fast)
        for cell in spec.cells
    ]
    runs = runs_of(spec)
    written = sum(written_bytes(run.cell) for run in runs)
    rated = [
        rated_bytes(disk.model)
        for disk in (facts.disks if facts is not None else ())
        if facts is not None and disk.name in fast_disks(facts)
    ]
    known = [each for each in rated if each is not None]
    return BenchmarkEstimate(
        runs=len(runs),
        seconds=sum(run_seconds(run.cell) for run in runs),
        slow_bytes=max((slow for slow, _ in spaces), default=0),
        fast_bytes=max((fast for _, fast in spaces), default=0),
        ssd_written_bytes=written,
        wear_share=written / min(known) if known and len(known) == len(rated) else None,
    )


def run_seconds(cell: Cell) -> float:
    """What a run of the cell takes, from its first volume to the removal of the last one."""
    speed = SSD_BYTES_S if cell.target == TargetKind.SSD else HDD_BYTES_S
    junk = cell.cache_bytes / JUNK_BYTES_S if cell.state == CacheState.JUNK else 0.0
    laid_out = cell.data_bytes / speed
    return AROUND_SECONDS + laid_out + junk + cell.warm_seconds + cell.seconds


def written_bytes(cell: Cell) -> int:
    """What a run of the cell writes to the SSD."""
    if cell.target == TargetKind.HDD:
        return 0
    seconds = cell.seconds + cell.warm_seconds
    by_load = seconds * WRITE_BYTES_S.get(cell.profile, 0)
    if cell.target == TargetKind.SSD:
        return cell.data_bytes + by_load
    fills = 2 if cell.state == CacheState.JUNK else 1
    return fills * cell.cache_bytes + by_load


def wear_words(estimate: BenchmarkEstimate) -> str:
    """Its share of the endurance; "" where that is not known."""
    if estimate.wear_share is None:
        return ""
    share = estimate.wear_share
    part = percent(share) if share >= 0.001 else "less than 0.1 %"
    return f"{part} of what the SSD is rated for"

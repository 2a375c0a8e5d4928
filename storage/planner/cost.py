"""The cost of a plan before it is confirmed: its duration, how long others of the volume group
wait, and the SSD space it needs. Pure; conservative estimates.

The seconds were measured on the lab host (an attach locks its group for 1 to 2 s). A disk writes
dirty blocks back at about 80 a second (64 KiB each: 5 MiB/s), zeroes and moves at the speeds below;
a guest's own load makes all of it slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from storage.agent.commands.vacated_extents import ranges
from storage.agent.verbs.registry import VERBS, verbs_with
from storage.agent.verbs.verb import Estimate, Frees, LongWork, Takes, Trait
from storage.byte_sizes import MIB
from storage.formatting import seconds as duration_text
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner.draft import DIRTY_LIMIT_BYTES, PlannedStep, Target
from storage.planner.lvm_sizes import pool_bytes
from storage.planner.technologies.lookup import cache_of, on
from storage.planner.technologies.lvmcache_plan import spare_bytes

BLOCKS_A_SECOND = 80
FASTEST_FLUSH = 100 * MIB
ZERO_SLOW, ZERO_FAST = 100 * MIB, 400 * MIB
MOVE = 50 * MIB
"""Bytes a second."""
PACED_FACTOR = 10
"""What runs next to guests rests while it slows them down: so many times as long it may take."""
LIKE = 1.5
"""Two durations that differ by less are one."""
FLUSH_FACTOR = 4
"""A guest that writes meanwhile makes a flush so much longer."""

IRREVERSIBLE = verbs_with(Trait.IRREVERSIBLE)
"""Verbs that no later step could undo, whether or not the plan marks them."""
UNKNOWN = Estimate(2, 2)
"""Of a verb that an older or newer agent has."""

TAG = "volume.tag"
"""No job takes the tag off again. In front of other steps it takes no way back from them, but alone
it is what the job is for."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """`seconds` is what it takes on disks that have nothing else to do, `slowest_seconds` next to
    busy guests, `locked_seconds` how long other commands of the group wait for it. `paced_bytes`
    are zeroed or moved in cycles of work and rest."""

    seconds: float
    locked_seconds: float
    is_final: bool
    slowest_seconds: float = 0.0
    paced_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """`other_count` volumes lie in the same group, `open_count` of them in use. `dirty_bytes` is
    what the cache holds now that the disk has not. `ssd_bytes` is the SSD space that has to be
    free (of `ssd_free_bytes` now): what the steps take at their fullest, less what they have freed
    by then. `between_seconds` goes by beside the steps; `past_jobs` is how many jobs of the host
    the estimate rests on, 0 where it rests on the lab's figures alone."""

    steps: tuple[StepCost, ...]
    vg_name: str
    other_count: int
    open_count: int
    dirty_bytes: int
    ssd_bytes: int
    ssd_free_bytes: int
    between_seconds: float = 0.0
    slowest_between_seconds: float = 0.0
    past_jobs: int = 0

    @property
    def seconds(self) -> float:
        """All steps one after the other, and what goes by between them."""
        return sum(step.seconds for step in self.steps) + self.between_seconds

    @property
    def slowest_seconds(self) -> float:
        """The same next to busy guests; never less."""
        steps = sum(max(step.seconds, step.slowest_seconds) for step in self.steps)
        return steps + max(self.between_seconds, self.slowest_between_seconds)

    @property
    def duration(self) -> str:
        """How long it takes, in words: a range where busy guests make a difference."""
        quiet, busy = duration_text(self.seconds), duration_text(self.slowest_seconds)
        is_range = self.slowest_seconds >= LIKE * self.seconds and quiet != busy
        return f"{quiet} to {busy}" if is_range else f"about {quiet}"

    @property
    def wait_seconds(self) -> float:
        """The longest that another command of the group waits: it gets its turn between steps."""
        return max((step.locked_seconds for step in self.steps), default=0.0)

    @property
    def final_step(self) -> int | None:
        """The number of the first step without a way back, from 1; None where all can be undone."""
        return next((n for n, step in enumerate(self.steps, 1) if step.is_final), None)

    @property
    def rollback(self) -> str:
        """Until when the plan can be undone, in words."""
        if self.final_step is None:
            return "possible with a new job"
        if self.final_step == 1:
            return "not possible after start"
        return f"possible until step {self.final_step}"


def cost(facts: HostFacts, target: Target, steps: Sequence[PlannedStep]) -> Cost:
    """The cost of `steps` on a host that is as `facts` say; steps whose verb is unknown here count
    as short commands."""
    lv = facts.lv(target.lv_uuid) if target.lv_uuid is not None else None
    dirty_bytes = _dirty(lv)
    costs = []
    for step in steps:
        costs.append(_step(facts, target, lv, step, steps, dirty_bytes))
        if estimate_of(step).work in (LongWork.FLUSH, LongWork.FLUSH_REST):
            dirty_bytes = min(dirty_bytes, int(step.args.get("dirty_limit_bytes", 0)))
    if [step.verb for step in steps] == [TAG]:
        costs = [replace(each, is_final=True) for each in costs]
    others = [
        other for other in facts.public_lvs() if other.vg_uuid == target.vg_uuid and other is not lv
    ]
    fast = facts.pvs_of(target.vg_uuid, "fast")
    return Cost(
        steps=tuple(costs),
        vg_name=target.vg_name,
        other_count=len(others),
        open_count=sum(other.open_count > 0 for other in others),
        dirty_bytes=_dirty(lv),
        ssd_bytes=_ssd_peak(facts, target, lv, steps),
        ssd_free_bytes=sum(pv.free_bytes for pv in fast if not pv.missing),
    )


def estimate_of(step: PlannedStep) -> Estimate:
    """What the verb of a step says of itself."""
    verb = VERBS.get(step.verb)
    return UNKNOWN if verb is None else verb.estimate


def _step(
    facts: HostFacts,
    target: Target,
    lv: LogicalVolume | None,
    step: PlannedStep,
    steps: Sequence[PlannedStep],
    dirty_bytes: int,
) -> StepCost:
    estimate = estimate_of(step)
    seconds, locked, work = estimate.seconds, estimate.locked_seconds, estimate.work
    paced_bytes, paced_seconds, flushed_seconds = 0, 0.0, 0.0
    if work is LongWork.FLUSH:
        flushed_seconds = dirty_bytes / _flush_speed(lv)
    elif work is LongWork.FLUSH_REST or (work is LongWork.FLUSH_FOR_MODE and "mode" in step.args):
        # LVM flushes the rest under the group's lock; more than this the agent does not let it.
        limit = int(step.args.get("dirty_limit_bytes", DIRTY_LIMIT_BYTES))
        flushed_seconds = min(dirty_bytes, limit) / _flush_speed(lv)
        locked += flushed_seconds
    elif work is LongWork.ZERO_LEFT:
        paced_bytes, paced_seconds = _cleared(facts, target, lv, steps)
    elif work is LongWork.WARM:
        return StepCost(seconds, locked, False, float(step.args["limit_seconds"]))
    elif work is LongWork.BENCHMARK:
        seconds += int(step.args["seconds"]) + int(step.args.get("warm_seconds", 0))
        paced_bytes = int(step.args["data_bytes"])
        paced_seconds = paced_bytes / MOVE
    elif work is LongWork.REBUILD:
        paced_bytes = _member_bytes(facts, step)
        paced_seconds = paced_bytes / MOVE
    elif work is LongWork.MOVE:
        paced_bytes = lv.size_bytes if lv is not None else 0
        paced_seconds = paced_bytes / MOVE
    else:
        paced_bytes = _zeroed_bytes(lv, step)
        paced_seconds = paced_bytes / _zero_speed(facts, target, lv, step)
    return StepCost(
        seconds + flushed_seconds + paced_seconds,
        locked,
        step.makes_irrevocable or step.verb in IRREVERSIBLE,
        seconds + FLUSH_FACTOR * flushed_seconds + PACED_FACTOR * paced_seconds,
        paced_bytes,
    )


def _member_bytes(facts: HostFacts, step: PlannedStep) -> int:
    """What is copied to a new member of an array."""
    array = next((each for each in facts.arrays if each.name == step.args["array"]), None)
    if array is None:
        return 0
    copies = 1 if array.level == "raid1" else max(1, (array.disk_count or 2) - 1)
    return array.size_bytes // copies


def _dirty(lv: LogicalVolume | None) -> int:
    technology = on(lv) if lv is not None else None
    return technology.dirty_bytes(lv) if technology is not None and lv is not None else 0


def _flush_speed(lv: LogicalVolume | None) -> int:
    technology = on(lv) if lv is not None else None
    block = technology.block_bytes(lv) if technology is not None and lv is not None else 1
    return max(1, min(FASTEST_FLUSH, block * BLOCKS_A_SECOND))


def _zeroed_bytes(lv: LogicalVolume | None, step: PlannedStep) -> int:
    work = estimate_of(step).work
    if work is LongWork.ZERO_NEW:
        return int(step.args["size_bytes"])
    if work is LongWork.ZERO_GROWTH:
        before = int(step.args.get("from_bytes", lv.size_bytes if lv is not None else 0))
        return max(0, int(step.args["size_bytes"]) - before)
    if work is LongWork.ZERO_WHOLE:
        return lv.size_bytes if lv is not None else int(step.args.get("size_bytes", 0))
    return 0


def _cleared(
    facts: HostFacts, target: Target, lv: LogicalVolume | None, steps: Sequence[PlannedStep]
) -> tuple[int, float]:
    """The bytes that the steps leave and those that were left before, which may be fewer by then;
    and the seconds that zeros over them take."""
    extent_bytes = getattr(facts.vg(target.vg_uuid), "extent_bytes", 0)
    disks = {pv.uuid: pv.name for pv in facts.pvs}
    tags = lv.tags if lv is not None else ()
    places = [
        (disks.get(pv, ""), (last - first + 1) * extent_bytes) for pv, first, last in ranges(tags)
    ]
    for step in steps:
        if step.verb == "volume.move" and lv is not None:
            places.append((step.args["from_pvs"][0], lv.size_bytes))
        elif step.verb in ("cache.detach", "pool.remove"):
            cache = cache_of(facts, lv) if lv is not None else None
            disk = next(iter(cache.pvs), "") if cache is not None else ""
            places.append((disk, _ssd_freed(facts, target, lv, step)))
    return sum(size_bytes for _, size_bytes in places), sum(
        size_bytes / (ZERO_FAST if _is_fast(facts, target, (disk,)) else ZERO_SLOW)
        for disk, size_bytes in places
    )


def _zero_speed(
    facts: HostFacts, target: Target, lv: LogicalVolume | None, step: PlannedStep
) -> int:
    below = tuple(step.args.get("pvs", lv.pvs if lv is not None else ()))
    return ZERO_FAST if _is_fast(facts, target, below) else ZERO_SLOW


def _is_fast(facts: HostFacts, target: Target, names: Sequence[str]) -> bool:
    fast = {pv.name for pv in facts.pvs_of(target.vg_uuid, "fast")}
    return bool(names) and set(names) <= fast


def _ssd_peak(
    facts: HostFacts, target: Target, lv: LogicalVolume | None, steps: Sequence[PlannedStep]
) -> int:
    taken = peak = 0
    for step in steps:
        taken += _ssd_bytes(facts, target, step)
        peak = max(peak, taken)
        taken -= _ssd_freed(facts, target, lv, step)
    return peak


def _ssd_freed(
    facts: HostFacts, target: Target, lv: LogicalVolume | None, step: PlannedStep
) -> int:
    frees = estimate_of(step).frees
    if frees is Frees.CACHE:
        cache = cache_of(facts, lv) if lv is not None else None
        return (cache.size_bytes or 0) if cache is not None else 0
    if frees is Frees.NAMED:
        name = str(step.args.get("pool") or step.args.get("name"))
        gone = facts.lv_named(target.vg_uuid, name)
        return gone.size_bytes if gone is not None else 0
    return 0


def _ssd_bytes(facts: HostFacts, target: Target, step: PlannedStep) -> int:
    vg, takes = facts.vg(target.vg_uuid), estimate_of(step).takes
    if takes is Takes.POOL and vg is not None:
        spare = spare_bytes(facts, target.vg_uuid)
        chunk_kib = int(step.args["chunk_kib"])
        return pool_bytes(int(step.args["size_bytes"]), chunk_kib, vg.extent_bytes, spare)
    if takes is Takes.CSET:
        made = facts.lv_named(target.vg_uuid, str(step.args["name"]))
        return 0 if made is not None else int(step.args["size_bytes"])
    if takes is Takes.MOVED_VOLUME and target.lv_uuid is not None:
        lv = facts.lv(target.lv_uuid)
        to = _is_fast(facts, target, tuple(step.args["to_pvs"]))
        return lv.size_bytes if lv is not None and to else 0
    if takes is Takes.VOLUME:
        lv = facts.lv_named(target.vg_uuid, target.lv_name)
        present_bytes = lv.size_bytes if lv is not None else 0
        to = _is_fast(facts, target, tuple(step.args.get("pvs", ())))
        return max(0, int(step.args["size_bytes"]) - present_bytes) if to else 0
    return 0

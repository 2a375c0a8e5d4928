"""Which volume to cache first: time waited for the slow disk on a usual day, per GiB of SSD needed.
Pure.

A cache is bought for months, so one busy hour decides nothing, whether it is now or was last week,
and a volume that is busy each night is as good a candidate at noon. Each day that has figures is
judged by itself, and the days with the longest waits are left out: a burst is one day, a job that
runs once a week two of two weeks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from storage.agent.commands import vacated_extents
from storage.agent.verbs.registry import commands
from storage.analysis.advice.usage import LoadShare
from storage.byte_sizes import GIB
from storage.formatting import seconds, size
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.metrics.rates import Sums
from storage.planner import PlannedStep, Refused, plan
from storage.planner.technologies.lookup import of_cache
from storage.planner.wish import BadWish, CacheWish, Wish
from storage.volumes.cache_sizes import SIZES_BYTES, sizes_for
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class ByHand:
    """Shell lines that add the cache, and those that take it off again."""

    add: tuple[str, ...]
    remove: tuple[str, ...]


def by_hand(row: VolumeSnapshot, size_bytes: int) -> ByHand:
    """The commands for a writethrough cache of `size_bytes`, as if the group were allowed.

    Raises `Refused` where the volume cannot have one. The names are the same each time.
    """
    facts, lv, placement, now = row.facts, row.lv, row.placement, row.wish
    if facts is None or lv is None or placement is None or now is None:
        raise Refused("not_found", "The volume is missing on the host.", "Refresh the host.")
    try:
        cache = row.technology.wish.new(row.volume.key, size_bytes)
        wish = Wish(now.size_bytes, now.tier, now.layout, cache)
    except BadWish as error:
        raise Refused("unsupported", str(error), "Choose another volume.") from error
    steps = plan(as_if_allowed(facts), placement.target, wish)
    return ByHand(_lines(steps), _removal(lv, cache))


def as_if_allowed(facts: HostFacts) -> HostFacts:
    """The same host if root allowed every volume group. What is left behind only the agent clears,
    which reads where it lies while it works."""
    vgs = tuple(dataclasses.replace(vg, allowed=True, clears_freed=None) for vg in facts.vgs)
    return dataclasses.replace(facts, vgs=vgs)


def _lines(steps: tuple[PlannedStep, ...]) -> tuple[str, ...]:
    return tuple(command.shell for step in steps for command in commands(step.verb, step.args))


def _removal(lv: LogicalVolume, cache: CacheWish) -> tuple[str, ...]:
    place = {"vg": lv.vg_name, "lv": lv.name}
    steps = of_cache(cache).removal(cache)
    each = [command for verb, args in steps for command in commands(verb, {**place, **args})]
    return tuple(command.shell for command in each if not vacated_extents.asks(command.argv))


HOUR: Final = 3600
DAY: Final = 24 * HOUR
LEAST_COVERAGE: Final = 0.5
"""A day of which less has figures is not judged by itself."""
LEFT_OUT: Final = 2
"""So many days with the longest waits do not count; of less than four days half of them."""
ENOUGH_DAYS: Final = 3
"""Figures of fewer days are a first look, no advice to spend money on."""
LEAST_SECONDS: Final = 60
LEAST_WAIT_SECONDS: Final = 600
"""Reads that wait less than this a day are worth neither SSD nor a click."""
PLANNED: Final = 20
"""For so many volumes, those with the longest waits, the commands are worked out."""
CACHE_RATIO: Final = 4


@dataclass(frozen=True, slots=True)
class UsualWait:
    """`reads` is how many reads wait at a time on a usual day, on average over the day. `days` have
    figures; without any it is of the time that is known."""

    reads: float
    days: int


def usual_wait(days: Sequence[Sums]) -> UsualWait:
    """What is usual on days of which these are the sums."""
    known = known_days(days)
    measured = known or [sum(days, Sums())]
    waits = sorted(day.read_ms / day.dt_ms for day in measured if day.dt_ms)
    usual = waits[: len(waits) - min(LEFT_OUT, len(waits) // 2)]
    return UsualWait(mean(usual) if usual else 0.0, len(known))


def known_days(days: Sequence[Sums]) -> list[Sums]:
    """Those with figures enough to be judged by themselves."""
    return [day for day in days if day.dt_ms >= LEAST_COVERAGE * DAY * 1000]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A volume without a cache. `waited_seconds` is what its reads took in the time without a cache
    that has figures (`covered_seconds`), those at once counted each; writes are left out, because a
    writethrough cache does not speed them up. `usual` is what it is judged by. `obstacle` is why
    the cache cannot be had now."""

    use: LoadShare
    size_bytes: int
    usual: UsualWait
    waited_seconds: float
    covered_seconds: float
    obstacle: Refused | None
    commands: ByHand | None

    @property
    def is_enough(self) -> bool:
        """True once there are enough figures to spend money by."""
        return self.usual.days >= ENOUGH_DAYS

    @property
    def waited_seconds_per_day(self) -> float:
        """On a usual day."""
        return self.usual.reads * DAY

    @property
    def seconds_per_gib(self) -> float:
        """A day."""
        return self.waited_seconds_per_day / (self.size_bytes / GIB)

    @property
    def arithmetic(self) -> str:
        """The sum as a person would write it. Less than a day is not made a figure a day of."""
        waited, of_reads = self.waited_seconds_per_day, "Reads wait {} a day"
        if not self.usual.days:
            waited = self.waited_seconds
            of_reads = f"Reads waited {{}} in {seconds(self.covered_seconds)}"
        each = waited / (self.size_bytes / GIB)
        return (
            f"{of_reads.format(hours_text(waited))}: {hours_text(each)} per GiB of a cache of "
            f"{size(self.size_bytes)}"
        )


def hours_text(waited_seconds: float) -> str:
    """A wait, which many reads at once can make longer than the day in which it was."""
    if waited_seconds < HOUR:
        return seconds(waited_seconds)
    return f"{waited_seconds / HOUR:,.1f} h"


def suggestions(
    shares: Sequence[LoadShare], days: Mapping[int, Sequence[Sums]]
) -> tuple[Suggestion, ...]:
    """Volumes on slow disks without a cache whose reads wait on usual days, the best use of SSD
    first; those with too few figures after the others. `days` are sums without a cache by the
    volume's primary key."""
    usual = {
        use.row.volume.pk: usual_wait(days[use.row.volume.pk])
        for use in shares
        if use.row.cache is None and use.load.uncached.dt_ms >= LEAST_SECONDS * 1000
    }
    waiting = sorted(
        (use for use in shares if _reads_waiting(usual, use) * DAY >= LEAST_WAIT_SECONDS),
        key=lambda use: -_reads_waiting(usual, use) / use.row.volume.size_bytes,
    )
    listed = [
        each
        for use in waiting[:PLANNED]
        if (each := _suggestion(use, usual[use.row.volume.pk])) is not None
    ]
    return tuple(
        sorted(
            listed,
            key=lambda each: (each.obstacle is not None, not each.is_enough, -each.seconds_per_gib),
        )
    )


def _reads_waiting(usual: Mapping[int, UsualWait], use: LoadShare) -> float:
    wait = usual.get(use.row.volume.pk)
    return wait.reads if wait is not None else 0.0


def cache_size(sizes: Sequence[int], volume_bytes: int) -> int:
    """The largest of `sizes` that is at most a quarter of the volume, else the smallest, and never
    more than the volume."""
    fitting = [size_bytes for size_bytes in sizes if size_bytes * CACHE_RATIO <= volume_bytes]
    return max(fitting) if fitting else min(*sizes, volume_bytes)


def _suggestion(use: LoadShare, usual: UsualWait) -> Suggestion | None:
    row = use.row
    if row.facts is None or row.placement is None:
        return None
    if row.lv is not None and row.lv.hosts_own:
        return None
    offered = sizes_for(row.facts, row.placement.vg_uuid, row.technology)
    size_bytes = cache_size(offered or SIZES_BYTES, row.volume.size_bytes)
    commands, obstacle = None, None
    try:
        commands = by_hand(row, size_bytes)
    except Refused as refused:
        obstacle = refused
    sums = use.load.uncached
    return Suggestion(
        use, size_bytes, usual, sums.read_ms / 1000, sums.dt_ms / 1000, obstacle, commands
    )

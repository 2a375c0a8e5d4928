"""Which volume to cache first: time waited for the slow disk per GiB of SSD needed. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storage.agent.commands import vacated_extents
from storage.agent.verbs.registry import commands
from storage.analysis.advice.usage import LoadShare
from storage.byte_sizes import GIB
from storage.formatting import seconds, size
from storage.inventory.facts import HostFacts, LogicalVolume
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


ENOUGH_SECONDS: Final = 15 * 60
"""Less than this much of figures is a first look, no advice to spend money on."""
LEAST_SECONDS: Final = 60
PLANNED: Final = 20
"""For so many volumes, those with the longest waits, the commands are worked out."""
CACHE_RATIO: Final = 4


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A volume without a cache. `waited_seconds` is what its reads took in the time that has
    figures (`covered_seconds`), those at once counted each; writes are left out, because a
    writethrough cache does not speed them up. `obstacle` is why the cache cannot be had now."""

    use: LoadShare
    size_bytes: int
    waited_seconds: float
    covered_seconds: float
    obstacle: Refused | None
    commands: ByHand | None

    @property
    def waiting_reads(self) -> float:
        """How many reads waited at a time, on average."""
        return self.waited_seconds / self.covered_seconds if self.covered_seconds else 0.0

    @property
    def seconds_per_gib(self) -> float:
        return self.waited_seconds / (self.size_bytes / GIB)

    @property
    def arithmetic(self) -> str:
        """The sum as a person would write it."""
        return (
            f"{self.waited_seconds:,.0f} s waited for reads in {seconds(self.covered_seconds)} / "
            f"{size(self.size_bytes)} = {self.seconds_per_gib:,.1f} s per GiB"
        )


def suggestions(shares: Sequence[LoadShare]) -> tuple[Suggestion, ...]:
    """Volumes on slow disks without a cache whose reads waited, the best use of SSD first."""
    waiting = sorted(
        (use for use in shares if use.row.cache is None and use.sums.dt_ms >= LEAST_SECONDS * 1000),
        key=lambda use: -use.sums.read_ms / use.row.volume.size_bytes,
    )
    listed = [each for use in waiting[:PLANNED] if (each := _suggestion(use)) is not None]
    return tuple(
        sorted(
            listed,
            key=lambda each: (each.obstacle is not None, -each.seconds_per_gib),
        )
    )


def cache_size(sizes: Sequence[int], volume_bytes: int) -> int | None:
    """The largest of `sizes` that is at most a quarter of the volume, else the smallest; None where
    even that is larger than the volume."""
    fitting = [size_bytes for size_bytes in sizes if size_bytes * CACHE_RATIO <= volume_bytes]
    if fitting:
        return max(fitting)
    smallest = min(sizes)
    return smallest if smallest <= volume_bytes else None


def _suggestion(use: LoadShare) -> Suggestion | None:
    row = use.row
    if row.facts is None or row.placement is None or not use.sums.read_ms:
        return None
    if row.lv is not None and row.lv.hosts_own:
        return None
    offered = sizes_for(row.facts, row.placement.vg_uuid, row.technology)
    size_bytes = cache_size(offered or SIZES_BYTES, row.volume.size_bytes)
    if size_bytes is None:
        return None
    commands, obstacle = None, None
    try:
        commands = by_hand(row, size_bytes)
    except Refused as refused:
        obstacle = refused
    return Suggestion(
        use, size_bytes, use.sums.read_ms / 1000, use.sums.dt_ms / 1000, obstacle, commands
    )

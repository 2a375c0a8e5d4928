"""The commands that a person would type to add a cache, where root lets Tiercel only look. Pure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from storage.agent.commands import vacated_extents
from storage.agent.verbs.registry import commands
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner import PlannedStep, Refused, plan
from storage.planner.technologies.lookup import of_cache
from storage.planner.wish import BadWish, CacheWish, Wish
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class ByHand:
    """Shell lines that add the cache, and those that take it off again."""

    add: tuple[str, ...]
    remove: tuple[str, ...]


def by_hand(row: VolumeSnapshot, size_bytes: int, mode: str = "writethrough") -> ByHand:
    """The commands for a cache of `size_bytes`, as if the group were allowed.

    Raises `Refused` where the volume cannot have one. The names are the same each time.
    """
    facts, lv, placement, now = row.facts, row.lv, row.placement, row.wish
    if facts is None or lv is None or placement is None or now is None:
        raise Refused("not_found", "The volume is missing on the host.", "Refresh the host.")
    try:
        cache = row.technology.wish.new(row.volume.key, size_bytes, mode)
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

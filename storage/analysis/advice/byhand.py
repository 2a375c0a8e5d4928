"""The very commands the agent would run for a suggestion, for an operator to run by hand."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from uuid import NAMESPACE_OID, uuid5

from storage.agent.commands import vacated_extents
from storage.agent.verbs.registry import commands
from storage.inventory.facts import HostFacts
from storage.naming import cache_device_name, pool_name
from storage.planner import PlannedStep, Refused, Target, plan
from storage.planner.wish import BadWish, Bcache, LvmCache, Wish, smallest_chunk_kib
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
    target = Target(
        row.volume.key, placement.vg_uuid, lv.vg_name, placement.lv_name, placement.lv_uuid
    )
    try:
        wish = Wish(now.size_bytes, now.tier, now.layout, _cache(row, size_bytes))
    except BadWish as error:
        raise Refused("unsupported", str(error), "Choose another volume.") from error
    steps = plan(as_if_allowed(facts), target, wish)
    return ByHand(_lines(steps), _removal(row, wish))


def as_if_allowed(facts: HostFacts) -> HostFacts:
    """The same host if root allowed every volume group. What is left behind only the agent clears,
    which reads where it lies while it works."""
    vgs = tuple(dataclasses.replace(vg, allowed=True, clears_freed=None) for vg in facts.vgs)
    return dataclasses.replace(facts, vgs=vgs)


def _cache(row: VolumeSnapshot, size_bytes: int) -> LvmCache | Bcache:
    key = row.volume.key
    if row.technology == "lvmcache":
        return LvmCache(pool_name(key), size_bytes, chunk_kib=smallest_chunk_kib(size_bytes))
    return Bcache(cache_device_name(key), str(uuid5(NAMESPACE_OID, key)), size_bytes)


def _lines(steps: tuple[PlannedStep, ...]) -> tuple[str, ...]:
    return tuple(command.shell for step in steps for command in commands(step.verb, step.args))


def _removal(row: VolumeSnapshot, wish: Wish) -> tuple[str, ...]:
    place = {"vg": row.lv.vg_name, "lv": row.lv.name} if row.lv is not None else {}
    if isinstance(wish.cache, Bcache):
        cset = {"name": wish.cache.name, "cset_uuid": wish.cache.cset_uuid}
        steps = [("bcache.detach", place), ("cset.remove", {**place, **cset})]
    else:
        pool = {"pool": wish.cache.name} if wish.cache is not None else {}
        steps = [("cache.detach", {**place, **pool})]
    each = [command for verb, args in steps for command in commands(verb, args)]
    return tuple(command.shell for command in each if not vacated_extents.asks(command.argv))

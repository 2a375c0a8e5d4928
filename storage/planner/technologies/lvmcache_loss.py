"""A lost SSD: the state of a volume whose lvmcache was on it. Pure.

The kernel passes errors of the cache device up, so that even reads of a clean writethrough cache
fail. Nothing here ever gives up data: only a cache that provably held no dirty data is dropped.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.inventory.volume_parts import DataStanding
from storage.naming import is_pool_name
from storage.planner.draft import Draft, Refused

MISSING = "[unknown]"
"""LVM's name for a physical volume that it does not find."""
DROP = "cache.drop"


@dataclass(frozen=True, slots=True)
class Loss:
    """`kind`: clean (the cache can be dropped and nothing is lost), dirty (it may hold the only
    copy of new data), unknown (the kernel no longer knows), mixed (the missing disk also
    carried data of `others`, volumes of the group). `pv_uuids` are LVM's uuids of the missing
    disks, `cache` is the pool's name without LVM's suffix. `is_origin_lost`: a part of the volume
    itself is on a missing disk too, so that nothing of the cache may be given up."""

    kind: Literal["clean", "dirty", "unknown", "mixed"]
    cache: str
    mode: str
    dirty_bytes: int
    pv_uuids: tuple[str, ...]
    others: tuple[str, ...] = ()
    is_origin_lost: bool = False


def loss_of(facts: HostFacts, lv: LogicalVolume) -> Loss | None:
    """The loss of the volume's LVM cache; None while all of the cache is there. What LVM keeps on
    several disks is there as long as one of them is."""
    cache = lv.cache
    if cache is None or not _is_lost(cache.standing, cache.pvs):
        return None
    pvs = tuple(pv.uuid for pv in facts.pvs if pv.vg_uuid == lv.vg_uuid and pv.missing)
    others = tuple(
        each.name
        for each in facts.lvs
        if each.vg_uuid == lv.vg_uuid
        and _is_lost(each.standing, each.pvs)
        and not _is_cache_part(each)
        # What stands on the cached volume is lost with its cache alone, as a thin pool and its
        # volumes are.
        and lv.uuid not in each.parts
        and "sparse" not in each.layout
    )
    kind: Literal["clean", "dirty", "unknown", "mixed"] = "clean"
    if others:
        kind = "mixed"
    elif cache.mode != "writethrough" or cache.dirty_bytes:
        kind = "dirty"
    elif cache.failed or cache.needs_check or not (lv.active and cache.dirty_known):
        kind = "unknown"
    name = cache.pool.removesuffix("_cpool")
    is_origin_lost = _is_lost(lv.standing, lv.pvs)
    return Loss(kind, name, cache.mode, cache.dirty_bytes, pvs, others, is_origin_lost)


def _is_lost(standing: DataStanding | None, pvs: Collection[str]) -> bool:
    """An older agent reports no standing: then each disk counts."""
    return MISSING in pvs if standing is None else standing.lost


def drop(draft: Draft, loss: Loss) -> None:
    """The step that gives up a lost, clean cache; refuses every other loss."""
    if loss.kind != "clean":
        raise Refused(
            "dirty" if loss.kind == "dirty" else "degraded",
            f"The SSD under the cache {loss.cache} is missing, and the cache may hold data that "
            "exists nowhere else."
            if loss.kind != "mixed"
            else f"The missing disk also carried data of {', '.join(loss.others)}.",
            "The volume's page has the runbook; Tiercel takes no action here automatically.",
        )
    if not is_pool_name(loss.cache):
        raise Refused(
            "not_ours",
            f"The cache pool {loss.cache} was not made by Tiercel.",
            f"It is lost and was clean. On the host: lvconvert --uncache "
            f"{shlex.quote(f'{draft.vg.name}/{draft.lv_name}')}",
        )
    draft.add(DROP, f"Drop the lost cache {loss.cache}", makes_irrevocable=True, pool=loss.cache)


def _is_cache_part(lv: LogicalVolume) -> bool:
    """A pool, its data or metadata, or the group's spare metadata: never a volume's own data."""
    role = set(lv.role)
    if role & {"image", "raid"}:
        # One copy of something: what it is a copy of is judged itself.
        return True
    part = "cache" in role and bool(role & {"data", "metadata"})
    return part or "spare" in role or lv.layout[:2] == ("cache", "pool")

"""The steps of lvmcache on a plain volume: pool, attach, mode, flush, detach; all online."""

from __future__ import annotations

import math
import shlex
from typing import Any

from storage.byte_sizes import SECTOR_BYTES
from storage.inventory.facts import DmCache, HostFacts, LogicalVolume
from storage.naming import ZEROED_TAG, is_made_beside, is_pool_name
from storage.planner.allocation import (
    LONG_WINDOW,
    WINDOW,
    demand_present,
    demand_redundant,
    fast_room,
    not_this_cache,
    same_sectors,
    unnamed,
)
from storage.planner.draft import DIRTY_LIMIT_BYTES, Draft, Refused, demand_mark, title_of_settings
from storage.planner.lvm_sizes import pool_bytes, round_up
from storage.planner.technologies.lvmcache_loss import drop, loss_of
from storage.planner.wish import LvmCache

SUB_LV_SUFFIX = "_cpool"
SPARE_ROLE = "spare"
CLEANER = "cleaner"
MIN_THRESHOLD_CHUNKS = 8
"""The kernel target gets at least 8 chunks as migration_threshold, whatever was asked for
(lvm2 libdm-deptree.c), and says so in its status."""
UNCACHEABLE = {"thin", "writecache"}
"""LVM 2.03.16 puts no cache in front of these; nor of the store of a snapshot."""


def shape(draft: Draft) -> None:
    """Add the steps that bring the volume's dm-cache to the wish."""
    wanted = draft.wish.cache
    current = draft.lv.cache if draft.lv is not None else None
    if isinstance(wanted, LvmCache) and draft.lv is not None:
        _unregistered(draft, draft.lv)
    if isinstance(wanted, LvmCache):
        if current is None:
            _attach(draft, wanted, _make(draft, wanted))
        elif _is_wanted(draft, current, wanted):
            _set(draft, current, wanted)
            _remove_pools(draft, keep=wanted.name)
        else:
            _replace(draft, current, wanted)
    else:
        if current is not None:
            _detach(draft, current)
        _remove_pools(draft, keep=None)


def _unregistered(draft: Draft, lv: LogicalVolume) -> None:
    """Raises Refused while bcache has the volume: its guest wrote a superblock into it."""
    name = f"{draft.vg.name}/{lv.name}"
    disk = lv.kname or "dm-N"
    if lv.bcache is not None:
        raise Refused(
            "unsupported",
            f"{name} is a bcache backing device.",
            "Where its guest made it so (make-bcache in the guest), shut the guest down and run on "
            f"the host: echo 1 > /sys/block/{disk}/bcache/stop. It is not registered again.",
        )
    if any(cset.lv_uuid == lv.uuid for cset in draft.facts.csets):
        raise Refused(
            "unsupported",
            f"{name} holds a bcache cache set that is registered on this host.",
            "Where its guest made it so (make-bcache in the guest), shut the guest down and run on "
            f"the host: echo 1 > /sys/block/{disk}/bcache/set/unregister",
        )


def pool_name_of(cache: DmCache) -> str:
    """LVM renames an attached pool `X` to the hidden `X_cpool`; we always say `X`."""
    return cache.pool.removesuffix(SUB_LV_SUFFIX)


def is_half_removed(facts: HostFacts, cache: DmCache) -> bool:
    """LVM was killed while it emptied the cache, to remove it or to change its mode: it does that
    by a flag beside its policy, which stays on. A locked group has LVM at work, so that the facts
    are stale and nothing was interrupted yet."""
    emptied = cache.policy == CLEANER and cache.lvm_policy not in ("", CLEANER)
    return emptied and not facts.stale


def _make(draft: Draft, wanted: LvmCache, *, beside: DmCache | None = None) -> bool:
    """Add the steps that make the wished pool, unless it is there. False, and nothing added, where
    there is no room for it `beside` the cache in use."""
    _cacheable(draft)
    if not is_pool_name(wanted.name):
        raise unnamed(wanted.name)
    pool = draft.facts.lv_named(draft.vg.uuid, wanted.name)
    if pool is not None and pool not in unattached_pools(draft):
        raise not_this_cache(draft, wanted.name)
    if pool is not None and _is_usable(pool) and _fits(draft, pool.size_bytes, wanted):
        _demand_mark(draft, pool)
        _remove_pools(draft, keep=wanted.name)
        same_sectors(draft, pool.pvs)
        if wanted.mode == "writeback":
            demand_redundant(draft, pool.pvs)
        demand_present(draft, pool.pvs)
        if not is_pool(pool):
            _create_pool(draft, wanted, pool)
        return True
    _remove_pools(draft, keep=None)
    if beside is not None and pool_name_of(beside) == wanted.name:
        return False
    try:
        _create_pool(draft, wanted)
    except Refused as refused:
        if beside is None or refused.code != "no_space":
            raise
        return False
    return True


def _attach(draft: Draft, wanted: LvmCache, is_made: bool) -> None:
    if not is_made:
        _create_pool(draft, wanted)
    draft.add(
        "cache.attach",
        f"Attach the cache {wanted.name}: empty at first, it fills as the guest reads",
        pool=wanted.name,
        mode=wanted.mode,
        migration_threshold=wanted.migration_threshold_sectors,
    )


def is_pool(lv: LogicalVolume) -> bool:
    """Whether LVM calls it a cache pool: one that is being made is a plain volume."""
    return {"cache", "pool"} <= set(lv.layout)


def _is_usable(pool: LogicalVolume) -> bool:
    """A guest may get it: its data part was zeroed, or is still to be. A Tiercel before 0.3 zeroed
    none."""
    return ZEROED_TAG in pool.tags or not is_pool(pool)


def _fits(draft: Draft, size_bytes: int, wanted: LvmCache) -> bool:
    """Whether a pool of that size is the wished one, which is made of whole extents and chunks."""
    return wanted.size_bytes <= size_bytes <= _whole_bytes(draft, wanted)


def _is_wanted(draft: Draft, current: DmCache, wanted: LvmCache) -> bool:
    same = pool_name_of(current) == wanted.name
    return same and _fits(draft, current.size_bytes, wanted)


def _replace(draft: Draft, current: DmCache, wanted: LvmCache) -> None:
    """LVM resizes no cache: the new one is made first where both have room, else the old one goes
    first. In between the volume runs without a cache, and every stop on the way is sound."""
    is_made = _make(draft, wanted, beside=current)
    _detach(draft, current, WINDOW if is_made else LONG_WINDOW)
    if not is_made:
        _free_pool(draft, current)
    _attach(draft, wanted, is_made)


def _free_pool(draft: Draft, current: DmCache) -> None:
    """Count on the room of the pool in use, which detaching it frees."""
    name = f"{pool_name_of(current)}{SUB_LV_SUFFIX}"
    parts = [
        lv
        for lv in draft.facts.lvs
        if lv.vg_uuid == draft.vg.uuid and lv.name in (f"{name}_cdata", f"{name}_cmeta")
    ]
    for part in parts:
        draft.free(part)
    if not parts and len(current.pvs) == 1:
        freed = draft.freed_bytes
        freed[current.pvs[0]] = freed.get(current.pvs[0], 0) + current.size_bytes


def _cacheable(draft: Draft) -> None:
    lv = draft.lv
    if lv is not None and "snapshot" in lv.role:
        raise Refused(
            "unsupported",
            f"{draft.vg.name}/{lv.name} is a snapshot; LVM puts no cache in front of one.",
            "Add the cache to the volume that it is a snapshot of.",
        )
    if lv is not None and UNCACHEABLE & set(lv.layout):
        raise Refused(
            "unsupported",
            f"{draft.vg.name}/{lv.name} is {', '.join(lv.layout)}; lvmcache serves linear, "
            "striped and RAID volumes.",
            "Cache the volume below it, or copy the data to a plain volume.",
        )


def _create_pool(draft: Draft, wanted: LvmCache, made: LogicalVolume | None = None) -> None:
    """A zeroed pool; where its data part is `made` already, the rest of that."""
    if not draft.vg.zeroes_pools:
        raise Refused(
            "unsupported",
            "The agent on this host is older: it does not zero a cache before a guest gets it.",
            "Upgrade the agent: manage.py enrol, with the host's name and address, prints a "
            "command; run it as root on the host. Then refresh the host.",
        )
    if made is not None:
        size_bytes, pvs = made.size_bytes, made.pvs
    else:
        extent_bytes = draft.vg.extent_bytes
        size_bytes = _whole_bytes(draft, wanted)
        needed_bytes = pool_bytes(
            size_bytes, wanted.chunk_kib, extent_bytes, spare_bytes(draft.facts, draft.vg.uuid)
        )
        writeback = wanted.mode == "writeback"
        pvs = fast_room(draft, "pool.create", needed_bytes, writeback=writeback)
        same_sectors(draft, pvs)
    draft.add_beside(
        "pool.create",
        f"Create the cache pool {wanted.name} on SSD and zero it",
        uuid=made.uuid if made is not None else None,
        name=wanted.name,
        size_bytes=size_bytes,
        pvs=list(pvs),
        chunk_kib=wanted.chunk_kib,
        volume_key=draft.target.volume_key,
    )


def _whole_bytes(draft: Draft, wanted: LvmCache) -> int:
    """A pool is whole extents and whole chunks."""
    unit = math.lcm(draft.vg.extent_bytes, wanted.chunk_kib * 1024)
    return round_up(wanted.size_bytes, unit)


def spare_bytes(facts: HostFacts, vg_uuid: str) -> int:
    """The group's `lvol0_pmspare`, kept for repairs, as big as the largest pool metadata."""
    return max(
        (lv.size_bytes for lv in facts.lvs if lv.vg_uuid == vg_uuid and SPARE_ROLE in lv.role),
        default=0,
    )


def _set(draft: Draft, current: DmCache, wanted: LvmCache) -> None:
    if current.needs_check or current.failed:
        raise _broken(draft)
    changes: dict[str, Any] = {}
    if current.mode != wanted.mode:
        if wanted.mode == "writeback":
            demand_redundant(draft, current.pvs)
        changes["mode"] = wanted.mode
    elif is_half_removed(draft.facts, current):
        # A change of mode would take the flag off on its way; a change of policy does not.
        raise Refused(
            "degraded",
            f"A removal of the cache of {draft.vg.name}/{draft.lv_name} was interrupted: the cache "
            "only writes back its data, and LVM cannot reverse that.",
            "Finish the removal, then add a cache again.",
        )
    must_flush = "mode" in changes or draft.wish.flushed
    flushed = must_flush and _flush(draft, current)
    if flushed or current.policy == CLEANER:
        changes["policy"] = "smq"
    least = MIN_THRESHOLD_CHUNKS * current.chunk_bytes // SECTOR_BYTES
    is_now, should_be = current.migration_threshold_sectors, wanted.migration_threshold_sectors
    if max(is_now, least) != max(should_be, least):
        changes["migration_threshold"] = wanted.migration_threshold_sectors
    if changes:
        # The flush has replaced the policy; to restore it is no change of its own.
        named = {key: changes[key] for key in changes if changes[key] != current.policy}
        draft.add("cache.set", title_of_settings(named or changes), **changes)


def _flush(draft: Draft, current: DmCache) -> bool:
    """True when there is more dirty data than LVM may flush under the group's lock, or any where
    that is what is wished."""
    limit_bytes = 0 if draft.wish.flushed else DIRTY_LIMIT_BYTES
    if current.dirty_bytes <= limit_bytes:
        return False
    pace: dict[str, Any] = {}
    if draft.wish.pace_sectors is not None:
        pace["migration_threshold"] = draft.wish.pace_sectors
    draft.add(
        "cache.flush",
        "Write dirty data back to the HDD",
        dirty_limit_bytes=limit_bytes,
        **pace,
    )
    return True


def _detach(draft: Draft, current: DmCache, window: str = "") -> None:
    if draft.lv is not None and (loss := loss_of(draft.facts, draft.lv)) is not None:
        drop(draft, loss)
        return
    if current.needs_check or current.failed:
        raise _broken(draft)
    name = pool_name_of(current)
    if not is_pool_name(name):
        raise Refused(
            "not_ours",
            f"The cache pool {name} was not made by Tiercel, and detaching removes the pool.",
            "Detach it on the host: lvconvert --splitcache "
            + shlex.quote(f"{draft.vg.name}/{draft.lv_name}"),
        )
    _flush(draft, current)
    draft.add(
        "cache.detach",
        f"Detach the cache {name} and free its SSD space{window}",
        pool=name,
        dirty_limit_bytes=DIRTY_LIMIT_BYTES,
    )


def _broken(draft: Draft) -> Refused:
    name = shlex.quote(f"{draft.vg.name}/{draft.lv_name}")
    return Refused(
        "degraded",
        f"The cache of {draft.vg.name}/{draft.lv_name} needs a check or has failed.",
        f"Stop the guest, then on the host: lvchange -an {name}; "
        f"lvconvert --repair {name}; lvchange -ay the same.",
    )


def unattached_pools(draft: Draft) -> tuple[LogicalVolume, ...]:
    """Pools that we made for this volume, finished or not, and that no cache uses."""
    return tuple(
        lv
        for lv in draft.ours()
        if is_pool_name(lv.name) and (is_pool(lv) or is_made_beside(lv.name, lv.tags))
    )


def _demand_mark(draft: Draft, pool: LogicalVolume) -> None:
    if draft.is_marked:
        demand_mark(pool, "pool")


def _remove_pools(draft: Draft, keep: str | None) -> None:
    """What an earlier, broken attempt left of this volume's pools."""
    # An older agent cannot note what it held.
    is_noted = draft.lv is not None and draft.vg.clears_freed is not None
    noted: dict[str, Any] = {"lv": draft.lv_name} if is_noted else {}
    for lv in unattached_pools(draft):
        if lv.name != keep:
            _demand_mark(draft, lv)
            draft.add_beside(
                "pool.remove",
                f"Remove the unused pool {lv.name}",
                uuid=lv.uuid,
                pool=lv.name,
                **noted,
            )
            draft.free(lv)

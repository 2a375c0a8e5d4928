"""A dm-cache on a plain volume: pool, attach, mode, flush, detach; all online."""

from __future__ import annotations

from typing import Any

from storage.facts import DmCache, LogicalVolume
from storage.plan.draft import DIRTY_LIMIT_BYTES, Draft, Refused
from storage.plan.ssd import fast_room, other_technology, same_sectors
from storage.space import pool_bytes, round_up
from storage.wish import LvmCache

SUB_LV_SUFFIX = "_cpool"
SPARE_ROLE = "spare"
CLEANER = "cleaner"


def shape(draft: Draft) -> None:
    """Add the steps that bring the volume's dm-cache to the wish."""
    wanted = draft.wish.cache
    current = draft.lv.cache if draft.lv is not None else None
    if draft.lv is not None and draft.lv.bcache is not None:
        raise Refused(
            "unsupported",
            f"{draft.vg.name}/{draft.lv_name} is a bcache backing device.",
            "Give it a bcache cache instead of lvmcache.",
        )
    if isinstance(wanted, LvmCache):
        if current is None:
            _remove_pools(draft, keep=wanted.name)
            _attach(draft, wanted)
        else:
            _set(draft, current, wanted)
            _remove_pools(draft, keep=wanted.name)
    else:
        if current is not None:
            _detach(draft, current)
        _remove_pools(draft, keep=None)


def pool_name_of(cache: DmCache) -> str:
    """LVM renames an attached pool `X` to the hidden `X_cpool`; we always say `X`."""
    return cache.pool.removesuffix(SUB_LV_SUFFIX)


def _attach(draft: Draft, wanted: LvmCache) -> None:
    if draft.facts.lv_named(draft.vg.uuid, wanted.name) is None:
        _create_pool(draft, wanted)
    draft.add(
        "cache.attach",
        f"Attach the cache {wanted.name}",
        pool=wanted.name,
        mode=wanted.mode,
        migration_threshold=wanted.migration_threshold_sectors,
    )


def _create_pool(draft: Draft, wanted: LvmCache) -> None:
    extent_bytes = draft.vg.extent_bytes
    needed_bytes = pool_bytes(
        wanted.size_bytes, wanted.chunk_kib, extent_bytes, _spare_bytes(draft)
    )
    pvs = fast_room(draft, needed_bytes, writeback=wanted.mode == "writeback")
    same_sectors(draft, pvs)
    draft.add_beside(
        "pool.create",
        f"Create the cache pool {wanted.name} on SSD",
        name=wanted.name,
        size_bytes=round_up(wanted.size_bytes, extent_bytes),
        pvs=list(pvs),
        chunk_kib=wanted.chunk_kib,
        volume_key=draft.target.volume_key,
    )


def _spare_bytes(draft: Draft) -> int:
    """The group's `lvol0_pmspare`, kept for repairs, as big as the largest pool metadata."""
    return max(
        (
            lv.size_bytes
            for lv in draft.facts.lvs
            if lv.vg_uuid == draft.vg.uuid and SPARE_ROLE in lv.role
        ),
        default=0,
    )


def _set(draft: Draft, current: DmCache, wanted: LvmCache) -> None:
    name = pool_name_of(current)
    if name != wanted.name or current.size_bytes < wanted.size_bytes:
        raise other_technology(draft, name)
    if current.needs_check or current.failed:
        raise _broken(draft)
    changes: dict[str, Any] = {}
    if current.mode != wanted.mode:
        if wanted.mode == "writeback":
            _redundant(draft, current)
        changes["mode"] = wanted.mode
        flushed = _flush(draft, current)
    else:
        flushed = False
    if flushed or current.policy == CLEANER:
        changes["policy"] = "smq"
    if current.migration_threshold_sectors != wanted.migration_threshold_sectors:
        changes["migration_threshold"] = wanted.migration_threshold_sectors
    if changes:
        what = ", ".join(
            f"{key.replace('_', ' ')} {value}" for key, value in changes.items()
        )
        draft.add("cache.set", f"Set the cache's {what}", **changes)


def _flush(draft: Draft, current: DmCache) -> bool:
    """True when there is more dirty data than LVM may flush under the group's lock."""
    if current.dirty_bytes <= DIRTY_LIMIT_BYTES:
        return False
    draft.add(
        "cache.flush",
        "Write dirty data back to the slow disk",
        polled=True,
        dirty_limit_bytes=DIRTY_LIMIT_BYTES,
    )
    return True


def _detach(draft: Draft, current: DmCache) -> None:
    if current.needs_check or current.failed:
        raise _broken(draft)
    _flush(draft, current)
    draft.add(
        "cache.detach",
        "Detach the cache and free its SSD space",
        polled=True,
        pool=pool_name_of(current),
        dirty_limit_bytes=DIRTY_LIMIT_BYTES,
    )


def _redundant(draft: Draft, current: DmCache) -> None:
    below = [pv for pv in draft.facts.pvs if pv.name in current.pvs]
    if not below or not all(pv.redundant and pv.healthy for pv in below):
        raise Refused(
            "not_redundant",
            "Writeback would keep the only copy of new data on an SSD that is not redundant "
            "or not healthy.",
            "Stay with writethrough, or move the cache to a healthy md RAID1 of SSDs.",
        )


def _broken(draft: Draft) -> Refused:
    return Refused(
        "degraded",
        f"The cache of {draft.vg.name}/{draft.lv_name} needs a check or has failed.",
        f"Stop the guest, then on the host: lvchange -an {draft.vg.name}/{draft.lv_name}; "
        f"lvconvert --repair {draft.vg.name}/{draft.lv_name}; lvchange -ay the same.",
    )


def _is_unattached_pool(lv: LogicalVolume) -> bool:
    return (
        "pool" in lv.layout
        and "cache" in lv.layout
        and not lv.name.endswith(SUB_LV_SUFFIX)
    )


def _remove_pools(draft: Draft, keep: str | None) -> None:
    """Pools of this volume that no cache uses: what an earlier, broken attempt left."""
    for lv in draft.ours():
        if _is_unattached_pool(lv) and lv.name != keep:
            draft.add_beside(
                "pool.remove",
                f"Remove the unused pool {lv.name}",
                uuid=lv.uuid,
                pool=lv.name,
            )

"""The SSD space of a host: sold, used otherwise, reserved and free. Pure.

The caller passes the reservations in (from `jobs.queue.reservations`): a reservation is the space
of a cache that was accepted and does not exist on the host yet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from storage.agent.verbs.pool import TEXT_BYTES
from storage.inventory.facts import HostFacts, PhysicalVolume, VolumeGroup
from storage.planner.technologies.lookup import cache_of, of_layout, volume_bytes
from storage.planner.technologies.lvmcache_plan import SUB_LV_SUFFIX
from storage.planner.technologies.technology import Cache
from storage.planner.wish import Wish
from storage.volumes.cache_sizes import free_bytes


@dataclass(frozen=True, slots=True)
class Capacity:
    """Fast space of one volume group, in bytes. `sold_bytes` lies in caches that carry a cache
    plan; `other_bytes` is everything else, also the metadata of the sold caches. The four parts
    make the total, unless more is reserved than free (`is_oversold`). `more_caches` is how many
    more cached volumes LVM's text about the group has room for; None where that is not known."""

    vg_uuid: str
    vg_name: str
    total_bytes: int
    sold_bytes: int
    other_bytes: int
    reserved_bytes: int
    free_bytes: int
    is_oversold: bool = False
    more_caches: int | None = None

    @property
    def taken_bytes(self) -> int:
        """What lies on the SSD now."""
        return self.sold_bytes + self.other_bytes


def capacities(
    facts: HostFacts, sold_lv_uuids: Collection[str], reserved: Mapping[str, int]
) -> tuple[Capacity, ...]:
    """One for each volume group with fast disks, by name.

    `sold_lv_uuids` are the volumes whose customers pay for a cache; `reserved` is bytes by uuid of
    the volume group.
    """
    parts = []
    for vg in sorted(facts.vgs, key=lambda vg: vg.name):
        fast = [pv for pv in facts.pvs_of(vg.uuid, "fast") if not pv.missing]
        if not fast:
            continue
        total = sum(pv.size_bytes for pv in fast)
        unused = sum(pv.free_bytes for pv in fast)
        sold = min(_sold_bytes(facts, vg.uuid, sold_lv_uuids), total - unused)
        held = reserved.get(vg.uuid, 0)
        parts.append(
            Capacity(
                vg_uuid=vg.uuid,
                vg_name=vg.name,
                total_bytes=total,
                sold_bytes=sold,
                other_bytes=total - unused - sold,
                reserved_bytes=held,
                free_bytes=max(0, unused - held),
                is_oversold=held > unused,
                more_caches=_more_caches(vg),
            )
        )
    return tuple(parts)


def _more_caches(vg: VolumeGroup) -> int | None:
    if not vg.metadata_bytes or vg.metadata_free_bytes is None:
        return None
    return vg.metadata_free_bytes // TEXT_BYTES


def _sold_bytes(facts: HostFacts, vg_uuid: str, sold_lv_uuids: Collection[str]) -> int:
    sold = (lv for lv in facts.lvs if lv.vg_uuid == vg_uuid and lv.uuid in sold_lv_uuids)
    caches = (cache_of(facts, lv) for lv in sold)
    return sum(cache.size_bytes or 0 for cache in caches if cache is not None)


def wanted_bytes(facts: HostFacts, vg_uuid: str, wish: Wish, lv_uuid: str | None = None) -> int:
    """The new SSD space that `wish` takes, for a volume on SSD (the LV `lv_uuid` once it exists) or
    for a cache on SSD: 0 for what is there already."""
    vg = facts.vg(vg_uuid)
    if vg is None:
        return 0
    lv = facts.lv(lv_uuid) if lv_uuid is not None else None
    old = cache_of(facts, lv) if lv is not None else None
    size_bytes = wish.cache.size_bytes if wish.cache is not None else 0
    return left_bytes(
        wish,
        volume_bytes=volume_bytes(wish.size_bytes, wish.layout, vg.extent_bytes),
        fast_bytes=_fast_bytes(facts, vg_uuid, lv_uuid),
        cache_bytes=of_layout(wish.layout).needed_bytes(facts, vg, size_bytes),
        has_cache=cache_exists(facts, vg_uuid, wish),
        old_bytes=(old.size_bytes or 0) if old is not None else None,
        free_bytes=free_bytes(facts, vg_uuid, "fast"),
    )


def net_bytes(facts: HostFacts, vg_uuid: str, wish: Wish, cache: Cache | None) -> int:
    """How much more SSD the cache of `wish` takes than the one that is there, once that is gone."""
    vg = facts.vg(vg_uuid)
    technology = of_layout(wish.layout)
    sizes = [
        wish.cache.size_bytes if wish.cache is not None else 0,
        (cache.size_bytes or 0) if cache is not None else 0,
    ]
    if vg is None:
        return 0
    after, now = (technology.needed_bytes(facts, vg, each) if each else 0 for each in sizes)
    return after - now


def left_bytes(
    wish: Wish,
    *,
    volume_bytes: int,
    fast_bytes: int,
    cache_bytes: int,
    has_cache: bool,
    old_bytes: int | None,
    free_bytes: int,
) -> int:
    """How much SSD `wish` still has to take of the `volume_bytes` that it takes for a volume on
    SSD, of which `fast_bytes` lie there, or of the `cache_bytes` for its cache, which may be there
    (`has_cache`). `old_bytes` is the size of the cache it has now, None without one, `free_bytes`
    the free SSD."""
    if wish.life != "live":
        return 0
    if wish.tier == "ssd":
        return max(0, volume_bytes - fast_bytes)
    if wish.cache is None or has_cache:
        return 0
    if old_bytes is None or cache_bytes <= free_bytes:
        return cache_bytes
    # There is no room for both, so that the old cache goes first and leaves its own.
    return max(0, cache_bytes - old_bytes)


def _fast_bytes(facts: HostFacts, vg_uuid: str, lv_uuid: str | None) -> int:
    """How much of an LV lies on SSD."""
    lv = facts.lv(lv_uuid) if lv_uuid is not None else None
    fast = {pv.name for pv in facts.pvs_of(vg_uuid, "fast")}
    segments = lv.segments if lv is not None else ()
    return sum(each.size_bytes for each in segments if fast.intersection(each.pvs))


def cache_exists(facts: HostFacts, vg_uuid: str, wish: Wish) -> bool:
    """True once the LV that `wish` names for its cache is there, used already or not."""
    names = {lv.name.removesuffix(SUB_LV_SUFFIX) for lv in facts.lvs if lv.vg_uuid == vg_uuid}
    return wish.cache is not None and wish.cache.name in names


def less_reserved(facts: HostFacts, vg_uuid: str, reserved_bytes: int) -> HostFacts:
    """The same inventory as if the reservations were fulfilled: the emptiest fast disks give. Below
    zero, as if so much were freed there."""
    left = reserved_bytes
    taken: dict[str, int] = {}
    for pv in sorted(facts.pvs_of(vg_uuid, "fast"), key=lambda pv: (-pv.free_bytes, pv.name)):
        if not pv.missing:
            taken[pv.uuid] = min(left, pv.free_bytes)
            left -= taken[pv.uuid]

    def after(pv: PhysicalVolume) -> PhysicalVolume:
        return dataclasses.replace(pv, free_bytes=pv.free_bytes - taken.get(pv.uuid, 0))

    return dataclasses.replace(facts, pvs=tuple(after(pv) for pv in facts.pvs))

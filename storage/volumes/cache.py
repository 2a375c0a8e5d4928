"""A volume's cache as it is now, in one shape for both technologies, and what could be had.

Pure: from facts to values the pages and forms show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from storage.agent.commands.retirement import retired
from storage.inventory.facts import (
    BcacheBacking,
    DmCache,
    HostFacts,
    LogicalVolume,
    PhysicalVolume,
    VolumeGroup,
)
from storage.planner.growth import tier_of
from storage.planner.lvm_sizes import choose, pool_bytes, round_up
from storage.planner.lvmcache import pool_name_of
from storage.planner.wish import (
    BCACHE_MIN_BYTES,
    GIB,
    MIB,
    Bcache,
    LvmCache,
    Wish,
    smallest_chunk_kib,
)

Technology = Literal["lvmcache", "bcache"]

SIZES_BYTES = (
    256 * MIB,
    512 * MIB,
    *(gib * GIB for gib in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)),
    *(gib * GIB for gib in (512, 768, 1024, 2048)),
)
"""Sizes a person chooses from: each step is worth having, and the list stays readable."""


@dataclass(frozen=True, slots=True)
class Cache:
    """`used_bytes` is None where the host cannot tell; `trouble` is '' or one sentence."""

    technology: Technology
    name: str
    mode: str
    size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int
    trouble: str


def technology_of(layout: str) -> Technology:
    """The layout decides: a bcache-ready volume takes bcache, any other lvmcache."""
    return "bcache" if layout == "bcache" else "lvmcache"


def cache_of(facts: HostFacts, lv: LogicalVolume) -> Cache | None:
    """The cache on a logical volume, None when it has none."""
    if lv.cache is not None:
        return _dm_cache(lv.cache)
    if lv.bcache is not None and lv.bcache.cset_uuid is not None:
        return _bcache(facts, lv.bcache, lv.bcache.cset_uuid)
    return None


def _dm_cache(cache: DmCache) -> Cache:
    trouble = ""
    if cache.failed:
        trouble = "The cache has failed: device-mapper permits no I/O on this volume."
    elif cache.needs_check:
        trouble = "The cache's metadata needs a check before it can be used again."
    return Cache(
        "lvmcache",
        pool_name_of(cache),
        cache.mode,
        cache.size_bytes,
        cache.used_bytes,
        cache.dirty_bytes,
        trouble,
    )


def _bcache(facts: HostFacts, backing: BcacheBacking, cset_uuid: str) -> Cache:
    cset = facts.cset(cset_uuid)
    trouble = ""
    if backing.state == "inconsistent":
        trouble = (
            "bcache lost its SSD while it held unwritten data. Restore the volume from a backup."
        )
    elif cset is None:
        trouble = "The cache's SSD device is not registered on the host."
    size_bytes = cset.size_bytes if cset is not None else None
    used_bytes = None
    if cset is not None and cset.available_percent is not None:
        used_bytes = cset.size_bytes * (100 - cset.available_percent) // 100
    name = _device_name(facts, cset_uuid) or cset_uuid
    return Cache(
        "bcache", name, backing.cache_mode, size_bytes, used_bytes, backing.dirty_bytes, trouble
    )


def _device_name(facts: HostFacts, cset_uuid: str) -> str | None:
    cset = facts.cset(cset_uuid)
    device = facts.lv(cset.lv_uuid) if cset is not None and cset.lv_uuid is not None else None
    return device.name if device is not None else None


def wish_now(facts: HostFacts, lv: LogicalVolume, layout: Literal["plain", "bcache"]) -> Wish:
    """The wish that would change nothing: what the volume is now.

    Raises `BadWish` where the volume is something Tiercel would never make (a foreign cache in
    passthrough mode, for instance).
    """
    cache: LvmCache | Bcache | None = None
    current = lv.bcache
    if lv.cache is not None:
        cache = LvmCache(
            name=pool_name_of(lv.cache),
            size_bytes=lv.cache.size_bytes,
            mode=lv.cache.mode,  # type: ignore[arg-type]  # LvmCache refuses other modes
            chunk_kib=lv.cache.chunk_bytes // 1024,
            migration_threshold_sectors=lv.cache.migration_threshold_sectors,
        )
    elif current is not None and current.cset_uuid is not None:
        cset = facts.cset(current.cset_uuid)
        cache = Bcache(
            name=_device_name(facts, current.cset_uuid) or "",
            cset_uuid=current.cset_uuid,
            size_bytes=cset.size_bytes if cset is not None else BCACHE_MIN_BYTES,
            cache_mode=current.cache_mode,  # type: ignore[arg-type]  # Bcache refuses others
            sequential_cutoff_bytes=current.sequential_cutoff_bytes,
            writeback_percent=current.writeback_percent,
        )
    life: Literal["live", "retired"] = "live" if retired(lv.tags) is None else "retired"
    return Wish(lv.guest_size_bytes, tier_of(facts, lv), layout, cache, life=life)


def sizes_for(facts: HostFacts, vg_uuid: str, technology: Technology) -> tuple[int, ...]:
    """Cache sizes in bytes, smallest first, for which the volume group has free SSD."""
    vg = facts.vg(vg_uuid)
    if vg is None:
        return ()
    fast = facts.pvs_of(vg_uuid, "fast")
    return tuple(
        size
        for size in SIZES_BYTES
        if size >= least_bytes(technology)
        and choose(fast, needed_bytes(facts, vg, technology, size))
    )


def least_bytes(technology: Technology) -> int:
    """The smallest cache worth offering."""
    return BCACHE_MIN_BYTES if technology == "bcache" else SIZES_BYTES[0]


def needed_bytes(facts: HostFacts, vg: VolumeGroup, technology: Technology, size_bytes: int) -> int:
    """The SSD space a new cache of `size_bytes` takes, with its metadata."""
    if technology == "bcache":
        return round_up(size_bytes, vg.extent_bytes)
    spare_bytes = max(
        (lv.size_bytes for lv in facts.lvs if lv.vg_uuid == vg.uuid and "spare" in lv.role),
        default=0,
    )
    chunk_kib = smallest_chunk_kib(size_bytes)
    return pool_bytes(size_bytes, chunk_kib, vg.extent_bytes, spare_bytes)


def free_bytes(facts: HostFacts, vg_uuid: str, tier: str) -> int:
    """Free space of a volume group on its fast or slow physical volumes."""
    return sum(pv.free_bytes for pv in facts.pvs_of(vg_uuid, tier) if not pv.missing)


def writeback_refusal(facts: HostFacts, vg_uuid: str) -> str:
    """Why writeback is not offered in this volume group; '' where it is."""
    fast = facts.pvs_of(vg_uuid, "fast")
    if any(is_safe(pv) for pv in fast):
        return ""
    if any(pv.redundant for pv in fast):
        return (
            "The SSD array is degraded: writeback would keep the only copy of new data on one "
            "device. Replace the failed member first."
        )
    return (
        "The SSD is not redundant: writeback would keep the only copy of new data on one device. "
        "Put the SSDs into an md RAID1 first."
    )


def is_safe(pv: PhysicalVolume) -> bool:
    """True where the device below may die without losing unwritten data."""
    return pv.redundant and pv.healthy and not pv.missing

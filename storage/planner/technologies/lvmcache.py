"""lvmcache: a cache pool of LVM, dm-cache in the kernel, on any plain volume."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from storage.agent.facts.program_versions import missing_feature
from storage.byte_sizes import KIB, MIB, SECTOR_BYTES
from storage.formatting import size
from storage.inventory.facts import DmCache, HostFacts, LogicalVolume, VolumeGroup
from storage.naming import MANAGED_TAG, ZEROED_TAG
from storage.planner.activation_advice import group_state
from storage.planner.draft import Draft, Refused
from storage.planner.lvm_sizes import pool_bytes, round_up
from storage.planner.technologies import lvmcache_plan
from storage.planner.technologies.degraded_mirror import is_on_degraded
from storage.planner.technologies.lvmcache_loss import loss_of
from storage.planner.technologies.lvmcache_plan import (
    CLEANER,
    MIN_THRESHOLD_CHUNKS,
    SUB_LV_SUFFIX,
    is_half_removed,
    pool_name_of,
    spare_bytes,
    unattached_pools,
)
from storage.planner.technologies.technology import Cache, Difference, Risk, Setting
from storage.planner.wish import (
    LVMCACHE_MIN_BYTES,
    CacheWish,
    Layout,
    LvmCache,
    TechnologyName,
    Tier,
    smallest_chunk_kib,
)

KERNEL_THRESHOLD_SECTORS = 2048
FAILED, INACTIVE = "failed, or needs a check", "not active"
NOT_REPORTED = "device-mapper does not report it"
THRESHOLD = "Migration threshold"


def _threshold(sectors: int) -> str:
    return f"{size(sectors * SECTOR_BYTES)} ({sectors} sectors)"


class LvmCacheTechnology:
    """Its answers, as `Technology` describes them."""

    name: TechnologyName = "lvmcache"
    layout: Layout = "plain"
    layout_label = "plain"
    layout_promise = "linear: can get an lvmcache cache later"
    about = (
        "LVM attaches a cache pool on the SSD of the same volume group. The guest keeps running."
    )
    made_label = "cache pool"
    wish: type[CacheWish] = LvmCache
    modes: tuple[str, ...] = LvmCache.modes
    settings: tuple[Setting, ...] = (
        Setting(
            "migration_threshold_sectors",
            THRESHOLD,
            _threshold,
            "Migration threshold, sectors",
            f"Amount of data moved between disk and SSD at once, in sectors of {SECTOR_BYTES} B: "
            "16384 is 8 MiB. A higher value warms the cache faster and slows the guest more.",
            "data on the move at once.",
            2**31,
        ),
    )
    least_bytes = LVMCACHE_MIN_BYTES
    least_offered_bytes = 256 * MIB
    header_bytes = 0
    has_latency_histogram = True
    tells_fill_seldom = False
    counts_write_hits = True
    counts_promotions = True
    unknown_content: Mapping[str, str] = {
        FAILED: "One that failed or needs a check: stop its guest, then on the host lvchange -an, "
        "lvconvert --repair and lvchange -ay; see its page if its SSD is lost.",
        INACTIVE: "One that is not active: on the host lvchange -ay, then read the host again.",
        NOT_REPORTED: "One that device-mapper does not report: `dmsetup status --target cache` on "
        "the host has no line of it; read the host again.",
    }

    def is_there(self, lv: LogicalVolume) -> bool:
        return lv.cache is not None

    def has_cache(self, lv: LogicalVolume) -> bool:
        return lv.cache is not None

    def is_born_for(self, lv: LogicalVolume) -> bool:
        return False

    def device_of(self, lv: LogicalVolume) -> str | None:
        return None

    def hides_volume(self, lv: LogicalVolume) -> bool:
        return False

    def why_not_running(self, lv: LogicalVolume) -> str:
        return ""

    def cache_of(self, facts: HostFacts, lv: LogicalVolume) -> Cache | None:
        cache = lv.cache
        if cache is None:
            return None
        trouble = code = ""
        if cache.failed:
            # The kernel maps reads and writes on, but ends every flush with an error.
            trouble = "The cache has failed: every flush of its guest fails."
            code = "cache_failed"
        elif cache.needs_check:
            trouble = "The cache's metadata needs a check: every flush of its guest fails."
            code = "cache_needs_check"
        return Cache(
            self.name,
            pool_name_of(cache),
            cache.mode,
            cache.size_bytes,
            cache.used_bytes,
            cache.dirty_bytes,
            trouble,
            code,
            cache.pvs,
        )

    def wish_of(self, facts: HostFacts, lv: LogicalVolume) -> CacheWish | None:
        if lv.cache is None:
            return None
        return LvmCache(
            name=pool_name_of(lv.cache),
            size_bytes=lv.cache.size_bytes,
            mode=lv.cache.mode,  # type: ignore[arg-type]  # LvmCache refuses other modes
            chunk_kib=lv.cache.chunk_bytes // KIB,
            migration_threshold_sectors=lv.cache.migration_threshold_sectors,
        )

    def dirty_bytes(self, lv: LogicalVolume) -> int:
        return lv.cache.dirty_bytes if lv.cache is not None else 0

    def block_bytes(self, lv: LogicalVolume) -> int:
        return lv.cache.chunk_bytes if lv.cache is not None else 0

    def is_lost(self, facts: HostFacts, lv: LogicalVolume) -> bool:
        return loss_of(facts, lv) is not None

    def why_content_is_unknown(self, lv: LogicalVolume) -> str:
        if lv.cache is None:
            return ""
        if lv.cache.failed or lv.cache.needs_check:
            return FAILED
        if not lv.active:
            return INACTIVE
        return "" if lv.cache.dirty_known else NOT_REPORTED

    def is_part(self, facts: HostFacts, lv: LogicalVolume, other: LogicalVolume) -> bool:
        return lv.cache is not None and (
            other.name.removesuffix(SUB_LV_SUFFIX) == pool_name_of(lv.cache)
        )

    def plan(self, draft: Draft) -> None:
        lvmcache_plan.shape(draft)

    def release(self, draft: Draft, lv: LogicalVolume) -> None:
        # Also where its guest made a bcache of it: the wish has no cache, and ignores that.
        lvmcache_plan.shape(draft)

    def held_as(self, draft: Draft, lv: LogicalVolume) -> str | None:
        return None

    def refuse_growth(self, draft: Draft, lv: LogicalVolume, size_bytes: int, tier: Tier) -> None:
        lack = missing_feature("extend_cached", draft.facts.lvm_version)
        if lv.cache is not None and lack is not None:
            raise Refused(
                "unsupported",
                lack,
                "Remove the cache, extend the volume, and add the cache again; or upgrade LVM.",
            )

    def unused(self, draft: Draft, caches: Sequence[CacheWish]) -> Iterator[LogicalVolume]:
        used = {cache.name for cache in caches if isinstance(cache, LvmCache)}
        return (lv for lv in unattached_pools(draft) if lv.name not in used)

    def needed_bytes(self, facts: HostFacts, vg: VolumeGroup, size_bytes: int) -> int:
        chunk_kib = smallest_chunk_kib(size_bytes)
        return pool_bytes(size_bytes, chunk_kib, vg.extent_bytes, spare_bytes(facts, vg.uuid))

    def rounded_bytes(self, cache: LvmCache, size_bytes: int, extent_bytes: int) -> int:
        return round_up(size_bytes, math.lcm(extent_bytes, cache.chunk_kib * KIB))

    def flushed(self, facts: HostFacts, cache: LvmCache) -> CacheWish:
        return cache

    def removal(self, cache: LvmCache) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "cache.detach", {"pool": cache.name}

    def differences(
        self, recorded: LvmCache, now: LvmCache, extent_bytes: int
    ) -> Iterator[Difference]:
        whole = math.lcm(extent_bytes, now.chunk_kib * KIB)
        if not 0 <= now.size_bytes - recorded.size_bytes < whole:
            yield Difference("Cache size", size(recorded.size_bytes), size(now.size_bytes))
        if recorded.mode != now.mode:
            yield Difference("Cache mode", recorded.mode, now.mode)
        least = MIN_THRESHOLD_CHUNKS * now.chunk_kib * KIB // SECTOR_BYTES
        thresholds = recorded.migration_threshold_sectors, now.migration_threshold_sectors
        if max(thresholds[0], least) != max(thresholds[1], least):
            yield Difference(THRESHOLD, *(size(each * SECTOR_BYTES) for each in thresholds))

    def is_only_writing_back(self, lv: LogicalVolume) -> bool:
        return lv.cache is not None and lv.cache.policy == CLEANER

    def risks(self, facts: HostFacts, lv: LogicalVolume) -> Iterator[Risk]:
        if lv.cache is None:
            return
        cache, name, is_ours = lv.cache, f"{lv.vg_name}/{lv.name}", MANAGED_TAG in lv.tags
        if cache.mode == "writeback" and is_on_degraded(facts, lv):
            yield Risk(
                "error",
                f"{name} uses writeback on a degraded SSD mirror: {_dirty(cache)} of "
                "data is on one SSD only.",
                group_state(facts, lv.vg_uuid).obstacle_to_changes
                or self.way_out_of_writeback(lv, on_page=is_ours),
            )
        pool = facts.lv(cache.pool_uuid)
        if is_ours and pool is not None and MANAGED_TAG in pool.tags:
            yield from _unzeroed(name, pool)
        if is_half_removed(facts, cache):
            removal = f"on the host: lvconvert --splitcache {name}"
            yield Risk(
                "warning",
                f"A removal of the cache of {name} was interrupted. The cache only writes back its "
                "data and caches nothing new, and LVM cannot reverse that.",
                f"Remove the cache ({'its page has Remove the cache' if is_ours else removal}), "
                "then add a cache again.",
            )
        elif cache.policy == CLEANER and cache.lvm_policy in ("", CLEANER):
            yield Risk(
                "warning",
                f"The cache of {name} has the policy cleaner: it only writes back its data and "
                "caches nothing new.",
                f"Once it is clean: lvchange --cachepolicy smq {name}",
            )
        # LVM keeps the setting of a cache that Tiercel made.
        if cache.migration_threshold_sectors != KERNEL_THRESHOLD_SECTORS and not is_ours:
            setting = f"migration_threshold={cache.migration_threshold_sectors}"
            yield Risk(
                "info",
                f"The cache of {name} runs with {setting}. Set by dmsetup message alone, it is "
                "lost at the next reboot; `lvs -o cache_settings` shows whether LVM keeps it.",
                f"To keep it: lvchange --cachesettings {setting} {name}",
            )

    def way_out_of_writeback(self, lv: LogicalVolume, *, on_page: bool) -> str:
        """Never its mode at once: LVM then flushes all that is dirty under the group's lock, and no
        guest of the group can start for hours."""
        name = shlex.quote(f"{lv.vg_name}/{lv.name}")
        if on_page:
            return (
                "Replace the failed SSD, or switch to writethrough in the panel: dirty data "
                "is flushed first."
            )
        return (
            f"Replace the failed SSD, or: lvchange --cachepolicy cleaner {name}. Once 0 B are "
            f"dirty: lvchange --cachemode writethrough {name}; lvchange --cachepolicy smq {name}"
        )


def _unzeroed(name: str, pool: LogicalVolume) -> Iterator[Risk]:
    if ZEROED_TAG not in pool.tags:
        yield Risk(
            "warning",
            f"The cache of {name} was made by a Tiercel that did not zero caches. A guest that "
            "discards blocks (fstrim, mkfs) can read in them what lay on the SSD before.",
            "On its page: Remove the cache, then add it again. The new one is zeroed first.",
        )


def _dirty(cache: DmCache) -> str:
    """A failed cache reports no figures: its 0 is none."""
    return "an unknown amount" if cache.failed else size(cache.dirty_bytes)

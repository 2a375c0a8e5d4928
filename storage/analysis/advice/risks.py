"""What may go wrong on a host: what its agent reported, and what the inventory shows. Pure."""

from __future__ import annotations

from storage.formatting import size
from storage.health.host_problems import ORDER, HostProblem, reported_problems
from storage.health.inventory_findings import out_of_writeback
from storage.inventory.facts import BcacheBacking, DmCache, HostFacts, LogicalVolume
from storage.models import Host
from storage.naming import MANAGED_TAG
from storage.planner.lvmcache import is_half_removed
from storage.planner.wish import MIB

KERNEL_CUTOFF_BYTES = 4 * MIB
KERNEL_WRITEBACK_PERCENT = 10
KERNEL_THRESHOLD_SECTORS = 2048
CLEANER = "cleaner"


def risks_of(host: Host, facts: HostFacts | None) -> tuple[HostProblem, ...]:
    """The worst first."""
    found = list(reported_problems(host))
    for lv in facts.lvs if facts is not None else ():
        if facts is not None and lv.cache is not None:
            found += _of_dm_cache(facts, lv, lv.cache)
        if lv.bcache is not None:
            found += _of_bcache(lv, lv.bcache)
    return tuple(sorted(found, key=lambda problem: ORDER[problem.severity]))


def _of_dm_cache(facts: HostFacts, lv: LogicalVolume, cache: DmCache) -> list[HostProblem]:
    name, found = f"{lv.vg_name}/{lv.name}", []
    below = [pv for pv in facts.pvs if pv.name in cache.pvs]
    if cache.mode == "writeback" and any(pv.redundant and not pv.healthy for pv in below):
        found.append(
            HostProblem(
                "error",
                f"{name} uses writeback on a degraded SSD mirror: {_dirty(cache)} of "
                "data is on one SSD only.",
                out_of_writeback(name, on_page=_is_ours(lv)),
            )
        )
    if is_half_removed(facts, cache):
        found.append(
            HostProblem(
                "warning",
                f"A removal of the cache of {name} was interrupted. The cache only writes back its "
                "data and caches nothing new, and LVM cannot reverse that.",
                f"Remove the cache ({_removal(lv)}), then add a cache again.",
            )
        )
    elif cache.policy == CLEANER and cache.lvm_policy in ("", CLEANER):
        found.append(
            HostProblem(
                "warning",
                f"The cache of {name} has the policy cleaner: it only writes back its data and "
                "caches nothing new.",
                f"Once it is clean: lvchange --cachepolicy smq {name}",
            )
        )
    if cache.migration_threshold_sectors != KERNEL_THRESHOLD_SECTORS and not _is_ours(lv):
        setting = f"migration_threshold={cache.migration_threshold_sectors}"
        found.append(
            HostProblem(
                "info",
                f"The cache of {name} runs with {setting}. Set by dmsetup message alone, it is "
                "lost at the next reboot; `lvs -o cache_settings` shows whether LVM keeps it.",
                f"To keep it: lvchange --cachesettings {setting} {name}",
            )
        )
    return found


def _dirty(cache: DmCache) -> str:
    """A failed cache tells no figures: its 0 is none."""
    return "an unknown amount" if cache.failed else size(cache.dirty_bytes)


def _removal(lv: LogicalVolume) -> str:
    if _is_ours(lv):
        return "its page has Remove the cache"
    return f"on the host: lvconvert --splitcache {lv.vg_name}/{lv.name}"


def _of_bcache(lv: LogicalVolume, backing: BcacheBacking) -> list[HostProblem]:
    if backing.cset_uuid is None:
        return []
    settings = []
    if backing.sequential_cutoff_bytes != KERNEL_CUTOFF_BYTES:
        settings.append(f"sequential_cutoff {size(backing.sequential_cutoff_bytes)}")
    if backing.writeback_percent != KERNEL_WRITEBACK_PERCENT:
        settings.append(f"writeback_percent {backing.writeback_percent}")
    if not settings:
        return []
    return [
        HostProblem(
            "info",
            f"{lv.vg_name}/{lv.name} ({backing.device or 'bcache'}) runs with "
            f"{' and '.join(settings)}: bcache forgets that at a reboot.",
            "Have a udev rule or a boot script write it to /sys/block/bcacheN/bcache/ again.",
        )
    ]


def _is_ours(lv: LogicalVolume) -> bool:
    """LVM keeps the setting of a cache that Tiercel made."""
    return MANAGED_TAG in lv.tags

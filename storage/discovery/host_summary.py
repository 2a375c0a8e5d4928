"""A small summary row per inventory, for pages that show all hosts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from storage.health.inventory_findings import dated, findings_of
from storage.inventory.facts import HostFacts
from storage.models import Host, HostOutline, Placement
from storage.planner.technologies.lookup import cache_of
from storage.planner.technologies.lvmcache_plan import SUB_LV_SUFFIX
from storage.volumes.snapshot import VolumeSnapshot

DRIFT = ("drift", "unfinished")
"""Codes of findings about a volume that is not as recorded."""
FIELDS = (
    "fast_total_bytes",
    "fast_free_bytes",
    "slow_total_bytes",
    "slow_free_bytes",
    "cache_names",
    "findings",
)


def outline(host: Host, facts: HostFacts, placements: Iterable[Placement], at: datetime) -> None:
    """Keep what `facts` come to. `placements` are what lies on the host, with their volumes. What
    has not changed is not written again."""
    before = HostOutline.objects.filter(host=host).first()
    rows = (_row(facts, placement) for placement in placements)
    findings = dated(findings_of(facts, rows), before.findings if before is not None else (), at)
    values = {**space_of(facts), "cache_names": cache_names(facts), "findings": findings}
    if before is not None and all(getattr(before, name) == values[name] for name in FIELDS):
        return
    HostOutline.objects.update_or_create(host=host, defaults=values)


def keys_with_drift() -> list[str]:
    """Of the volumes that the last inventories showed other than recorded."""
    of_hosts = HostOutline.objects.exclude(findings=[]).values_list("findings", flat=True)
    return [each["volume"] for findings in of_hosts for each in findings if each["code"] in DRIFT]


def space_of(facts: HostFacts) -> dict[str, int]:
    """Bytes on fast and slow physical volumes that are there and in a group, by field."""
    space = dict.fromkeys(FIELDS[:4], 0)
    for pv in facts.pvs:
        if pv.vg_uuid and not pv.missing:
            space[f"{pv.tier}_total_bytes"] += pv.size_bytes
            space[f"{pv.tier}_free_bytes"] += pv.free_bytes
    return space


def cache_names(facts: HostFacts) -> list[str]:
    """What lies on SSD under a name that a wish may give to a cache, attached or not."""
    fast = {pv.name for pv in facts.pvs if pv.tier == "fast"}
    names = {
        lv.name.removesuffix(SUB_LV_SUFFIX)
        for lv in facts.lvs
        if lv.name.endswith(SUB_LV_SUFFIX) or fast.intersection(lv.pvs)
    }
    return sorted(names)


def _row(facts: HostFacts, placement: Placement) -> VolumeSnapshot:
    lv = facts.lv(placement.lv_uuid) if placement.lv_uuid is not None else None
    cache = cache_of(facts, lv) if lv is not None else None
    return VolumeSnapshot(placement.volume, placement, facts, lv, cache, None)

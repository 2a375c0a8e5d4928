"""The cache of each volume, copied from the inventory to its placement: lists of thousands of
volumes filter and sort by it without reading an inventory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.models import Placement
from storage.planner.technologies.lookup import cache_of

FIELDS = ("cache_technology", "cache_mode", "cache_bytes", "cache_trouble")
MODE_LIMIT, TROUBLE_LIMIT = 32, 200


def note_of(facts: HostFacts, lv: LogicalVolume) -> dict[str, Any]:
    """The columns of `Placement` that say which cache the volume has."""
    cache = cache_of(facts, lv)
    if cache is None:
        return {"cache_technology": "", "cache_mode": "", "cache_bytes": None, "cache_trouble": ""}
    return {
        "cache_technology": cache.technology,
        "cache_mode": cache.mode[:MODE_LIMIT],
        "cache_bytes": cache.size_bytes,
        "cache_trouble": cache.trouble[:TROUBLE_LIMIT],
    }


def keep_caches(placements: Iterable[Placement], facts: HostFacts) -> None:
    """Write the notes of volumes whose cache is another than noted: one statement, or none."""
    changed = []
    for placement in placements:
        lv = facts.lv(placement.lv_uuid) if placement.lv_uuid is not None else None
        if lv is None:
            continue
        note = note_of(facts, lv)
        if any(getattr(placement, name) != value for name, value in note.items()):
            for name, value in note.items():
                setattr(placement, name, value)
            changed.append(placement)
    Placement.objects.bulk_update(changed, FIELDS, batch_size=500)

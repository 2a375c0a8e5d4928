"""What a broken job left on the host: neither what was wished nor what was there. Pure."""

from __future__ import annotations

from storage.caches import wish_now
from storage.changes import changes
from storage.facts import HostFacts, LogicalVolume
from storage.naming import MANAGED_TAG, tagged_volume_key
from storage.plan import Target
from storage.templatetags.units import size
from storage.wish import BadWish, Wish


def residue_of(facts: HostFacts, target: Target, wish: Wish, fallback: Wish | None) -> list[str]:
    """A sentence each: how the volume differs from both wishes, and what else of it is there."""
    if target.lv_uuid is not None:
        lv = facts.lv(target.lv_uuid)
    else:
        lv = facts.lv_named(target.vg_uuid, target.lv_name)
    found = [f"{target.vg_name}/{target.lv_name} is not on the host."] if lv is None else []
    if lv is not None:
        found += _differences(facts, lv, wish, fallback)
    return found + [
        f"{other.vg_name}/{other.name} ({size(other.size_bytes)}) is there."
        for other in facts.lvs
        if _is_beside(other, target, lv)
    ]


def _differences(
    facts: HostFacts, lv: LogicalVolume, wish: Wish, fallback: Wish | None
) -> list[str]:
    try:
        now = wish_now(facts, lv, wish.layout)
    except BadWish as error:
        return [f"{lv.vg_name}/{lv.name} has a cache that Tiercel would not make: {error}"]
    before = {change.what: change.after for change in changes(now, fallback or now)}
    return [
        f"{change.what}: {change.before} now, wished {change.after}"
        + (f", before {before[change.what]}." if change.what in before else ".")
        for change in changes(now, wish)
        if fallback is None or change.what in before
    ]


def _is_beside(other: LogicalVolume, target: Target, lv: LogicalVolume | None) -> bool:
    """Pools and cache devices that carry the volume's tag and that nobody uses."""
    ours = MANAGED_TAG in other.tags and tagged_volume_key(other.tags) == target.volume_key
    return ours and other.vg_uuid == target.vg_uuid and (lv is None or other.uuid != lv.uuid)

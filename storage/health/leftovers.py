"""What lies on the host beside a volume and was made for it. Pure, by the finders of the plans."""

from __future__ import annotations

from collections.abc import Iterator

from storage.formatting import size
from storage.inventory.facts import LogicalVolume
from storage.naming import held_name
from storage.planner.bcache import cache_devices, is_on
from storage.planner.draft import Draft, Target
from storage.planner.growth import held_of, left_room
from storage.planner.lost import MISSING
from storage.planner.lvmcache import unattached_pools
from storage.planner.wish import Bcache, LvmCache, Wish
from storage.volumes.snapshot import VolumeSnapshot


def leftovers_of(row: VolumeSnapshot, recorded: Wish) -> Iterator[str]:
    """What a broken attempt left, each in words. What is `recorded` or in use is none, nor is what
    lies on a lost disk: no job removes that before the disk is back."""
    draft = _seen(row)
    if draft is None:
        return
    caches = [wish.cache for wish in (recorded, row.wish) if wish is not None]
    if recorded.layout == "bcache":
        what, made = "cache device", cache_devices(draft)
        used = [
            lv
            for lv in made
            if any(isinstance(cache, Bcache) and is_on(draft, lv, cache) for cache in caches)
        ]
    else:
        what, made = "cache pool", unattached_pools(draft)
        names = {cache.name for cache in caches if isinstance(cache, LvmCache)}
        used = [lv for lv in made if lv.name in names]
    for lv in made:
        if lv not in used and MISSING not in lv.pvs:
            yield f"the {what} {_named(lv)}, which is unused"
    room = left_room(draft)
    if room is not None and room in draft.ours() and MISSING not in room.pvs:
        yield f"{_named(room)}, new space that the volume never got"
    held = draft.facts.lv_named(draft.vg.uuid, held_name(draft.target.volume_key))
    if held is not None:
        yield f"{_named(held)}, disk space that is still to be cleared" + (
            "" if held == held_of(draft) else "; without its tags no job clears or removes it"
        )


def cache_device_of(row: VolumeSnapshot) -> str | None:
    """The name of a cache device on the host that was made for the volume."""
    draft = _seen(row)
    return next((lv.name for lv in cache_devices(draft)), None) if draft is not None else None


def _seen(row: VolumeSnapshot) -> Draft | None:
    """The volume as finders look at it. Nothing is planned, so nothing is refused: the wish is any,
    and a host that allows no change is looked at too."""
    if row.facts is None or row.lv is None or row.vg is None:
        return None
    target = Target(row.volume.key, row.vg.uuid, row.vg.name, row.lv.name, row.lv.uuid)
    return Draft(row.facts, target, Wish(row.lv.size_bytes), row.vg, row.lv)


def _named(lv: LogicalVolume) -> str:
    return f"{lv.name} ({size(lv.size_bytes)})"

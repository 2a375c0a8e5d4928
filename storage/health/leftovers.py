"""Devices next to a volume that were made for it. Pure; uses the planner's finders."""

from __future__ import annotations

from collections.abc import Iterator

from storage.formatting import size
from storage.inventory.facts import LogicalVolume
from storage.naming import held_name
from storage.planner.draft import Draft
from storage.planner.growth import held_of, left_room
from storage.planner.technologies.bcache_plan import cache_devices
from storage.planner.technologies.lookup import of_layout
from storage.planner.technologies.lvmcache_loss import MISSING
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot


def leftovers_of(row: VolumeSnapshot, recorded: Wish) -> Iterator[str]:
    """What a broken attempt left, each in words. What is `recorded` or in use is none, nor is what
    lies on a lost disk: no job removes that before the disk is back."""
    draft = _seen(row)
    if draft is None:
        return
    wishes = [wish for wish in (recorded, row.wish) if wish is not None]
    technology = of_layout(recorded.layout)
    for lv in technology.unused(draft, [wish.cache for wish in wishes if wish.cache is not None]):
        if MISSING not in lv.pvs:
            yield f"the {technology.made_label} {_named(lv)}, which is unused"
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
    if row.facts is None or row.lv is None or row.vg is None or row.placement is None:
        return None
    return Draft(row.facts, row.placement.target, Wish(row.lv.size_bytes), row.vg, row.lv)


def _named(lv: LogicalVolume) -> str:
    return f"{lv.name} ({size(lv.size_bytes)})"

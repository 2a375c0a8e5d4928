"""What an interrupted job left on the host: neither in the wish nor there before. Pure."""

from __future__ import annotations

from storage.formatting import size
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.naming import FORMAT_TAG, MANAGED_TAG, ZEROING_TAG, tagged_volume_key
from storage.planner import Target
from storage.planner.current_wish import wish_now
from storage.planner.ssd_wish import Preparation
from storage.planner.technologies.lookup import is_part
from storage.planner.wish import BadWish, Wish
from storage.volumes.wish_diff import changes

STATES = {ZEROING_TAG: ", not fully zeroed yet", FORMAT_TAG: ", not formatted yet"}
"""What the tags of a volume that is being made say of it."""


def leftovers_of(
    facts: HostFacts, target: Target, wish: Wish, fallback: Wish | None, *, made: bool = False
) -> list[str]:
    """A sentence each: how the volume differs from both wishes, and what else of it is there that
    it does not use. `made`: the job itself began to make it, so that it is left over by being
    there."""
    if target.lv_uuid is not None:
        lv = facts.lv(target.lv_uuid)
    else:
        lv = facts.lv_named(target.vg_uuid, target.lv_name)
    sentences = []
    if lv is None and not made:
        sentences = [f"{target.vg_name}/{target.lv_name} is not on the host."]
    if lv is not None and made:
        sentences = [_there(lv, _state(lv))]
    if lv is not None and not (made and _state(lv)):
        sentences += _differences(facts, lv, wish, fallback)
    return sentences + [
        _there(other)
        for other in facts.lvs
        if _is_beside(other, target, lv) and not (lv and is_part(facts, lv, other))
    ]


def leftovers_of_add_ssd(facts: HostFacts, preparation: Preparation) -> list[str]:
    """A sentence where the SSD has LVM's mark already and gives its space to no group yet."""
    return [
        f"{pv.name} is a physical volume of no volume group."
        for pv in facts.pvs
        if pv.name == preparation.device and not pv.vg_uuid
    ]


def _there(lv: LogicalVolume, state: str = "") -> str:
    return f"{lv.vg_name}/{lv.name} ({size(lv.size_bytes)}) exists{state}."


def _state(lv: LogicalVolume) -> str:
    """What is still to be done before anybody may have a new volume; "" for nothing."""
    return next((sentence for tag, sentence in STATES.items() if tag in lv.tags), "")


def _differences(
    facts: HostFacts, lv: LogicalVolume, wish: Wish, fallback: Wish | None
) -> list[str]:
    try:
        current_wish = wish_now(facts, lv, wish.layout)
    except BadWish as error:
        return [f"{lv.vg_name}/{lv.name} has a cache that Tiercel would not make: {error}"]
    if fallback is None or fallback == wish:
        return [
            f"{c.what}: {c.before} now, should be {c.after}." for c in changes(current_wish, wish)
        ]
    before = {change.what: change.after for change in changes(current_wish, fallback)}
    return [
        f"{change.what}: {change.before} now, target {change.after}, before {before[change.what]}."
        for change in changes(current_wish, wish)
        if change.what in before
    ]


def _is_beside(other: LogicalVolume, target: Target, lv: LogicalVolume | None) -> bool:
    """Pools and cache devices that carry the volume's tag."""
    ours = MANAGED_TAG in other.tags and tagged_volume_key(other.tags) == target.volume_key
    return ours and other.vg_uuid == target.vg_uuid and (lv is None or other.uuid != lv.uuid)

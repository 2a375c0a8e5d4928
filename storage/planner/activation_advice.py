"""How a volume that is off is activated again, by the last inventory. Pure."""

from __future__ import annotations

from storage.agent.facts import activation
from storage.inventory.facts import HostFacts, LogicalVolume


def group_state(facts: HostFacts, vg_uuid: str) -> activation.GroupState:
    """What may keep LVM from working on the group."""
    vg = facts.vg(vg_uuid)
    doubles = tuple(
        activation.double(pv.name, pv.seen_on)
        for pv in facts.pvs
        if pv.vg_uuid == vg_uuid and pv.duplicate
    )
    if vg is None:
        return activation.GroupState("", doubles=doubles)
    return activation.GroupState(vg.name, vg.missing_pv_count, doubles, vg.exported)


def how_to_activate(facts: HostFacts, lv: LogicalVolume) -> str:
    """What to do about a volume that is not active, as far as it can work now."""
    return activation.how_to_activate(
        group_state(facts, lv.vg_uuid),
        lv.name,
        is_lost=lv.lacks_a_part,
        is_known=lv.layout != ("unknown",),
    )

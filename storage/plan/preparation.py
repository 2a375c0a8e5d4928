"""From an empty SSD to space of a volume group."""

from __future__ import annotations

from storage.facts import HostFacts
from storage.plan.draft import Step, group_may_change, group_of
from storage.preparation import Preparation


def prepare(facts: HostFacts, wanted: Preparation) -> tuple[Step, ...]:
    """The step that is left, `()` once the device is a physical volume of the group; raises
    `Refused`. Whether it is empty and the one that was meant, the host says itself."""
    vg = group_of(facts, wanted.vg_uuid, wanted.vg_name)
    if any(pv.name == wanted.device and pv.vg_uuid == vg.uuid for pv in facts.pvs):
        return ()
    group_may_change(facts, vg)
    return (
        Step(
            "ssd.prepare",
            {"vg": vg.name, "device": wanted.device, "serial": wanted.serial},
            {"vg_uuid": vg.uuid},
            f"Make {wanted.device} ({wanted.serial}) a physical volume of {vg.name}",
        ),
    )

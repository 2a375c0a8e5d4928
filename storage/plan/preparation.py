"""From an empty SSD to space of a volume group."""

from __future__ import annotations

from storage.facts import HostFacts
from storage.plan.draft import Refused, Step, group_may_change
from storage.preparation import Preparation


def prepare(facts: HostFacts, wanted: Preparation) -> tuple[Step, ...]:
    """The step that is left, `()` once the device is a physical volume of the group; raises
    `Refused`. Whether it is empty and the one that was meant, the host says itself."""
    vg = facts.vg(wanted.vg_uuid)
    if vg is None:
        raise Refused(
            "not_found",
            f"The volume group {wanted.vg_name} is not on the host any more.",
            "Check the host's disks; the group may have been exported, or a disk may be missing.",
        )
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

"""A volume's present cache, in one shape for both technologies, and the caches it could have.

Pure: from facts to values the pages and forms show.
"""

from __future__ import annotations

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import HostFacts, PhysicalVolume
from storage.planner.allocation import MIRRORED_BELOW
from storage.planner.lvm_sizes import choose
from storage.planner.technologies.technology import Technology

SIZES_BYTES = (
    256 * MIB,
    512 * MIB,
    *(gib * GIB for gib in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)),
    *(gib * GIB for gib in (512, 768, 1024, 2048)),
)
"""Sizes a person chooses from: each step is worth having, and the list stays readable."""


def sizes_for(facts: HostFacts, vg_uuid: str, technology: Technology) -> tuple[int, ...]:
    """Cache sizes in bytes, smallest first, for which the volume group has free SSD."""
    vg = facts.vg(vg_uuid)
    if vg is None:
        return ()
    fast = facts.pvs_of(vg_uuid, "fast")
    return tuple(
        size
        for size in SIZES_BYTES
        if size >= technology.least_offered_bytes
        and choose(fast, technology.needed_bytes(facts, vg, size))
    )


def free_bytes(facts: HostFacts, vg_uuid: str, tier: str) -> int:
    """Free space of a volume group on its fast or slow physical volumes."""
    return sum(pv.free_bytes for pv in facts.pvs_of(vg_uuid, tier) if not pv.missing)


def writeback_refusal(facts: HostFacts, vg_uuid: str) -> str:
    """Why writeback is not offered in this volume group; '' where it is."""
    if any(is_safe(pv) for pv in facts.pvs_of(vg_uuid, "fast")):
        return ""
    if has_mirror(facts, vg_uuid):
        return (
            "The SSD array is degraded: writeback would keep the only copy of new data on one "
            "device. Replace the failed member first."
        )
    return (
        "The SSD is not redundant: writeback would keep the only copy of new data on one device. "
        f"Put the SSDs into an md RAID1 first. {MIRRORED_BELOW}"
    )


def has_mirror(facts: HostFacts, vg_uuid: str) -> bool:
    """Whether an SSD of the group is an array that survives a failure once it is whole."""
    return any(pv.redundant for pv in facts.pvs_of(vg_uuid, "fast"))


def degraded_mirrors(facts: HostFacts, vg_uuid: str) -> list[str]:
    """Names of the group's SSD arrays that would survive a failure if they were whole."""
    fast = facts.pvs_of(vg_uuid, "fast")
    return [pv.name for pv in fast if pv.redundant and not is_safe(pv) and not pv.missing]


def is_safe(pv: PhysicalVolume) -> bool:
    """True where the device below may die without losing unwritten data."""
    return pv.redundant and pv.healthy and not pv.missing

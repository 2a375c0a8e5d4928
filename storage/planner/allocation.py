"""Which disks of its group a volume or a cache is allocated from, and when none will do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from storage.formatting import size
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.naming import AGENT_PATH
from storage.planner.draft import Draft, Refused
from storage.planner.lvm_sizes import choose, keep
from storage.planner.wish import Tier

TIERS: dict[Tier, str] = {"hdd": "slow", "ssd": "fast"}
MIRRORED_BELOW = f"If a controller mirrors the SSD, on the host: {AGENT_PATH} redundant-pv DEVICE"
WINDOW = "; the volume runs at HDD speed for a few seconds"
LONG_WINDOW = (
    "; there is no SSD room for both, so the volume runs at disk speed until the new one is made "
    "and attached, up to a minute"
)
"""What the title of a detach says where another cache follows."""


def lies_on(facts: HostFacts, lv: LogicalVolume) -> Tier:
    """Where the volume itself lies, whatever is in front of it: SSD where all is on fast disks."""
    fast = {pv.name for pv in facts.pvs_of(lv.vg_uuid, "fast")}
    return "ssd" if lv.pvs and fast.issuperset(lv.pvs) else "hdd"


def room(
    draft: Draft, verb: str, tier: Tier, needed_bytes: int, near: Iterable[str] = ()
) -> tuple[str, ...]:
    """Names of the physical volumes of a tier to allocate from for `verb`: those it prefers, else
    one of `near`, where they have room. Raises `Refused`."""
    pvs = tuple(
        dataclasses.replace(pv, free_bytes=pv.free_bytes + draft.freed_bytes.get(pv.name, 0))
        for pv in draft.facts.pvs_of(draft.vg.uuid, TIERS[tier])
    )
    close = [pv for pv in pvs if pv.name in near and pv.free_bytes >= needed_bytes]
    preferred = keep(pvs, needed_bytes, draft.preferred.get(verb, ()))
    names = preferred or choose(close or pvs, needed_bytes)
    if not names:
        free_bytes = sum(pv.free_bytes for pv in pvs)
        raise Refused(
            "no_space",
            f"{draft.vg.name} has {size(free_bytes)} free on {tier.upper()}; the volume needs "
            f"{size(needed_bytes)}.",
            "Choose a smaller size, another volume group, or add a disk to the group.",
        )
    return names


def fast_room(draft: Draft, verb: str, needed_bytes: int, *, writeback: bool) -> tuple[str, ...]:
    """Names of the fast physical volumes for a cache of `needed_bytes` that `verb` makes, the
    preferred ones where they have room; or `Refused`.

    Writeback keeps the only copy of new data on SSD for a while, so it demands that every
    SSD below is redundant and healthy.
    """
    vg = draft.vg
    fast = tuple(
        dataclasses.replace(pv, free_bytes=pv.free_bytes + draft.freed_bytes.get(pv.name, 0))
        for pv in draft.facts.pvs_of(vg.uuid, "fast")
    )
    if not fast:
        raise Refused(
            "no_fast_disk",
            f"{vg.name} has no SSD; a cache and its volume must lie in one volume group.",
            "Add an SSD to the group (vgextend), or merge the groups (vgmerge, offline). If a "
            f"device of it is fast and the kernel does not know: {AGENT_PATH} fast-pv DEVICE",
        )
    if writeback:
        fast = tuple(pv for pv in fast if pv.redundant and pv.healthy)
        if not fast:
            raise Refused(
                "not_redundant",
                f"Writeback would keep the only copy of new data on {vg.name}'s SSD, "
                "which is not redundant or not healthy.",
                f"Choose writethrough, or put the SSDs into an md RAID1 first. {MIRRORED_BELOW}",
            )
    preferred = keep(fast, needed_bytes, draft.preferred.get(verb, ()))
    names = preferred or choose(fast, needed_bytes)
    if not names:
        free_bytes = sum(pv.free_bytes for pv in fast)
        raise Refused(
            "no_space",
            f"{vg.name} has {size(free_bytes)} of SSD free; "
            f"the cache needs {size(needed_bytes)} with its metadata.",
            "Choose a smaller cache or free SSD space first.",
        )
    return names


def is_redundant(facts: HostFacts, names: Sequence[str]) -> bool:
    """Whether every device below a cache is known, redundant and healthy."""
    by_name = {pv.name: pv for pv in facts.pvs}
    below = [by_name[name] for name in names if name in by_name]
    known = 0 < len(below) == len(names)
    return known and all(pv.redundant and pv.healthy for pv in below)


def demand_redundant(draft: Draft, names: Sequence[str]) -> None:
    """Refuse writeback unless every device below a cache is known, redundant and healthy."""
    if not is_redundant(draft.facts, names):
        raise Refused(
            "not_redundant",
            "Writeback would keep the only copy of new data on an SSD that is not redundant "
            "or not healthy.",
            "Stay with writethrough, or move the cache to a healthy md RAID1 of SSDs. "
            f"{MIRRORED_BELOW}",
        )


def same_sectors(draft: Draft, fast_names: Sequence[str]) -> None:
    """A 4096-byte-sector SSD over a 512-byte volume breaks the guest's file system."""
    names = (*fast_names, *draft.slow_pvs)
    sizes = {pv.logical_sector_bytes for pv in draft.facts.pvs if pv.name in names}
    if len(sizes) > 1:
        raise Refused(
            "unsupported",
            "The SSD and the volume's disk have different logical sector sizes.",
            "Reformat the SSD to the disk's sector size, or use another SSD.",
        )


def demand_present(draft: Draft, names: Sequence[str]) -> None:
    """What was made for a cache may lie on a disk that is not there any more."""
    if not {pv.name for pv in draft.facts.pvs}.issuperset(names):
        raise Refused(
            "degraded",
            f"A disk of the cache that was made in {draft.vg.name} is missing.",
            "Look at the host's disks; what is there is left alone.",
        )


def not_this_cache(draft: Draft, name: str) -> Refused:
    return Refused(
        "already_exists",
        f"{draft.vg.name}/{name} exists and is no unused cache of this volume.",
        "Ask for the cache under another name; what is there is left alone.",
    )


def unnamed(name: str) -> Refused:
    return Refused(
        "bad_request",
        f"{name!r} is no name that Tiercel gives to a cache.",
        "Ask for a new cache without choosing its name.",
    )

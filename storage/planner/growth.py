"""Extending a volume, and moving it to the other tier: online, on plain linear volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.agent.calls.names import guest as guest_name
from storage.agent.commands.vacated_extents import TEXT_BYTES as NOTE_BYTES
from storage.agent.verbs.registry import verbs_with
from storage.agent.verbs.verb import Trait
from storage.inventory.facts import LogicalVolume
from storage.inventory.volume_parts import VolumeUser, Work
from storage.naming import (
    LEFT_TAG_PREFIX,
    MANAGED_TAG,
    grown_tags,
    held_name,
    is_made_beside,
    room_name,
    size_known_to_guest,
    tagged_volume_key,
)
from storage.planner.allocation import TIERS, room, same_sectors
from storage.planner.current_wish import tier_of
from storage.planner.draft import Draft, Refused, demand_mark
from storage.planner.occupied import stop_move, work_at
from storage.planner.technologies.lookup import hides_volume, refuse_growth
from storage.planner.wish import Tier

QEMU_KINDS = ("qemu", "proxmox")
INFORMED_KINDS = (*QEMU_KINDS, "libvirt")
SIMPLE = (("linear",), ("cache",))
SNAPSHOTS = {"origin", "thickorigin", "snapshot"}


def grow(draft: Draft, lv: LogicalVolume, size_bytes: int) -> None:
    """Make the LV `size_bytes` large, where it is smaller, and inform the guest that holds it; take
    away what a broken attempt left."""
    more = size_bytes - lv.size_bytes
    grown = grown_tags(lv.tags)
    left = left_room(draft)
    if left is not None:
        _demand_ours(draft, left)
    if left is not None and (more <= 0 or left.size_bytes != more):
        _tidy(draft, lv, left)
    if more > 0:
        _extend(draft, lv, size_bytes, left)
    if (more > 0 or grown) and not hides_volume(lv):
        known = size_known_to_guest(lv.tags) if grown else lv.size_bytes
        _tell(draft, lv, max(size_bytes, lv.size_bytes), known)


def _extend(draft: Draft, lv: LogicalVolume, size_bytes: int, left: LogicalVolume | None) -> None:
    _simple(draft, lv)
    _demand_raw(draft, lv)
    tier = tier_of(draft.facts, lv)
    refuse_growth(draft, lv, size_bytes, tier)
    more = size_bytes - lv.size_bytes
    kept = left is not None and left.size_bytes == more
    pvs = (
        left.pvs if left is not None and kept else room(draft, "volume.extend", tier, more, lv.pvs)
    )
    same_sectors(draft, pvs)
    _demand_adjoining(draft, lv, pvs)
    draft.add(
        "volume.extend",
        "Extend the volume; the new space is zeroed first",
        from_bytes=lv.size_bytes,
        size_bytes=size_bytes,
        pvs=list(pvs),
        volume_key=draft.target.volume_key,
    )


def _demand_adjoining(draft: Draft, lv: LogicalVolume, pvs: Sequence[str]) -> None:
    """Refuse what LVM would not add to the volume, by its own policy or its group's."""
    own = lv.allocation not in ("", "inherit")
    policy = lv.allocation if own else draft.vg.allocation
    last = lv.segments[-1].pvs if lv.segments else ()
    clings = policy.startswith("cling") and not set(last).issuperset(pvs)
    if not clings and policy != "contiguous":
        return
    cure = f"lvchange --alloc normal {lv.vg_name}/{lv.name}"
    where = f"on {', '.join(last)}, which has too little room" if clings else "without a gap"
    raise Refused(
        "unsupported",
        f"The allocation policy of {lv.name} is {policy}: it may grow only {where}.",
        "As root on the host let it grow elsewhere: "
        + (cure if own else f"vgchange --alloc normal {lv.vg_name}"),
    )


def tidy(draft: Draft, lv: LogicalVolume) -> None:
    """Take away the new space that a broken attempt left beside the volume."""
    left = left_room(draft)
    if left is not None:
        _demand_ours(draft, left)
        _tidy(draft, lv, left)


LEAVES = verbs_with(Trait.LEAVES_DATA)
"""Verbs after which data of the volume is where nothing of it lies any more."""


def clear(draft: Draft) -> None:
    """Zeros over what the volume leaves by the steps so far, and over what it left before, as its
    tags say. None where the host's policy says so, or its agent is older and has no verb for it."""
    lv, vg = draft.lv, draft.vg
    # A lost cache is given up while its disk is missing; LVM lets nothing else be done then.
    is_lost = any(step.verb == "cache.drop" for step in draft.steps)
    if lv is None or not vg.clears_freed or is_lost:
        return
    # The agent notes nothing where LVM's text about the group has no room for that.
    free_bytes = vg.metadata_free_bytes
    is_full = vg.metadata_bytes and free_bytes is not None and free_bytes < NOTE_BYTES
    leaves = not is_full and any(step.verb in LEAVES for step in draft.steps)
    if leaves or held_of(draft) is not None or _notes(lv):
        draft.add(
            "volume.clear",
            "Wipe the freed space",
            volume_key=draft.target.volume_key,
        )


def _notes(lv: LogicalVolume) -> bool:
    return any(tag.startswith(LEFT_TAG_PREFIX) for tag in lv.tags)


def held_of(draft: Draft) -> LogicalVolume | None:
    """What the volume left behind and an earlier attempt reserved to clear it, by its name and
    mark."""
    held = draft.facts.lv_named(draft.vg.uuid, held_name(draft.target.volume_key))
    return held if held is not None and is_made_beside(held.name, held.tags) else None


def left_room(draft: Draft) -> LogicalVolume | None:
    """The new space that a broken attempt left beside the volume, by its name."""
    return draft.facts.lv_named(draft.vg.uuid, room_name(draft.target.volume_key))


def _tidy(draft: Draft, lv: LogicalVolume, left: LogicalVolume) -> None:
    draft.add(
        "volume.extend",
        f"Remove {left.name}, which an earlier attempt left",
        lasts=False,
        from_bytes=lv.size_bytes,
        size_bytes=lv.size_bytes,
        pvs=list(left.pvs),
        volume_key=draft.target.volume_key,
    )
    draft.free(left)


def _demand_ours(draft: Draft, left: LogicalVolume) -> None:
    if MANAGED_TAG not in left.tags or tagged_volume_key(left.tags) != draft.target.volume_key:
        raise Refused(
            "already_exists",
            f"{left.vg_name}/{left.name} exists and was not made by Tiercel.",
            "Rename or remove it on the host.",
        )
    if draft.is_marked:
        demand_mark(left, "room")


def _tell(draft: Draft, lv: LogicalVolume, size_bytes: int, from_bytes: int | None) -> None:
    """Inform each guest of libvirt and QEMU; Xen's back end looks by itself; a guest that is off
    needs nothing. Only guests with a raw image of `from_bytes` are informed: any other size than
    the guest's own would cut or overrun what is in the image."""
    running = [user for user in lv.users if user.pid is not None and user.kind in INFORMED_KINDS]
    informed = [user for user in running if not _why_not(user, from_bytes)]
    args: dict[str, Any] = {} if from_bytes is None else {"from_bytes": from_bytes}
    names = sorted({user.name for user in informed if user.kind in QEMU_KINDS})
    domains = sorted({(user.domain, user.path) for user in informed if user.kind == "libvirt"})
    if names:
        args["guests"] = names
    if domains:
        args["domains"] = [{"uuid": uuid, "path": path} for uuid, path in domains]
    title = (
        "No guest needs to learn the new size"
        if not running
        else "No guest is informed of the size"
    )
    if informed:
        title = f"Inform {_and(sorted({user.name for user in informed}))} of the new size"
    for user in running:
        if user not in informed:
            why = _why_not(user, from_bytes)
            title += f"; {user.name:.40} sees it at its next start: {why}"
    # A guest may keep us waiting: meanwhile other jobs may have the group.
    draft.add("guest.resize", title, makes_irrevocable=True, size_bytes=size_bytes, **args)


def _why_not(user: VolumeUser, from_bytes: int | None) -> str:
    """Why a running guest is not informed, in words; "" where it is."""
    if user.format != "raw":
        return f"its image is {user.format or 'of an unknown format'}"
    if from_bytes is None:
        return "the size that it knows is not recorded"
    if user.kind == "libvirt":
        return "" if user.domain and user.path else "libvirt does not say which domain it is"
    try:
        guest_name(user.name)
    except ValueError:
        return "its name cannot be used in a command"
    return ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(f"{name:.60}" for name in names[:4])


def _demand_raw(draft: Draft, lv: LogicalVolume) -> None:
    """Refuse to grow a volume with an image on it that has a size of its own, whether its guest
    runs or not: more room would be no larger disk."""
    other = next((user for user in lv.users if user.format not in ("", "raw")), None)
    if other is not None:
        raise Refused(
            "unsupported",
            f"{draft.vg.name}/{lv.name} holds no raw disk: the image of {other} on it is "
            f"{other.format}, with a size of its own.",
            "Resize it with its hypervisor, which knows the image (qm disk resize, virsh "
            "blockresize); Tiercel extends raw disks.",
        )


def move(draft: Draft) -> None:
    """Bring the volume to the wished tier of its own volume group. A cache goes first."""
    lv, wish = draft.lv, draft.wish
    if lv is None or wish.cache is not None or (wish.tier == "hdd" and lv.cache is not None):
        return
    work = work_at(draft, lv)
    wrong = {pv.name for pv in draft.facts.pvs_of(draft.vg.uuid, TIERS[_other(wish.tier)])}
    if work is not None and work.ours:
        _finish(draft, lv, work, wrong)
        return
    leave = tuple(pv for pv in lv.pvs if pv in wrong)
    if not leave or (wish.tier == "hdd" and not wrong.issuperset(lv.pvs)):
        return
    _simple(draft, lv)
    needed_bytes = sum(
        segment.size_bytes for segment in lv.segments if wrong.intersection(segment.pvs)
    )
    to = room(draft, "volume.move", wish.tier, needed_bytes)
    same_sectors(draft, to)
    _move(draft, leave, to)


def _finish(draft: Draft, lv: LogicalVolume, work: Work, wrong: set[str]) -> None:
    """A move of ours is at work without a job: continue it, or stop it where it leaves the right
    tier."""
    both = (each for each in lv.segments if each.type == "linear" and len(each.pvs) > 1)
    to = tuple(dict.fromkeys(pv for each in both for pv in each.pvs if pv != work.source))
    if work.source in wrong and to:
        _move(draft, (work.source,), to)
    else:
        stop_move(draft, work.source)


def _move(draft: Draft, leave: tuple[str, ...], to: tuple[str, ...]) -> None:
    where = "SSD" if draft.wish.tier == "ssd" else "HDD"
    draft.add(
        "volume.move",
        f"Move the volume to {where} ({', '.join(to)}), online",
        from_pvs=list(leave),
        to_pvs=list(to),
    )


def _other(tier: Tier) -> Tier:
    return "hdd" if tier == "ssd" else "ssd"


def _simple(draft: Draft, lv: LogicalVolume) -> None:
    name = f"{draft.vg.name}/{lv.name}"
    if tuple(lv.layout) not in SIMPLE:
        raise Refused(
            "unsupported",
            f"{name} is {', '.join(lv.layout)}; Tiercel extends and moves linear volumes.",
            "Do it on the host by hand (lvextend, pvmove), with its stripes or mirrors in mind.",
        )
    if SNAPSHOTS & set(lv.role):
        many = ", ".join(lv.snapshots)
        raise Refused(
            "occupied",
            f"{name} has the snapshot {many}: LVM neither grows nor moves it while that is there."
            if many
            else f"{name} is or has a classic snapshot: LVM neither grows nor moves it.",
            "Wait until the snapshot is removed, or remove it. A running job waits automatically.",
        )

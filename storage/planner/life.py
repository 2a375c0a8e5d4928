"""Retiring a volume (renamed and deactivated, can be restored) and destroying it."""

from __future__ import annotations

import shlex

from storage.agent.commands.retirement import retired
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.naming import WIPING_TAG, retired_name, tagged_volume_key
from storage.planner import growth, volume_steps
from storage.planner.draft import Draft, Refused, Target
from storage.planner.technologies.lookup import PLAIN, held_as, of_layout


def is_gone(facts: HostFacts, target: Target) -> bool:
    """Whether a trustworthy inventory of the volume's group has nothing of it any more."""
    vg = facts.vg(target.vg_uuid)
    # An older agent says only that a group that it leaves out may not be changed.
    is_listed = vg is not None and vg.allowed and not vg.left_out
    is_listed = is_listed and not facts.hides_a_part_of(target.vg_uuid)
    if not facts.consistent or facts.stale or not is_listed:
        return False
    if target.lv_uuid is not None and facts.lv(target.lv_uuid) is not None:
        return False
    names = (target.lv_name, retired_name(target.volume_key))
    named = (facts.lv_named(target.vg_uuid, name) for name in names)
    return not any(lv is not None and _carries_key(lv, target.volume_key) for lv in named)


def is_retired(draft: Draft) -> bool:
    """Whether the volume carries the marks of retirement; it may still have its old name."""
    return draft.lv is not None and retired(draft.lv.tags) is not None


def end_volume(draft: Draft) -> None:
    """Add the steps that retire the volume, or destroy one that is retired."""
    if draft.lv is None:
        raise Refused(
            "not_found",
            f"{draft.vg.name}/{draft.lv_name} has not been created yet.",
            "Discard the record. There is nothing to retire on the host.",
        )
    if draft.lv.users:
        raise in_use(draft.lv)
    if draft.wish.life == "gone":
        _destroy(draft, draft.lv)
    elif not is_retired(draft) or draft.lv.name != retired_name(draft.target.volume_key):
        _retire(draft, draft.lv)


def in_use(lv: LogicalVolume) -> Refused:
    """Why a volume in use is not retired or destroyed."""
    users = ", ".join(dict.fromkeys(f"{user.kind} {user}" for user in lv.users))
    return Refused(
        "in_use",
        f"{lv.vg_name}/{lv.name} is in use by {users}.",
        "Shut the guest down and take the volume out of its configuration, or unmount it.",
    )


def restore(draft: Draft) -> None:
    """Add the step that gives a retired volume back its name and switches it on."""
    lv = draft.lv
    marks = retired(lv.tags) if lv is not None else None
    if lv is None or marks is None:
        return
    if WIPING_TAG in lv.tags:
        raise Refused(
            "unsupported",
            f"The wipe of {lv.vg_name}/{lv.name} has started: its data is no longer complete.",
            "Finish destroying the volume, and restore the data from a backup.",
        )
    other = draft.facts.lv_named(draft.vg.uuid, marks.name)
    if other is not None and other.uuid != lv.uuid:
        raise Refused(
            "already_exists",
            f"Another volume is called {draft.vg.name}/{marks.name} now.",
            "Rename that one on the host first: lvrename "
            + shlex.join([draft.vg.name, marks.name, "NEWNAME"]),
        )
    draft.add(
        "volume.restore",
        f"Restore the name {draft.vg.name}/{marks.name} and activate the volume",
        lv=marks.name,
        retired_name=retired_name(draft.target.volume_key),
        volume_key=draft.target.volume_key,
        layout=held_as(draft, lv) if draft.wish.layout != PLAIN else PLAIN,
        retired_at=marks.at,
    )


def _retire(draft: Draft, lv: LogicalVolume) -> None:
    volume_steps.own(draft, lv)
    growth.tidy(draft, lv)
    of_layout(draft.wish.layout).release(draft, lv)
    growth.clear(draft)
    name = retired_name(draft.target.volume_key)
    draft.add(
        "volume.retire",
        f"Deactivate {lv.vg_name}/{lv.name} and rename it to {name}; the data is kept",
        retired_name=name,
        volume_key=draft.target.volume_key,
        layout=held_as(draft, lv),
    )


def _destroy(draft: Draft, lv: LogicalVolume) -> None:
    if not is_retired(draft):
        raise Refused(
            "not_retired",
            f"{lv.vg_name}/{lv.name} is not retired.",
            "Retire it first: what may be in use is never destroyed.",
        )
    growth.clear(draft)
    draft.add(
        "volume.destroy",
        f"Overwrite {lv.vg_name}/{lv.name} with zeros and remove it permanently",
        makes_irrevocable=True,
        lv_uuid=lv.uuid,
        size_bytes=lv.size_bytes,
        volume_key=draft.target.volume_key,
        layout=held_as(draft, lv),
    )


def _carries_key(lv: LogicalVolume, key: str) -> bool:
    return tagged_volume_key(lv.tags) == key

"""The logical volume itself: created, zeroed, tagged, and large enough."""

from __future__ import annotations

from storage.inventory.facts import LogicalVolume
from storage.naming import (
    FORMAT_TAG,
    MANAGED_TAG,
    ZEROING_TAG,
    grown_tags,
    is_reserved_name,
    tagged_volume_key,
    tagged_volume_keys,
    volume_name,
)
from storage.planner import growth
from storage.planner.allocation import room
from storage.planner.draft import Draft, PlannedStep, Refused
from storage.planner.technologies.lookup import PLAIN, volume_bytes


def exist(draft: Draft) -> None:
    """The LV itself: created, zeroed, tagged, big enough."""
    wish, vg, lv = draft.wish, draft.vg, draft.lv
    size_bytes = volume_bytes(wish.size_bytes, wish.layout, vg.extent_bytes)
    if lv is None:
        _create(draft, size_bytes, room(draft, "volume.create", wish.tier, size_bytes))
        return
    if wish.layout == PLAIN and FORMAT_TAG in lv.tags:
        raise Refused(
            "unsupported",
            f"{vg.name}/{lv.name} was created bcache-ready and waits for its format.",
            "Ask for a bcache-ready volume.",
        )
    if ZEROING_TAG in lv.tags:
        # Zeroing destroys what is there: the tag alone, which anyone may set, is no permission.
        if not _is_ours(draft, lv) or lv.name != volume_name(draft.target.volume_key):
            raise Refused(
                "not_ours",
                f"{vg.name}/{lv.name} is tagged as unfinished, but neither named nor tagged as "
                "this volume would be.",
                "If it holds data, remove the tag on the host: lvchange --deltag "
                f"{ZEROING_TAG} {vg.name}/{lv.name}",
            )
        _create(draft, lv.size_bytes, lv.pvs)
        return
    if not _is_ours(draft, lv):
        _tag(draft, lv)
    if grown_tags(lv.tags) and size_bytes < lv.size_bytes:
        raise Refused(
            "grown",
            f"{vg.name}/{lv.name} has already grown, and volumes cannot be shrunk.",
            "Resume the job. It then informs the guest.",
        )
    grows = lv.size_bytes < size_bytes and lv.guest_size_bytes < wish.size_bytes
    growth.grow(draft, lv, size_bytes if grows else lv.size_bytes)


def own(draft: Draft, lv: LogicalVolume) -> None:
    """Put the volume under management where it is not yet."""
    if not _is_ours(draft, lv):
        _tag(draft, lv)


def _is_ours(draft: Draft, lv: LogicalVolume) -> bool:
    return MANAGED_TAG in lv.tags and tagged_volume_key(lv.tags) == draft.target.volume_key


def _create(draft: Draft, size_bytes: int, pvs: tuple[str, ...]) -> None:
    """The step that makes the LV and zeroes it; where it exists half-made, the rest of that."""
    draft.add_beside(
        "volume.create",
        f"Create {draft.lv_name} and zero it",
        uuid=draft.lv.uuid if draft.lv is not None else None,
        name=draft.lv_name,
        size_bytes=size_bytes,
        pvs=list(pvs),
        volume_key=draft.target.volume_key,
        layout=draft.wish.layout,
    )


def _tag(draft: Draft, lv: LogicalVolume) -> None:
    if is_reserved_name(lv.name):
        raise Refused(
            "unsupported",
            f"{lv.vg_name}/{lv.name} has a name such as Tiercel gives to caches, to room and to "
            "retired volumes.",
            "Give it another name on the host, and in its guest's configuration: lvrename "
            f"{lv.vg_name} {lv.name} NEWNAME",
        )
    others = [key for key in tagged_volume_keys(lv.tags) if key != draft.target.volume_key]
    if others:
        raise Refused(
            "not_ours",
            f"{lv.vg_name}/{lv.name} carries the tag of another volume record ({others[0]}).",
            "Remove the stray tag on the host with lvchange --deltag if that record is gone.",
        )
    draft.steps.append(
        PlannedStep(
            "volume.tag",
            {"vg": lv.vg_name, "lv": lv.name, "volume_key": draft.target.volume_key},
            {
                "vg_uuid": lv.vg_uuid,
                "lv_uuid": lv.uuid,
                "lv_name": lv.name,
                "size_bytes": lv.size_bytes,
            },
            f"Tag {lv.vg_name}/{lv.name} as managed",
        )
    )

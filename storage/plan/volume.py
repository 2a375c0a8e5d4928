"""The logical volume itself: created, zeroed, tagged, and big enough."""

from __future__ import annotations

from storage.facts import LogicalVolume
from storage.naming import MANAGED_TAG, ZEROING_TAG, tagged_volume_key
from storage.plan.draft import Draft, Refused, Step
from storage.space import choose, volume_bytes
from storage.wish import MIB


def exist(draft: Draft) -> None:
    """The LV itself: created, zeroed, tagged, big enough."""
    wish, vg, lv = draft.wish, draft.vg, draft.lv
    size_bytes = volume_bytes(wish.size_bytes, wish.layout, vg.extent_bytes)
    if lv is None or ZEROING_TAG in lv.tags:
        draft.steps.append(
            Step(
                "volume.create",
                {
                    "vg": vg.name,
                    "name": draft.target.lv_name,
                    "size_bytes": lv.size_bytes if lv else size_bytes,
                    "pvs": list(lv.pvs if lv else _room(draft, size_bytes)),
                    "volume_key": draft.target.volume_key,
                    "layout": wish.layout,
                },
                {"vg_uuid": vg.uuid},
                f"Create {draft.target.lv_name} and zero it",
                polled=True,
            )
        )
        return
    if lv.size_bytes < size_bytes and lv.guest_size_bytes < wish.size_bytes:
        raise Refused(
            "unsupported",
            f"{vg.name}/{lv.name} is smaller than wished; this version does not extend volumes.",
            f"Ask for at most {lv.guest_size_bytes} bytes, or extend it on the host.",
        )
    if (
        MANAGED_TAG not in lv.tags
        or tagged_volume_key(lv.tags) != draft.target.volume_key
    ):
        _tag(draft, lv)


def _tag(draft: Draft, lv: LogicalVolume) -> None:
    other = tagged_volume_key(lv.tags)
    if other is not None and other != draft.target.volume_key:
        raise Refused(
            "not_ours",
            f"{lv.vg_name}/{lv.name} carries the tag of another volume record ({other}).",
            "Remove the stray tag on the host with lvchange --deltag if that record is gone.",
        )
    draft.steps.append(
        Step(
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


def _room(draft: Draft, needed_bytes: int) -> tuple[str, ...]:
    tier = "fast" if draft.wish.tier == "ssd" else "slow"
    pvs = draft.facts.pvs_of(draft.vg.uuid, tier)
    names = choose(pvs, needed_bytes)
    if not names:
        free_bytes = sum(pv.free_bytes for pv in pvs)
        raise Refused(
            "no_space",
            f"{draft.vg.name} has {free_bytes // MIB} MiB free on {tier} disks; "
            f"the volume needs {needed_bytes // MIB} MiB.",
            "Choose a smaller size, another volume group, or add a disk to the group.",
        )
    return names

"""A bcache cache on a volume that was created bcache-ready; attach and detach are online."""

from __future__ import annotations

from typing import Any

from storage.facts import BcacheBacking, LogicalVolume
from storage.naming import FORMAT_TAG
from storage.plan.draft import Draft, Refused
from storage.plan.ssd import fast_room, other_technology, same_sectors
from storage.space import round_up
from storage.wish import BUCKET_KIB, Bcache


def shape(draft: Draft) -> None:
    """Add the steps that bring the volume's bcache to the wish."""
    current = draft.lv.bcache if draft.lv is not None else None
    wanted = draft.wish.cache if isinstance(draft.wish.cache, Bcache) else None
    if current is None:
        _format(draft)
    elif current.state == "inconsistent":
        raise Refused(
            "degraded",
            f"bcache says {draft.vg.name}/{draft.lv_name} is inconsistent: its SSD was lost "
            "while it held unwritten data.",
            "Restore the volume from a backup; nothing was changed.",
        )
    attached = current.cset_uuid if current is not None else None
    if wanted is None:
        if attached is not None:
            _detach(draft, attached)
        _remove_csets(draft, keep=None)
    elif attached is None:
        _remove_csets(draft, keep=wanted.name)
        _attach(draft, wanted)
    elif attached != wanted.cset_uuid:
        raise other_technology(draft, attached)
    elif current is not None:
        _set(draft, current, wanted)
        _remove_csets(draft, keep=wanted.name)


def _format(draft: Draft) -> None:
    """Only what was born for it: on any other LV the superblock would overwrite data."""
    if draft.lv is not None and FORMAT_TAG not in draft.lv.tags:
        raise Refused(
            "not_fresh",
            f"{draft.vg.name}/{draft.lv_name} was not created bcache-ready; formatting it "
            "would overwrite its data.",
            "Create a new bcache-ready volume and copy the data inside the guest, "
            "or use lvmcache, which works on existing volumes.",
        )
    draft.add("bcache.format", "Format the fresh volume for bcache")


def _attach(draft: Draft, wanted: Bcache) -> None:
    if draft.facts.cset(wanted.cset_uuid) is None:
        _create_cset(draft, wanted)
    draft.add(
        "bcache.attach",
        f"Attach the cache {wanted.name}",
        cset_uuid=wanted.cset_uuid,
        cache_mode=wanted.cache_mode,
        sequential_cutoff_bytes=wanted.sequential_cutoff_bytes,
    )


def _create_cset(draft: Draft, wanted: Bcache) -> None:
    size_bytes = round_up(wanted.size_bytes, draft.vg.extent_bytes)
    made = draft.facts.lv_named(draft.vg.uuid, wanted.name)
    needed_bytes = 0 if made is not None else size_bytes
    pvs = fast_room(draft, needed_bytes, writeback=wanted.cache_mode == "writeback")
    same_sectors(draft, pvs)
    draft.add_beside(
        "cset.create",
        f"Create the cache device {wanted.name} on SSD",
        name=wanted.name,
        size_bytes=size_bytes,
        pvs=list(pvs),
        cset_uuid=wanted.cset_uuid,
        bucket_kib=BUCKET_KIB,
        volume_key=draft.target.volume_key,
    )


def _set(draft: Draft, current: BcacheBacking, wanted: Bcache) -> None:
    changes: dict[str, Any] = {}
    if current.cache_mode != wanted.cache_mode:
        if wanted.cache_mode == "writeback":
            fast_room(draft, 0, writeback=True)
        changes["cache_mode"] = wanted.cache_mode
    if current.sequential_cutoff_bytes != wanted.sequential_cutoff_bytes:
        changes["sequential_cutoff_bytes"] = wanted.sequential_cutoff_bytes
    if changes:
        what = ", ".join(
            f"{key.replace('_', ' ')} {value}" for key, value in changes.items()
        )
        draft.add("bcache.set", f"Set the cache's {what}", **changes)


def _detach(draft: Draft, cset_uuid: str) -> None:
    draft.add(
        "bcache.detach",
        "Detach the cache, writing dirty data back",
        polled=True,
        cset_uuid=cset_uuid,
    )


def _cset_uuid_on(draft: Draft, lv: LogicalVolume) -> str | None:
    return next(
        (cset.uuid for cset in draft.facts.csets if cset.lv_uuid == lv.uuid), None
    )


def _remove_csets(draft: Draft, keep: str | None) -> None:
    """Cache devices of this volume that it does not use (any more)."""
    for lv in draft.ours():
        cset_uuid = _cset_uuid_on(draft, lv)
        if cset_uuid is not None and lv.name != keep:
            draft.add_beside(
                "cset.remove",
                f"Remove the cache device {lv.name} and free its SSD space",
                uuid=lv.uuid,
                name=lv.name,
                cset_uuid=cset_uuid,
            )

"""The wish that a volume be larger, or lie on the other tier."""

from __future__ import annotations

import dataclasses

from jobs.models import Kind
from panel.api.framework.problem import Problem
from panel.api.shapes import Json
from panel.api.volumes.wish import Change, allowed
from storage.planner.lvm_sizes import round_up
from storage.planner.wish import BadWish, Wish
from storage.volumes.snapshot import VolumeSnapshot

KEYS = ("size_bytes", "tier")


def meets(row: VolumeSnapshot, wish: Wish, wanted: Json) -> bool:
    """Whether a job with that wish already makes it so."""
    same_tier = wanted.get("tier", wish.tier) == wish.tier
    return same_tier and _whole(row, wanted, wish) == _whole(row, {}, wish)


def change(row: VolumeSnapshot, wanted: Json, found: Change | None) -> Change | None:
    """What is to be done beside `found`, the change of its cache; None where it is so already.
    A volume that goes to SSD loses its cache. Raises `Refused`, and `Problem` for bad values."""
    if not any(name in wanted for name in KEYS):
        return found
    now = allowed(row, row.wish)
    wish = found.wish if found is not None else now
    kind = found.kind if found is not None else None
    fields: Json = {}
    if wanted.get("tier", wish.tier) != wish.tier:
        fields["tier"], kind = wanted["tier"], Kind.MOVE_VOLUME
        if wanted["tier"] == "ssd" and "cache" not in wanted:
            fields |= {"cache": None, "flushed": False}
    size_bytes = _whole(row, wanted, now)
    if size_bytes < now.size_bytes:
        raise _bad("/size_bytes", "too_small", "A volume can only be made larger.")
    if size_bytes > now.size_bytes:
        fields["size_bytes"], kind = size_bytes, Kind.EXTEND_VOLUME
    if kind is None:
        return None
    try:
        wish = dataclasses.replace(wish, **fields)
    except BadWish as error:
        raise _bad("/tier", "invalid", str(error)) from None
    return Change(kind, allowed(row, wish))


def _whole(row: VolumeSnapshot, wanted: Json, wish: Wish) -> int:
    """The size in whole extents; that of `wish` where none is wanted, or it is the same rounded."""
    extent_bytes = row.vg.extent_bytes if row.vg is not None else 1
    wished = round_up(wish.size_bytes, extent_bytes)
    size_bytes = round_up(wanted.get("size_bytes", wish.size_bytes), extent_bytes)
    return wish.size_bytes if size_bytes == wished else size_bytes


def _bad(pointer: str, code: str, message: str) -> Problem:
    errors = [{"pointer": pointer, "code": code, "message": message}]
    return Problem(422, "invalid", "The request has errors.", errors=errors)

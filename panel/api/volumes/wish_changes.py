"""From the wish in a request to the job that fulfils it: cache, life, management, size and
tier."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.core.exceptions import ValidationError
from django.utils import timezone

from jobs.models import Kind
from panel.api.framework.bodies import unfit
from panel.api.framework.problem import ApiProblem, unprocessable
from panel.api.framework.shape import Json, show
from panel.api.volumes.wish_shapes import WishShape, life_of
from storage.health.lost_cache import dropped, loss_of_row
from storage.planner import Refused
from storage.planner.current_wish import uncached
from storage.planner.lvm_sizes import round_up
from storage.planner.technologies.lookup import SETTINGS, of_cache, with_flush
from storage.planner.wish import BadWish, Wish
from storage.volumes.cache_wish import FIRST_MODE, CacheChoices, cache_wish
from storage.volumes.lifecycle import Life, allowed_life, demand_label
from storage.volumes.snapshot import VolumeSnapshot

AS_SOON_AS_ALLOWED: Final = "as_soon_as_allowed"
WHENS: Final = ["now", AS_SOON_AS_ALLOWED]


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """What a job is to do, and when it may begin."""

    kind: Kind
    wish: Wish
    not_before: datetime | None = None


def change_of_wish(row: VolumeSnapshot, cache_body: Json | None) -> RequestedChange | None:
    """What is to be done for the volume to have the cache `cache_body`, None for no cache, else
    `{size_bytes}` and any of `mode` and `SETTINGS`, of which what is left out stays; None where
    it is so already.

    Raises `Refused` for what the last inventory forbids and `ApiProblem` for bad values.
    """
    now = row.wish
    if now is not None and is_same(row, now, cache_body):
        return None
    loss = loss_of_row(row) if cache_body is None else None
    if loss is not None:
        # A group that misses a disk forbids every change but this one.
        return RequestedChange(Kind.DROP_CACHE, dropped(row, loss))
    wish_change = _change(row, row.allowed(now), cache_body)
    row.allowed(wish_change.wish)
    return wish_change


def is_same(row: VolumeSnapshot, wish: Wish, cache_body: Json | None) -> bool:
    """Whether `wish` already has that cache, up to the rounding of sizes."""
    current = show(WishShape, wish, staff=True)["cache"]
    if current is None or cache_body is None:
        return current is cache_body
    settings = [name for names in SETTINGS.values() for name in names]
    return (
        current["mode"] == cache_body.get("mode", current["mode"])
        and rounded(row, wish, current["size_bytes"])
        == rounded(row, wish, cache_body["size_bytes"])
        and all(current.get(name) == cache_body[name] for name in settings if name in cache_body)
    )


def rounded(row: VolumeSnapshot, wish: Wish, size_bytes: int) -> int:
    """The size a cache of `size_bytes` gets: whole extents, and whole chunks of lvmcache."""
    extent_bytes = row.vg.extent_bytes if row.vg is not None else 1
    if wish.cache is None:
        return round_up(size_bytes, extent_bytes)
    return of_cache(wish.cache).rounded_bytes(wish.cache, size_bytes, extent_bytes)


def _change(row: VolumeSnapshot, now: Wish, cache_body: Json | None) -> RequestedChange:
    if cache_body is None:
        return RequestedChange(Kind.REMOVE_CACHE, uncached(row.facts, row.lv, now))
    _known(row, cache_body)
    kind, mode, size_bytes = Kind.ADD_CACHE, FIRST_MODE, cache_body["size_bytes"]
    if now.cache is not None:
        kind, mode = Kind.REPLACE_CACHE, now.cache.mode
        if rounded(row, now, size_bytes) == rounded(row, now, now.cache.size_bytes):
            kind, size_bytes = Kind.SET_CACHE, None
    names = [name for name in SETTINGS[row.technology.name] if name in cache_body]
    choices = CacheChoices(
        cache_body.get("mode", mode), size_bytes, {name: cache_body[name] for name in names}
    )
    try:
        return RequestedChange(kind, cache_wish(row, choices))
    except ValidationError as error:
        raise unprocessable(error, under="/cache") from None


def flushing(row: VolumeSnapshot, change: RequestedChange | None) -> RequestedChange:
    """`change_of_wish`, and dirty data written to the slow disk; raises `Refused`."""
    kind, wish = (change.kind, change.wish) if change else (Kind.FLUSH_CACHE, row.allowed(row.wish))
    if wish.cache is None:
        raise Refused("not_found", "Without a cache there is nothing to flush.", "Leave it out.")
    return RequestedChange(kind, with_flush(row.facts, wish))


def _known(row: VolumeSnapshot, cache_body: Json) -> None:
    """A setting of the other technology would be passed over in silence."""
    known = SETTINGS[row.technology.name]
    errors = [
        {
            "pointer": f"/cache/{name}",
            "code": "unsupported",
            "message": f"{row.technology.name} has no such setting.",
        }
        for names in SETTINGS.values()
        for name in names
        if name in cache_body and name not in known
    ]
    if errors:
        raise ApiProblem(422, "invalid", "The request has errors.", errors=errors)


CLOCK_MARGIN = timedelta(minutes=1)
"""The host measures the time by its own clock."""
LIFE_KINDS: dict[Life, Kind] = {
    "live": Kind.RESTORE_VOLUME,
    "retired": Kind.RETIRE_VOLUME,
    "gone": Kind.DESTROY_VOLUME,
}


def meets_life(wish: Wish, body: Json) -> bool:
    """Whether a job with that wish already makes it so."""
    life: Life = body["life"]
    return wish.life == life


def life_change(row: VolumeSnapshot, body: Json) -> RequestedChange | None:
    """The requested change; None where the volume already has this state. Destroying demands the
    volume's label in `confirm_label`, and waits for the end of the undo window where that is asked
    for. Raises `Refused`, and `ApiProblem` for a wrong label."""
    life: Life = body["life"]
    if life_of(row) == life:
        return None
    now, until = timezone.now(), row.undo_until
    is_later = body["when"] == AS_SOON_AS_ALLOWED and until is not None and until > now
    wish = allowed_life(row, life, until if is_later and until else now)
    if life == "gone":
        demand_label(row.volume, body.get("confirm_label", ""))
    not_before = until + CLOCK_MARGIN if is_later and until is not None else None
    return RequestedChange(LIFE_KINDS[life], wish, not_before)


def management_change(row: VolumeSnapshot) -> RequestedChange | None:
    """What is to be done; None where the volume is managed already. Raises `Refused`."""
    if row.volume.managed:
        return None
    return RequestedChange(Kind.TAG_VOLUME, row.allowed(row.wish))


SHAPE_FIELDS = ("size_bytes", "tier")


def meets_shape(row: VolumeSnapshot, wish: Wish, body: Json) -> bool:
    """Whether a job with that wish already makes it so."""
    same_tier = body.get("tier", wish.tier) == wish.tier
    return same_tier and _whole_extents(row, body, wish) == _whole_extents(row, {}, wish)


def shape_change(
    row: VolumeSnapshot, body: Json, change: RequestedChange | None
) -> RequestedChange | None:
    """The change of size and tier (`change_of_wish` has that of the cache); None where nothing
    changes. A volume that goes to SSD loses its cache. Raises `Refused`, and `ApiProblem` for bad
    values."""
    if not any(name in body for name in SHAPE_FIELDS):
        return change
    now = row.allowed(row.wish)
    wish = change.wish if change is not None else now
    kind = change.kind if change is not None else None
    fields: Json = {}
    if body.get("tier", wish.tier) != wish.tier:
        fields["tier"], kind = body["tier"], Kind.MOVE_VOLUME
        if body["tier"] == "ssd" and "cache" not in body:
            fields |= {"cache": None, "flushed": False}
    size_bytes = _whole_extents(row, body, now)
    if size_bytes < now.size_bytes:
        raise unfit("size_bytes", "A volume can only be made larger.", "too_small")
    if size_bytes > now.size_bytes:
        fields["size_bytes"], kind = size_bytes, Kind.EXTEND_VOLUME
    if kind is None:
        return None
    try:
        wish = dataclasses.replace(wish, **fields)
    except BadWish as error:
        raise unfit("tier", str(error)) from None
    return RequestedChange(kind, row.allowed(wish))


def _whole_extents(row: VolumeSnapshot, body: Json, wish: Wish) -> int:
    """The size in whole extents; that of `wish` where `body` has none, or the same one rounded."""
    extent_bytes = row.vg.extent_bytes if row.vg is not None else 1
    wished = round_up(wish.size_bytes, extent_bytes)
    size_bytes = round_up(body.get("size_bytes", wish.size_bytes), extent_bytes)
    return wish.size_bytes if size_bytes == wished else size_bytes

"""From the wish of a request to the job that fulfils it, by the same forms as the pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from jobs.models import Kind
from panel.api.framework.problem import Problem
from panel.api.nouns import wish_json
from panel.api.shapes import Json
from storage.health.lost_cache import dropped, loss_of_row
from storage.planner import Refused
from storage.planner.bcache import with_flush
from storage.planner.growth import uncached
from storage.planner.lvm_sizes import round_up
from storage.planner.wish import LvmCache, Wish
from storage.volumes.cache_settings_form import SETTINGS, NewTunedForm, TunedForm
from storage.volumes.forms import ModeForm
from storage.volumes.replace_cache_form import ReplacementForm
from storage.volumes.snapshot import VolumeSnapshot

FIRST_MODE = "writethrough"
"""Of a first cache whose mode is not named: losing the SSD loses no data."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a job is to do."""

    kind: Kind
    wish: Wish


def change(row: VolumeSnapshot, wanted: Json | None) -> Change | None:
    """What is to be done for the volume to have the cache `wanted`, None for no cache, else
    `{size_bytes}` and any of `mode` and `SETTINGS`, of which what is left out stays; None where
    it is so already.

    Raises `Refused` for what the last inventory forbids and `Problem` for bad values.
    """
    now = row.wish
    if now is not None and is_same(row, now, wanted):
        return None
    loss = loss_of_row(row) if wanted is None else None
    if loss is not None:
        # A group that misses a disk forbids every change but this one.
        return Change(Kind.DROP_CACHE, dropped(row, loss))
    found = _change(row, allowed(row, now), wanted)
    allowed(row, found.wish)
    return found


def allowed(row: VolumeSnapshot, wish: Wish | None) -> Wish:
    """The wish, where the last inventory forbids nothing of it; raises `Refused`."""
    if (refusal := row.refusal(wish)) is not None:
        raise refusal
    return cast("Wish", wish)  # None is always refused


def is_same(row: VolumeSnapshot, wish: Wish, wanted: Json | None) -> bool:
    """True where `wish` is already what is wanted, up to the rounding of sizes."""
    said = wish_json(wish)["cache"]
    if said is None or wanted is None:
        return said is wanted
    settings = [name for names in SETTINGS.values() for name in names]
    return (
        said["mode"] == wanted.get("mode", said["mode"])
        and rounded(row, wish, said["size_bytes"]) == rounded(row, wish, wanted["size_bytes"])
        and all(said.get(name) == wanted[name] for name in settings if name in wanted)
    )


def rounded(row: VolumeSnapshot, wish: Wish, size_bytes: int) -> int:
    """The size a cache of `size_bytes` gets: whole extents, and whole chunks of lvmcache."""
    extent_bytes = row.vg.extent_bytes if row.vg is not None else 1
    if isinstance(wish.cache, LvmCache):
        return round_up(size_bytes, math.lcm(extent_bytes, wish.cache.chunk_kib * 1024))
    return round_up(size_bytes, extent_bytes)


def _change(row: VolumeSnapshot, now: Wish, wanted: Json | None) -> Change:
    if wanted is None:
        return Change(Kind.REMOVE_CACHE, uncached(row.facts, row.lv, now))
    _known(row, wanted)
    wanted = {"mode": _mode(now), **wanted}
    if now.cache is None:
        return Change(Kind.ADD_CACHE, _valid(NewTunedForm(row, wanted)))
    if rounded(row, now, wanted["size_bytes"]) != rounded(row, now, now.cache.size_bytes):
        return Change(Kind.REPLACE_CACHE, _valid(ReplacementForm(row, wanted)))
    return Change(Kind.SET_CACHE, _valid(TunedForm(row, wanted)))


def _mode(now: Wish) -> str:
    """What a mode that is left out means."""
    said = wish_json(now)["cache"]
    return said["mode"] if said is not None else FIRST_MODE


def flushing(row: VolumeSnapshot, found: Change | None) -> Change:
    """`found`, and dirty data written to the slow disk; raises `Refused`."""
    kind, wish = (found.kind, found.wish) if found else (Kind.FLUSH_CACHE, allowed(row, row.wish))
    if wish.cache is None:
        raise Refused("not_found", "Without a cache there is nothing to flush.", "Leave it out.")
    return Change(kind, with_flush(row.facts, wish))


def _known(row: VolumeSnapshot, wanted: Json) -> None:
    """A setting of the other technology would be passed over in silence."""
    known = SETTINGS[row.technology]
    errors = [
        {
            "pointer": f"/cache/{name}",
            "code": "unsupported",
            "message": f"{row.technology} has no such setting.",
        }
        for names in SETTINGS.values()
        for name in names
        if name in wanted and name not in known
    ]
    if errors:
        raise Problem(422, "invalid", "The request has errors.", errors=errors)


def _valid(form: ModeForm) -> Wish:
    if form.is_valid() and form.wish is not None:
        return form.wish
    raise Problem(422, "invalid", "The request has errors.", errors=list(_errors(form)))


def _errors(form: ModeForm) -> Iterator[dict[str, str]]:
    """The fields of the form are those of `cache` in the body."""
    for name, errors in form.errors.as_data().items():
        pointer = "/cache" if name == "__all__" else f"/cache/{name}"
        for error in errors:
            text = " ".join(error.messages)
            yield {"pointer": pointer, "code": error.code or "invalid", "message": text}

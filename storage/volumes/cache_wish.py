"""What is chosen for a volume's cache becomes a wish, or an error at the field that is wrong. Pure:
from a volume as it is and values to values; pages, API and customers' plans ask here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import ValidationError

from storage.naming import new_key
from storage.planner import Refused
from storage.planner.technologies.technology import Technology
from storage.planner.wish import BadWish, CacheTooSmall, CacheWish, Wish
from storage.volumes.cache_sizes import SIZES_BYTES, sizes_for, within, writeback_refusal
from storage.volumes.snapshot import VolumeSnapshot

FIRST_MODE = "writethrough"
"""Of a first cache whose mode is not named: losing the SSD loses no data."""

MODES = {
    "writethrough": "Writes wait for the HDD; reads come from SSD. Losing the SSD loses no data.",
    "writeback": (
        "Writes complete on SSD and reach the HDD later. Fastest, but until then the data "
        "exists only on SSD."
    ),
    "writearound": (
        "Writes bypass the cache; only reads fill it. Reduces SSD wear if written data is rarely "
        "read again."
    ),
}


@dataclass(frozen=True, slots=True)
class CacheChoices:
    """`size_bytes` None keeps the cache that is there; any size makes a new one, in the place of
    the one that is there. The plan rounds it to whole extents. Settings that are left out stay as
    they are."""

    mode: str
    size_bytes: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def cache_wish(row: VolumeSnapshot, choices: CacheChoices) -> Wish:
    """The volume with the cache that was chosen; the technology follows from its layout. Raises
    Django's `ValidationError`, with the names of the choices."""
    errors = dict(_setting_errors(row.technology, choices.settings))
    if reason := mode_refusal(row, choices.mode):
        errors["mode"] = ValidationError(reason, code="invalid")
    if choices.mode not in row.technology.modes:
        valid = " or ".join(row.technology.modes)
        error = ValidationError(f"Select a valid choice: {valid}.", code="invalid_choice")
        errors["mode"] = error
    if errors:
        raise ValidationError(errors)
    try:
        return _wish(row, choices)
    except CacheTooSmall as error:
        wrong = ValidationError(str(error), code="too_small")
        raise ValidationError({"size_bytes": wrong}) from error
    except BadWish as error:
        raise ValidationError(str(error), code="invalid") from error


def _wish(row: VolumeSnapshot, choices: CacheChoices) -> Wish:
    now, mode, size_bytes = row.wish, choices.mode, choices.size_bytes
    if now is None or (now.cache is None and size_bytes is None):
        raise BadWish("The volume has no cache that could be changed.")
    if size_bytes is None and now.cache is not None:
        cache: CacheWish = now.cache.with_mode(mode)
    elif now.cache is None:
        # A new name each time: what a broken attempt left is then known as a leftover.
        cache = row.technology.wish.new(new_key(), size_bytes or 0, mode)
    else:
        cache = now.cache.another(new_key(), size_bytes or 0, mode)
    return replace(now, cache=replace(cache, **choices.settings))


def _setting_errors(
    technology: Technology, settings: Mapping[str, int]
) -> Iterator[tuple[str, ValidationError]]:
    for setting in technology.settings:
        value = settings.get(setting.name, 0)
        if value > setting.max_value:
            text = f"Ensure this value is less than or equal to {setting.max_value}."
            yield setting.name, ValidationError(text, code="max_value")
        elif setting.name in settings and (problem := setting.problem(value)):
            yield setting.name, ValidationError(problem, code="invalid")


def mode_refusal(row: VolumeSnapshot, mode: str) -> str:
    """Why the mode is not offered for the volume; "" where it is."""
    if mode != "writeback" or row.facts is None or row.placement is None:
        return ""
    return writeback_refusal(row.facts, row.placement.vg_uuid)


def offered_sizes(row: VolumeSnapshot) -> list[int]:
    """Sizes in bytes, smallest first, of a new cache or of one in the place of the one that is
    there."""
    sizes = [each for each in SIZES_BYTES if _is_possible(row, each)] if row.cache else _free(row)
    return within(sizes, row.volume.size_bytes)


def _free(row: VolumeSnapshot) -> list[int]:
    on_ssd = row.wish is not None and row.wish.tier == "ssd"
    if row.facts is None or row.placement is None or on_ssd:
        return []
    return list(sizes_for(row.facts, row.placement.vg_uuid, row.technology))


def _is_possible(row: VolumeSnapshot, size_bytes: int) -> bool:
    """Whether one of that size could replace the cache, counting what that frees."""
    now, least_bytes = row.wish, row.technology.least_offered_bytes
    if now is None or now.cache is None or size_bytes < least_bytes:
        return False
    if size_bytes == now.cache.size_bytes:
        return False
    return row.refusal(_wish(row, CacheChoices(now.cache.mode, size_bytes))) is None


def no_size(row: VolumeSnapshot) -> Refused | None:
    """Why not even the smallest size is offered."""
    if row.wish is None:
        return row.refusal(None)
    mode = row.cache.mode if row.cache is not None else FIRST_MODE
    try:
        wish = _wish(row, CacheChoices(mode, row.technology.least_offered_bytes))
    except BadWish as error:
        return Refused("unsupported", str(error), "Move the volume to HDD, or leave it on SSD.")
    text = "There is no SSD space left for a cache."
    if row.cache is not None:
        text = "There is no SSD space for another size."
    return row.refusal(wish) or Refused("no_space", text, "Free SSD space first.")

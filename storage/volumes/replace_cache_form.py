"""The form that replaces a cache with a larger or smaller one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django import forms

from storage.naming import new_key
from storage.planner import Refused
from storage.planner.wish import BadWish, Wish
from storage.volumes.cache_settings_form import TunedForm
from storage.volumes.cache_sizes import SIZES_BYTES
from storage.volumes.forms import size_label
from storage.volumes.snapshot import VolumeSnapshot


class ReplacementForm(TunedForm):
    """A cache of any other size: what pages, API and customers' plans have in common. Settings that
    are left out are those of the old cache. The new one is cold, and has a name of its own."""

    size_bytes = forms.IntegerField(min_value=1, label="Size")

    def build(self) -> Wish:
        now = self.row.wish
        if now is None:
            raise BadWish("The volume has no cache that could be replaced.")
        wish = replaced(now, self.cleaned_data["size_bytes"], self.cleaned_data["mode"])
        return replace(wish, cache=self._tuned(wish.cache))


class ResizeForm(ReplacementForm):
    """One of the sizes there is room for, counting what the old cache frees: what a page offers."""

    size_bytes = forms.TypedChoiceField(coerce=int, label="Size")  # type: ignore[assignment]

    def __init__(self, row: VolumeSnapshot, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, **kwargs)
        field = cast("forms.TypedChoiceField", self.fields["size_bytes"])
        volume_bytes = row.volume.size_bytes
        sizes = sizes_instead(row)
        field.choices = [(each, size_label(each, volume_bytes)) for each in sizes]
        now_bytes = row.cache.size_bytes if row.cache is not None else None
        bigger = [each for each in sizes if each > (now_bytes or 0)]
        field.initial = min(bigger, default=max(sizes, default=None))

    @property
    def has_room(self) -> bool:
        return bool(cast("forms.TypedChoiceField", self.fields["size_bytes"]).choices)

    @property
    def refusal(self) -> Refused | None:
        """Why no other size is possible; None where one is."""
        if self.has_room:
            return None
        now = self.row.wish
        if now is None or now.cache is None:
            return self.row.refusal(None)
        smallest = replaced(now, self.row.technology.least_offered_bytes, now.cache.mode)
        return self.row.refusal(smallest) or Refused(
            "no_space", "There is no SSD space for another size.", "Free SSD space first."
        )


def sizes_instead(row: VolumeSnapshot) -> list[int]:
    """Sizes in bytes, smallest first, by which the volume's cache could be replaced now."""
    now = row.wish
    if now is None or now.cache is None:
        return []
    mode, current = now.cache.mode, now.cache.size_bytes
    return [
        each
        for each in SIZES_BYTES
        if each >= row.technology.least_offered_bytes
        and each != current
        and row.refusal(replaced(now, each, mode)) is None
    ]


def replaced(now: Wish, size_bytes: int, mode: Any) -> Wish:
    """`now` with a fresh cache of that size and mode, otherwise set as the old one; raises
    `BadWish`."""
    if now.cache is None:
        raise BadWish("The volume has no cache that could be replaced.")
    return replace(now, cache=now.cache.another(new_key(), size_bytes, mode))

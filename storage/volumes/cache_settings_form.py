"""Expert settings of a cache, besides its size and mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from storage.planner.technologies.technology import Setting
from storage.planner.wish import BadWish, CacheWish, Wish
from storage.volumes.forms import ModeForm, NewCacheForm


def _field(setting: Setting) -> forms.IntegerField:
    def check(value: int) -> None:
        if 0 <= value <= setting.max_value and (problem := setting.problem(value)):
            raise ValidationError(problem)

    return forms.IntegerField(
        min_value=0,
        max_value=setting.max_value,
        required=False,
        label=setting.field_label,
        help_text=setting.help_text,
        validators=[check],
    )


class TunedForm(ModeForm):
    """The mode and the settings of a cache that is there; a setting left out stays as it is."""

    def __init__(self, row: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, **kwargs)
        cache = row.wish.cache if row.wish is not None else None
        for setting in row.technology.settings:
            self.fields[setting.name] = field = _field(setting)
            if cache is not None:
                field.initial = getattr(cache, setting.name)

    @property
    def settings(self) -> list[forms.BoundField]:
        """The fields of the volume's technology."""
        return [self[setting.name] for setting in self.row.technology.settings]

    def build(self) -> Wish:
        wish = super().build()
        return replace(wish, cache=self._tuned(wish.cache))

    def _tuned(self, cache: CacheWish | None) -> CacheWish:
        if cache is None:
            raise BadWish("The volume has no cache that could be set.")
        given = {
            setting.name: self.cleaned_data[setting.name]
            for setting in self.row.technology.settings
            if self.cleaned_data.get(setting.name) is not None
        }
        return replace(cache, **given)


class NewTunedForm(TunedForm, NewCacheForm):
    """A new cache of any size with its settings: what programs ask for."""

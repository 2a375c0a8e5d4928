"""Settings of a cache beside its size and mode: for those who know what they do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from storage.planner.lvmcache import SECTOR_BYTES
from storage.planner.wish import WRITEBACK_PERCENT_MAX, BadWish, Bcache, LvmCache, Wish
from storage.volumes.forms import ModeForm, NewCacheForm

SETTINGS = {
    "lvmcache": ("migration_threshold_sectors",),
    "bcache": ("sequential_cutoff_bytes", "writeback_percent"),
}
KERNEL_UNITS_BELOW = 1000
"""The kernel shows the cutoff back in at most three digits and a unit: anything finer could not be
compared with what was asked for."""


class TunedForm(ModeForm):
    """The mode and the settings of a cache that is there; a setting left out stays as it is."""

    migration_threshold_sectors = forms.IntegerField(
        min_value=0,
        max_value=2**31,
        required=False,
        label="Migration threshold, sectors",
        help_text=(
            f"Amount of data moved between disk and SSD at once, in sectors of {SECTOR_BYTES} B: "
            "16384 is 8 MiB. A higher value warms the cache faster and slows the guest more."
        ),
    )
    sequential_cutoff_bytes = forms.IntegerField(
        min_value=0,
        max_value=2**32,
        required=False,
        label="Sequential cutoff, bytes",
        help_text=(
            "Sequential I/O longer than this many bytes bypasses the cache. 0 caches everything."
        ),
    )
    writeback_percent = forms.IntegerField(
        min_value=0,
        max_value=WRITEBACK_PERCENT_MAX,
        required=False,
        label="Writeback percent",
        help_text=(
            f"Share of the cache that may stay dirty, 0 to {WRITEBACK_PERCENT_MAX} %. Below this "
            "share, writeback slows down. 0 writes back at once."
        ),
    )

    def __init__(self, row: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, **kwargs)
        cache = row.wish.cache if row.wish is not None else None
        for technology, names in SETTINGS.items():
            for name in names:
                if technology != row.technology:
                    del self.fields[name]
                elif cache is not None:
                    self.fields[name].initial = getattr(cache, name)

    @property
    def settings(self) -> list[forms.BoundField]:
        """The fields of the volume's technology."""
        return [self[name] for name in SETTINGS[self.row.technology]]

    def clean_sequential_cutoff_bytes(self) -> int | None:
        cutoff: int | None = self.cleaned_data["sequential_cutoff_bytes"]
        rest = cutoff or 0
        while rest >= KERNEL_UNITS_BELOW and rest % 1024 == 0:
            rest //= 1024
        if cutoff and (rest >= KERNEL_UNITS_BELOW or cutoff % 1024):
            raise ValidationError(
                f"0, or a whole number below {KERNEL_UNITS_BELOW} of KiB, MiB or GiB, in bytes."
            )
        return cutoff

    def build(self) -> Wish:
        wish = super().build()
        return replace(wish, cache=self._tuned(wish.cache))

    def _tuned(self, cache: LvmCache | Bcache | None) -> LvmCache | Bcache:
        if cache is None:
            raise BadWish("The volume has no cache that could be set.")
        given = {
            name: self.cleaned_data[name]
            for name in SETTINGS[self.row.technology]
            if self.cleaned_data.get(name) is not None
        }
        return replace(cache, **given)


class NewTunedForm(TunedForm, NewCacheForm):
    """A new cache of any size with its settings: what programs ask for."""

"""Forms of volumes: a new one, its cache, its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from panel.lists.named_choice import NamedChoiceField
from panel.staff.job_requests import WishForm
from storage.access import Person
from storage.analysis.size_choice import SizeChoice
from storage.analysis.size_curve import chosen_size
from storage.bulk_changes import ACTIONS, OPTIONS, Action, BulkRequest
from storage.byte_sizes import GIB, MIB
from storage.database_clock import database_now
from storage.formatting import share, size
from storage.models import CachePlan, Customer
from storage.name_validators import demand_name
from storage.planner.technologies.lookup import TECHNOLOGIES, layout_of
from storage.planner.wish import BadWish, Tier, Wish
from storage.volumes.cache_wish import (
    MODES,
    CacheChoices,
    cache_wish,
    mode_refusal,
    offered_sizes,
)
from storage.volumes.lifecycle import demand_label
from storage.volumes.snapshot import VolumeSnapshot
from storage.volumes.volume_groups import GroupChoice, groups_of

UNITS = {"GiB": GIB, "MiB": MIB}
LONGEST_SIZE = 18
"""Digits: a longer number is no size."""


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """`reason` says why the mode is not offered; '' where it is."""

    value: str
    explanation: str
    reason: str
    is_chosen: bool


class SizeField(forms.TypedChoiceField):
    """A size in bytes, of those that are offered; the error of another one reads like the sizes."""

    def validate(self, value: str) -> None:
        known = value.isdecimal() and len(value) <= LONGEST_SIZE
        if known and not self.valid_value(value):
            text = f"A cache of {size(int(value))} is not offered here. Choose another size."
            raise ValidationError(text, code="invalid_choice")
        super().validate(value)


class CacheForm(WishForm):
    """A new cache, or (`is_replacement`) one in the place of the one that is there: its mode and
    one of the sizes there is room for, or any other. Else the mode and the settings of the cache
    that is there."""

    size_bytes = SizeField(coerce=int, empty_value=None, required=False, label="Size")
    own_gib = forms.FloatField(required=False, min_value=0, label="Another size, GiB")
    mode = forms.CharField()

    def __init__(
        self, row: VolumeSnapshot, *args: Any, is_replacement: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.row = row
        self.sizes: list[int] = []
        self.size_choice: SizeChoice | None = None
        if row.cache is not None:
            self.fields["mode"].initial = row.cache.mode
        if row.cache is None or is_replacement:
            self._offer_sizes()
        else:
            del self.fields["size_bytes"], self.fields["own_gib"]
            self._offer_settings()

    def _offer_sizes(self) -> None:
        self.sizes = offered_sizes(self.row)
        volume_bytes = self.row.volume.size_bytes
        field = cast("forms.TypedChoiceField", self.fields["size_bytes"])
        self.size_choice = chosen_size(self.row, self.sizes, database_now())
        chosen = self.size_choice.size_bytes if self.size_choice is not None else None
        field.choices = [
            *([] if chosen else [("", "Choose a size")]),
            *((each, size_label(each, volume_bytes)) for each in self.sizes),
        ]
        field.initial = chosen

    def _offer_settings(self) -> None:
        cache = self.row.wish.cache if self.row.wish is not None else None
        for setting in self.row.technology.settings:
            self.fields[setting.name] = forms.IntegerField(
                min_value=0,
                required=False,
                label=setting.field_label,
                help_text=setting.help_text,
                initial=getattr(cache, setting.name, None),
            )

    @property
    def modes(self) -> list[ModeChoice]:
        """Every mode of the volume's technology."""
        chosen = self["mode"].value() or self.row.technology.modes[0]
        return [
            ModeChoice(mode, MODES[mode], mode_refusal(self.row, mode), mode == chosen)
            for mode in self.row.technology.modes
        ]

    @property
    def settings(self) -> list[forms.BoundField]:
        """The fields of the volume's technology."""
        names = [setting.name for setting in self.row.technology.settings]
        return [self[name] for name in names if name in self.fields]

    @property
    def least_gib(self) -> float:
        """The smallest size that can be typed."""
        return self.row.technology.least_offered_bytes / GIB

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if own_gib := data.get("own_gib"):
            data["size_bytes"] = round(own_gib * GIB)
            self._check_own(data["size_bytes"])
        elif "size_bytes" in self.fields and not self.errors and not data.get("size_bytes"):
            self.add_error("size_bytes", "Choose a size.")
        if not self.errors:
            names = [each.name for each in self.settings if data.get(each.name) is not None]
            settings = {name: data[name] for name in names}
            try:
                choices = CacheChoices(data["mode"], data.get("size_bytes"), settings)
                self.wish = cache_wish(self.row, choices)
            except ValidationError as error:
                self.add_error(None, error)
        if own_gib and self.wish is not None and (refusal := self.row.refusal(self.wish)):
            self.add_error("own_gib", f"{refusal.message} {refusal.correction}")
        return data

    def _check_own(self, size_bytes: int) -> None:
        least_bytes = self.row.technology.least_offered_bytes
        volume_bytes = self.row.volume.size_bytes
        if size_bytes < least_bytes:
            self.add_error("own_gib", f"The smallest cache is {size(least_bytes)}.")
        elif size_bytes > max(least_bytes, volume_bytes):
            self.add_error("own_gib", f"The volume has only {size(volume_bytes)}.")


def size_label(size_bytes: int, volume_bytes: int) -> str:
    """A cache size and its share of the volume, as a choice."""
    if size_bytes > volume_bytes:
        return f"{size(size_bytes)}, the smallest possible"
    return f"{size(size_bytes)}, {share(size_bytes, volume_bytes)} of the volume"


class VolumeForm(WishForm):
    """A new volume on one tier of a volume group that root allowed us to change."""

    customer = NamedChoiceField(
        "customers", required=False, help_text="Type a part of the name. Empty: no customer."
    )
    new_customer = forms.CharField(
        max_length=200,
        required=False,
        help_text="Or create a new customer.",
        validators=[demand_name],
    )
    label = forms.CharField(
        max_length=200,
        help_text="Display name. Commands never contain it.",
        validators=[demand_name],
    )
    size = forms.IntegerField(min_value=1, max_value=1024 * 1024)
    unit = forms.ChoiceField(choices=[(unit, unit) for unit in UNITS])
    group = forms.ChoiceField(label="Host and volume group")
    tier = forms.ChoiceField(
        choices=[("hdd", "HDD"), ("ssd", "SSD, without a cache")], initial="hdd", required=False
    )
    layout = forms.ChoiceField(
        choices=[(each.layout, each.layout_promise) for each in TECHNOLOGIES],
        initial=TECHNOLOGIES[0].layout,
    )

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        customers = cast("NamedChoiceField", self.fields["customer"])
        customers.queryset = Customer.objects.visible_to(user)
        self.groups = groups_of(user)
        cast("forms.ChoiceField", self.fields["group"]).choices = [
            (value, group.label) for value, group in self.groups.items()
        ]

    def clean_new_customer(self) -> str:
        """There is no customer of this name yet."""
        name: str = self.cleaned_data["new_customer"]
        if name and Customer.objects.filter(name__iexact=name).exists():
            raise ValidationError("There is a customer of this name. Choose it above.")
        return name

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("customer") and data.get("new_customer"):
            self.add_error("new_customer", "Choose a customer or enter a new one, not both.")
        if not self.errors:
            layout = layout_of(data["layout"])
            try:
                tier = cast("Tier", data["tier"] or "hdd")
                self.wish = Wish(data["size"] * UNITS[data["unit"]], tier, layout)
            except BadWish as error:
                raise ValidationError(str(error)) from error
            left_bytes = self.chosen.free_bytes[tier]
            if self.wish.size_bytes > left_bytes:
                free = f"{size(left_bytes)} free on {tier.upper()}"
                self.add_error("size", f"{self.chosen.vg_name} has only {free}.")
        return data

    @property
    def chosen(self) -> GroupChoice:
        """The volume group of valid input."""
        return self.groups[self.cleaned_data["group"]]


class DestroyForm(forms.Form):
    """The label of the volume, typed, which guards against destroying one by mistake."""

    confirm_label = forms.CharField(max_length=200, label="Label of the volume", strip=False)

    def __init__(self, row: VolumeSnapshot, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            demand_label(self.row.volume, self.cleaned_data["confirm_label"])
        return self.cleaned_data


class BulkForm(forms.Form):
    """The action and, where it needs one, its option."""

    action = forms.ChoiceField(choices=ACTIONS)
    customer = NamedChoiceField("customers", required=False)
    cache_plan = forms.ModelChoiceField(
        CachePlan.objects.none(), required=False, to_field_name="key", empty_label="Choose"
    )
    mode = forms.ChoiceField(
        required=False, choices=[("", "Choose"), *((mode, mode) for mode in MODES)]
    )

    def __init__(self, user: Person, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asked: BulkRequest | None = None
        customers = cast("NamedChoiceField", self.fields["customer"])
        customers.queryset = Customer.objects.visible_to(user)
        plans = cast("forms.ModelChoiceField[CachePlan]", self.fields["cache_plan"])
        plans.queryset = CachePlan.objects.visible_to(user).filter(on_offer=True)

    @property
    def option(self) -> forms.BoundField | None:
        """The field that the action needs."""
        name = OPTIONS.get(cast("Action", self.data.get("action", "")))
        return self[name] if name is not None else None

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            data = self.cleaned_data
            asked = BulkRequest(
                Action(data["action"]), data["customer"], data["cache_plan"], data["mode"]
            )
            asked.check()
            self.asked = asked
        return self.cleaned_data

"""Forms that end in a `Wish`: one validator for the pages and the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from storage.byte_sizes import GIB, MIB
from storage.formatting import share, size
from storage.inventory.stored import inventory_of
from storage.models import Customer, Host
from storage.models.host import HostState
from storage.name_validators import demand_name
from storage.named_choice import NamedChoiceField
from storage.naming import new_key
from storage.planner import Refused
from storage.planner.technologies.lookup import TECHNOLOGIES, layout_of
from storage.planner.technologies.technology import Setting
from storage.planner.wish import BadWish, CacheTooSmall, CacheWish, Tier, Wish
from storage.volumes.cache_sizes import SIZES_BYTES, free_bytes, sizes_for, writeback_refusal
from storage.volumes.snapshot import VolumeSnapshot

UNITS = {"GiB": GIB, "MiB": MIB}
DEFAULT_RATIO = 4
"""The suggested cache is a quarter of the volume, or the largest there is room for below that."""

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
class ModeChoice:
    """`reason` says why the mode is not offered; '' where it is."""

    value: str
    explanation: str
    reason: str
    is_chosen: bool


class ModeForm(forms.Form):
    """The mode of a cache that is there. `row` must have a wish (`VolumeSnapshot.wish`)."""

    mode = forms.ChoiceField()

    def __init__(self, row: VolumeSnapshot, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row
        self.wish: Wish | None = None
        self.fields["mode"].choices = [  # type: ignore[attr-defined]
            (mode, mode) for mode in row.technology.modes
        ]
        if row.cache is not None:
            self.fields["mode"].initial = row.cache.mode

    @property
    def modes(self) -> list[ModeChoice]:
        chosen = self["mode"].value() or self.row.technology.modes[0]
        return [
            ModeChoice(mode, MODES[mode], self._reason(mode), mode == chosen)
            for mode in self.row.technology.modes
        ]

    def _reason(self, mode: str) -> str:
        if mode != "writeback" or self.row.facts is None or self.row.placement is None:
            return ""
        return writeback_refusal(self.row.facts, self.row.placement.vg_uuid)

    def clean_mode(self) -> str:
        mode: str = self.cleaned_data["mode"]
        if reason := self._reason(mode):
            raise ValidationError(reason)
        return mode

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            try:
                self.wish = self.build()
            except CacheTooSmall as error:
                self.add_error("size_bytes", ValidationError(str(error), code="too_small"))
            except BadWish as error:
                raise ValidationError(str(error)) from error
        return self.cleaned_data

    def build(self) -> Wish:
        """The wish of valid input; raises `BadWish`."""
        now, mode = self.row.wish, self.cleaned_data["mode"]
        if now is None or now.cache is None:
            raise BadWish("The volume has no cache whose mode could be changed.")
        return replace(now, cache=now.cache.with_mode(mode))


class NewCacheForm(ModeForm):
    """A new cache of any size: what pages, API and customers' plans have in common. The plan rounds
    the size to whole extents; the technology follows from the volume's layout."""

    size_bytes = forms.IntegerField(min_value=1, label="Size")
    field_order = ("size_bytes", "mode")

    def build(self) -> Wish:
        return self._wish(self.cleaned_data["size_bytes"], self.cleaned_data["mode"])

    def _wish(self, size_bytes: int, mode: Any) -> Wish:
        now = self.row.wish
        if now is None or now.cache is not None:
            raise BadWish(
                "The volume already has a cache. Change its mode, or remove the cache first."
            )
        # A new name each time: what a broken attempt left is then known as a leftover.
        cache = self.row.technology.wish.new(new_key(), size_bytes, mode)
        return Wish(now.size_bytes, now.tier, now.layout, cache)


class OfferedSizes(forms.Form):
    """A cache size out of a list, or any other, typed in GiB: what a page offers. A cache larger
    than its volume gains nothing and is no choice, unless even the smallest is larger."""

    size_bytes = forms.TypedChoiceField(coerce=int, empty_value=None, required=False, label="Size")
    own_gib = forms.FloatField(required=False, min_value=0, label="Another size, GiB")
    row: VolumeSnapshot

    def offer(self, sizes: Sequence[int], initial: int | None) -> None:
        """Make these the choices."""
        volume_bytes = self.row.volume.size_bytes
        field = cast("forms.TypedChoiceField", self.fields["size_bytes"])
        field.choices = [(each, size_label(each, volume_bytes)) for each in sizes]
        field.initial = initial

    @property
    def has_room(self) -> bool:
        return bool(cast("forms.TypedChoiceField", self.fields["size_bytes"]).choices)

    @property
    def least_gib(self) -> float:
        return self.row.technology.least_offered_bytes / GIB

    def clean(self) -> dict[str, Any]:
        own_gib, data = self.cleaned_data.get("own_gib"), self.cleaned_data
        if own_gib:
            data["size_bytes"] = round(own_gib * GIB)
            self._check_own(data["size_bytes"])
        elif not self.errors and not data.get("size_bytes"):
            self.add_error("size_bytes", "Choose a size.")
        cleaned: dict[str, Any] = super().clean() or data
        wish: Wish | None = getattr(self, "wish", None)
        if own_gib and wish is not None and (refusal := self.row.refusal(wish)) is not None:
            self.add_error("own_gib", f"{refusal.message} {refusal.correction}")
        return cleaned

    def _check_own(self, size_bytes: int) -> None:
        least_bytes = self.row.technology.least_offered_bytes
        if size_bytes < least_bytes:
            self.add_error("own_gib", f"The smallest cache is {size(least_bytes)}.")
        elif size_bytes > max(least_bytes, self.row.volume.size_bytes):
            volume_bytes = self.row.volume.size_bytes
            self.add_error("own_gib", f"The volume has only {size(volume_bytes)}.")


def useful(sizes: Sequence[int], volume_bytes: int) -> list[int]:
    """Those that are not larger than the volume; the smallest where all are."""
    fitting = [each for each in sizes if each <= volume_bytes]
    return fitting or list(sizes[:1])


class CacheForm(OfferedSizes, NewCacheForm):
    """A new cache of one of the sizes there is room for, or any other."""

    size_bytes = OfferedSizes.base_fields["size_bytes"]  # type: ignore[assignment]

    def __init__(self, row: VolumeSnapshot, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, **kwargs)
        sizes: tuple[int, ...] = ()
        on_ssd = row.wish is not None and row.wish.tier == "ssd"
        if row.facts is not None and row.placement is not None and not on_ssd:
            sizes = sizes_for(row.facts, row.placement.vg_uuid, row.technology)
        below = [choice for choice in sizes if choice * DEFAULT_RATIO <= row.volume.size_bytes]
        initial = max(below) if below else min(sizes, default=None)
        self.offer(useful(sizes, row.volume.size_bytes), initial)

    def no_room(self) -> Refused:
        """Why not even the smallest cache is possible."""
        smallest = self.row.technology.least_offered_bytes
        try:
            refusal = self.row.refusal(self._wish(smallest, "writethrough"))
        except BadWish as error:
            return Refused(
                "unsupported",
                str(error),
                "Move the volume to HDD, or leave it on SSD.",
            )
        return refusal or Refused(
            "no_space", "There is no SSD space left for a cache.", "Free SSD space first."
        )


def size_label(size_bytes: int, volume_bytes: int) -> str:
    """A cache size and its share of the volume, as a choice."""
    if size_bytes > volume_bytes:
        return f"{size(size_bytes)}, the smallest possible"
    return f"{size(size_bytes)}, {share(size_bytes, volume_bytes)} of the volume"


class VolumeForm(forms.Form):
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
        self.wish: Wish | None = None
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


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A volume group a volume may be made in."""

    host: Host
    vg_uuid: str
    vg_name: str
    label: str
    free_bytes: Mapping[Tier, int]
    """By tier."""


def groups_of(user: Any) -> dict[str, GroupChoice]:
    """Where a new volume may be made, by the value of the form's choice."""
    groups = {}
    for host in Host.objects.visible_to(user).filter(state=HostState.ACTIVE):
        facts = inventory_of(host)
        for vg in facts.vgs if facts is not None else ():
            if vg.allowed and facts is not None:
                free: dict[Tier, int] = {
                    "hdd": free_bytes(facts, vg.uuid, "slow"),
                    "ssd": free_bytes(facts, vg.uuid, "fast"),
                }
                sizes = f"{size(free['hdd'])} free on HDD, {size(free['ssd'])} on SSD"
                label = f"{host.name} · {vg.name} ({sizes})"
                groups[f"{host.key}/{vg.uuid}"] = GroupChoice(host, vg.uuid, vg.name, label, free)
    return groups


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


class ResizeForm(OfferedSizes, ReplacementForm):
    """One of the sizes there is room for, counting what the old cache frees, or any other."""

    size_bytes = OfferedSizes.base_fields["size_bytes"]  # type: ignore[assignment]

    def __init__(self, row: VolumeSnapshot, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, **kwargs)
        sizes = useful(sizes_instead(row), row.volume.size_bytes)
        now_bytes = row.cache.size_bytes if row.cache is not None else None
        bigger = [each for each in sizes if each > (now_bytes or 0)]
        self.offer(sizes, min(bigger, default=max(sizes, default=None)))

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

"""Filters of the list of volumes. The database filters, sorts and pages; no inventory is read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.db.models import (
    Case,
    Expression,
    ExpressionWrapper,
    F,
    FilteredRelation,
    FloatField,
    Q,
    QuerySet,
    When,
)
from django.db.models.functions import Cast, Greatest, NullIf

from panel.accounts.name_search import every_word
from panel.lists.named_choice import Suggesting, by_id
from storage.access import Person
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.models import Customer, Host, Volume
from storage.models.host import silent_seconds
from storage.naming import KEY_PATTERN
from storage.planner.technologies.lookup import SETTINGS
from storage.volumes.slow_volumes import IS_SLOW

FOUND = Q(managed=False, adopted_at=None, place__lv_uuid__isnull=False)
STATES: Final = {
    "": "Any state",
    "slow": "Slow reads",
    "found": "Not adopted",
    "trouble": "Cache problem",
    "dirty": "Dirty data in the cache",
    "old": "No recent data",
    "missing": "Missing on the host",
    "planned": "Not created yet",
    "previewed": "Preview only",
    "retired": "Retired",
    "destroyed": "Destroyed",
}
CACHES: Final[dict[str, str]] = {
    "": "Any",
    "any": "With a cache",
    "none": "No cache",
    **{str(name): name for name in SETTINGS},
}


def ratio_of(part: str, whole: str) -> Expression:
    ratio = Cast(part, FloatField()) / NullIf(Cast(whole, FloatField()), 0.0)
    return ExpressionWrapper(ratio, FloatField())


NOW: Final = "latest_sample__"
READS_SERVED = F(f"{NOW}read_hits") + F(f"{NOW}read_misses")
HIT_RATE = Case(
    When(
        latest_sample__read_hits__isnull=False,
        then=Case(
            When(
                served__gte=MIN_ACCESSES,
                then=Cast(f"{NOW}read_hits", FloatField()) / Cast("served", FloatField()),
            )
        ),
    ),
    When(
        latest_sample__technology=2,
        latest_sample__reads__gte=MIN_ACCESSES,
        then=Greatest(0.0, 1.0 - ratio_of(f"{NOW}slow_read_sectors", f"{NOW}read_sectors")),
    ),
    output_field=FloatField(),
)
IOPS = ExpressionWrapper(
    Cast(F(f"{NOW}reads") + F(f"{NOW}writes"), FloatField())
    * 1000.0
    / NullIf(Cast(f"{NOW}dt_ms", FloatField()), 0.0),
    FloatField(),
)
NAMED: Final = {"host": "place__host", "customer": "customer"}
SAID: Final = (
    "label",
    "guest",
    "external_id",
    "note",
    "key",
    "customer__name",
    "place__lv_name",
    "place__host__name",
)
"""What the search looks through: each word is in one of them."""


class VolumeFilter(forms.Form):
    """The filters of the list, as the address has them. A host or customer is named by its key or
    by its name, and only where there is none of that name by a part of it: "node1" leaves node10
    out. The fields show names. What cannot be understood asks for nothing."""

    q = forms.CharField(max_length=200, required=False, label="Search")
    state = forms.ChoiceField(choices=list(STATES.items()), required=False)
    cache = forms.ChoiceField(choices=list(CACHES.items()), required=False)
    host = forms.CharField(max_length=64, required=False, widget=Suggesting("hosts"))
    customer = forms.CharField(max_length=200, required=False, widget=Suggesting("customers"))

    def __init__(self, query: Mapping[str, str], user: Person) -> None:
        self._user, self._by_key, shown = user, dict[str, int](), dict(query)
        for name in NAMED:
            key = query.get(name, "")
            if KEY_PATTERN.fullmatch(key) and (row := self._rows(name).filter(key=key).first()):
                self._by_key[name], shown[name] = row.pk, row.name
        super().__init__(shown)

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for anything but the plain list."""
        return any(self.data.get(name) for name in self.fields)

    def found(self, now: datetime) -> QuerySet[Volume]:
        """What matches of what the person may see; none for a wrong filter."""
        volumes = placed(Volume.objects.visible_to(self._user)).select_related("customer")
        if not self.is_valid():
            return volumes.none()
        filters = self.cleaned_data
        volumes = volumes.filter(
            state_condition(filters["state"], now), cached_by(filters["cache"])
        )
        volumes = volumes.filter(every_word(filters["q"].split(), SAID))
        for name, path in NAMED.items():
            if text := filters[name].strip():
                volumes = volumes.filter(self._named(name, path, text))
        return volumes

    def _named(self, name: str, path: str, text: str) -> Q:
        """The volumes of the one that was asked for by key, else by its name, else by a part."""
        if (pk := self._by_key.get(name)) is not None:
            return Q(**{path: pk})
        if (row := by_id(self._rows(name), text)) is not None:
            return Q(**{path: row.pk})
        is_whole = self._rows(name).filter(name__iexact=text).exists()
        return Q(**{f"{path}__name__{'iexact' if is_whole else 'icontains'}": text})

    def _rows(self, name: str) -> QuerySet[Any]:
        if name == "host":
            return Host.objects.visible_to(self._user).without_inventory()
        return Customer.objects.visible_to(self._user)


def placed(volumes: QuerySet[Volume]) -> QuerySet[Volume]:
    """With `place`, where each lies now, and what its last sample gives."""
    return volumes.annotate(
        place=FilteredRelation("placement", condition=Q(placement__until=None)),
        served=READS_SERVED,
        hit_rate=HIT_RATE,
    )


def state_condition(name: str, now: datetime) -> Q:
    """The condition of one of `STATES`; destroyed volumes and previews are in none but
    their own."""
    existing, fresh = (
        Q(destroyed_at=None, previewed_at=None),
        now - timedelta(seconds=silent_seconds()),
    )
    in_use = existing & Q(retired_at=None)
    return {
        "slow": in_use & Q(latest_sample__at__gte=fresh) & IS_SLOW,
        "found": in_use & FOUND,
        "trouble": in_use & ~Q(place__cache_trouble="") & Q(place__cache_trouble__isnull=False),
        "dirty": in_use & Q(latest_sample__dirty_bytes__gt=0),
        "old": in_use
        & Q(place__lv_uuid__isnull=False)
        & (Q(latest_sample__at__lt=fresh) | Q(latest_sample__at__isnull=True)),
        "missing": in_use & Q(place__missing_since__isnull=False),
        "planned": in_use & Q(place__isnull=False, place__lv_uuid=None),
        "retired": existing & Q(retired_at__isnull=False),
        "previewed": Q(previewed_at__isnull=False),
        "destroyed": Q(destroyed_at__isnull=False),
    }.get(name, existing)


def cached_by(name: str) -> Q:
    """The condition of one of `CACHES`."""
    none = Q(place__cache_technology="") | Q(place__isnull=True)
    if name == "none":
        return none
    if name == "any":
        return ~none
    return Q(place__cache_technology=name) if name else Q()

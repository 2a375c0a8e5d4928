"""The list of volumes: which ones, and in which order. The database filters, sorts and pages; no
inventory is read."""

from __future__ import annotations

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
from django.db.models.expressions import OrderBy
from django.db.models.functions import Cast, Greatest, Lower, NullIf

from storage.access import Person
from storage.attention import silent_seconds
from storage.models import Customer, Host, Volume
from storage.naming import KEY_PATTERN
from storage.rates.figures import MIN_ACCESSES

SLOW_MS: Final = 20
"""A read that takes longer waits not only for a slow disk, but for others before it."""

FOUND = Q(managed=False, adopted_at=None, place__lv_uuid__isnull=False)
STATES: Final = {
    "": "Any state",
    "slow": f"Slow: reads take {SLOW_MS} ms or more",
    "found": "Not adopted",
    "trouble": "Trouble with the cache",
    "dirty": "Dirty data in the cache",
    "old": "No fresh figures",
    "missing": "Missing on the host",
    "planned": "Not created yet",
    "retired": "Retired",
    "destroyed": "Destroyed",
}
CACHES: Final = {
    "": "Any or none",
    "any": "Any cache",
    "none": "No cache",
    "lvmcache": "lvmcache",
    "bcache": "bcache",
}


def _ratio(part: str, whole: str) -> Expression:
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
        then=Greatest(0.0, 1.0 - _ratio(f"{NOW}slow_read_sectors", f"{NOW}read_sectors")),
    ),
    output_field=FloatField(),
)
IOPS = ExpressionWrapper(
    Cast(F(f"{NOW}reads") + F(f"{NOW}writes"), FloatField())
    * 1000.0
    / NullIf(Cast(f"{NOW}dt_ms", FloatField()), 0.0),
    FloatField(),
)
SORTS: Final[dict[str, tuple[Expression | F, bool]]] = {
    "volume": (Lower("label"), False),
    "customer": (Lower("customer__name"), False),
    "host": (Lower("place__host__name"), False),
    "size": (F("size_bytes"), True),
    "cache": (F("place__cache_bytes"), True),
    "ratio": (_ratio("place__cache_bytes", "size_bytes"), True),
    "hits": (F("hit_rate"), False),
    "iops": (IOPS, True),
    "latency": (_ratio(f"{NOW}read_ms", f"{NOW}reads"), True),
    "dirty": (F(f"{NOW}dirty_bytes"), True),
}
"""By name of the column: what it sorts by, and whether the largest is what one wants to see first
(for the hit rate that is the lowest)."""


class VolumeFilter(forms.Form):
    """The filters of the list, as the address has them; host and customer by key or by a part of
    the name. What cannot be understood asks for nothing."""

    q = forms.CharField(max_length=200, required=False, label="Search")
    state = forms.ChoiceField(choices=list(STATES.items()), required=False)
    cache = forms.ChoiceField(choices=list(CACHES.items()), required=False)
    host = forms.CharField(max_length=64, required=False)
    customer = forms.CharField(max_length=200, required=False)
    sort = forms.CharField(max_length=20, required=False, widget=forms.HiddenInput)

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for anything but the plain list."""
        return any(self.data.get(name) for name in self.fields if name != "sort")

    @property
    def order(self) -> tuple[str, bool]:
        """The column and whether its order is descending; by volume where nothing is asked."""
        asked = str(self.data.get("sort", ""))
        name = asked.removeprefix("-")
        return (name, asked.startswith("-")) if name in SORTS else ("volume", False)

    def found(self, user: Person, now: datetime) -> QuerySet[Volume]:
        """What matches of what the person may see, in order; none for a wrong filter."""
        volumes = placed(Volume.objects.visible_to(user)).select_related("customer")
        if not self.is_valid():
            return volumes.none()
        asked = self.cleaned_data
        volumes = volumes.filter(state_of(asked["state"], now), cache_of(asked["cache"]))
        if text := asked["q"].strip():
            volumes = volumes.filter(_said(text))
        for name in ("host", "customer"):
            if text := asked[name].strip():
                path = "place__host" if name == "host" else "customer"
                volumes = volumes.filter(_named(path, text))
        return volumes.order_by(*self._order_by())

    def _order_by(self) -> tuple[OrderBy | str, ...]:
        name, is_descending = self.order
        order = OrderBy(SORTS[name][0], descending=is_descending, nulls_last=True)
        return (order, "label", "pk")


def placed(volumes: QuerySet[Volume]) -> QuerySet[Volume]:
    """With `place`, where each lies now, and what its last sample gives."""
    return volumes.annotate(
        place=FilteredRelation("placement", condition=Q(placement__until=None)),
        served=READS_SERVED,
        hit_rate=HIT_RATE,
    )


def state_of(name: str, now: datetime) -> Q:
    """The condition of one of `STATES`; destroyed volumes are in none but their own."""
    there, fresh = Q(destroyed_at=None), now - timedelta(seconds=silent_seconds())
    in_use = there & Q(retired_at=None)
    return {
        "slow": in_use
        & Q(latest_sample__at__gte=fresh, latest_sample__reads__gte=MIN_ACCESSES)
        & Q(latest_sample__read_ms__gte=F("latest_sample__reads") * SLOW_MS),
        "found": in_use & FOUND,
        "trouble": in_use & ~Q(place__cache_trouble="") & Q(place__cache_trouble__isnull=False),
        "dirty": in_use & Q(latest_sample__dirty_bytes__gt=0),
        "old": in_use
        & Q(place__lv_uuid__isnull=False)
        & (Q(latest_sample__at__lt=fresh) | Q(latest_sample__at__isnull=True)),
        "missing": in_use & Q(place__missing_since__isnull=False),
        "planned": in_use & Q(place__isnull=False, place__lv_uuid=None),
        "retired": there & Q(retired_at__isnull=False),
        "destroyed": Q(destroyed_at__isnull=False),
    }.get(name, there)


def cache_of(name: str) -> Q:
    """The condition of one of `CACHES`."""
    none = Q(place__cache_technology="") | Q(place__isnull=True)
    if name == "none":
        return none
    if name == "any":
        return ~none
    return Q(place__cache_technology=name) if name else Q()


def _said(text: str) -> Q:
    """Names of the volume, its guest, LV, customer and host, its external id and key."""
    found = Q(external_id=text) | Q(key=text)
    for path in ("label", "guest", "customer__name", "place__lv_name", "place__host__name"):
        found |= Q(**{f"{path}__icontains": text})
    return found


def _named(path: str, text: str) -> Q:
    return Q(**{f"{path}__key": text}) | Q(**{f"{path}__name__icontains": text})


def readable(query: dict[str, Any], user: Person) -> dict[str, Any]:
    """The query with the names of the host and the customer that a link named by their keys."""
    found = dict(query)
    named: tuple[tuple[str, QuerySet[Any]], ...] = (
        ("host", Host.objects.visible_to(user)),
        ("customer", Customer.objects.visible_to(user)),
    )
    for name, rows in named:
        key = str(found.get(name, ""))
        if KEY_PATTERN.fullmatch(key):
            found[name] = rows.filter(key=key).values_list("name", flat=True).first() or key
    return found

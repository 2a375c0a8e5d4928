"""The owner's page of SSD space: what is sold, free and wanted, and what to buy next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job
from jobs.queue.reservations import capacities_of
from panel.lists.listing import RIGHT, ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.models import SsdPrice
from panel.orders.sold_out import saw_sold_out
from panel.staff.customers import revenue, ssd_purchases, ssd_space
from panel.staff.customers.revenue import SoldCache
from panel.staff.customers.ssd_purchases import HostDemand, HostPurchase
from panel.staff.customers.ssd_space import Growth, HostSpace
from storage.access import Person, Right, may, staff_view
from storage.analysis.advice.demand import SsdDemand, UncachedVolume, demand_by_host
from storage.analysis.sales.ssd_purchase import SoldUnit, SsdCost
from storage.currency import BadAmount, major_of, minor_of, not_iso
from storage.models import Host, Placement, Volume


@dataclass(frozen=True, slots=True)
class SoldThere:
    """The volumes of a host, or of several, that have a plan, of which some are on `trials`."""

    volumes: int = 0
    trials: int = 0
    cache_bytes: int = 0

    def __add__(self, other: SoldThere) -> SoldThere:
        return SoldThere(
            self.volumes + other.volumes,
            self.trials + other.trials,
            self.cache_bytes + other.cache_bytes,
        )


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """The SSD space of a host. `reserved_bytes` is what its accepted jobs will take, more than is
    free where `is_oversold`; both are filled in for the rows that are shown."""

    space: HostSpace
    sold: SoldThere
    growth: Growth
    wanted: HostDemand
    reserved_bytes: int = 0
    is_oversold: bool = False

    @property
    def other_bytes(self) -> int:
        """What lies there beside sold caches."""
        return max(0, self.space.used_bytes - self.sold.cache_bytes)

    @property
    def short(self) -> int:
        """How many are wanted that do not fit."""
        return max(0, self.wanted.volumes - self.space.room)


LISTING: Final = ListDefinition(
    name="capacity",
    first="ssd",
    columns=(
        ListColumn("host", "Host", lambda row: row.space.name.casefold()),
        ListColumn("site", "Site", lambda row: row.space.site.casefold() or None),
        ListColumn(
            "ssd", "SSD used", lambda row: row.space.free_bytes / row.space.total_bytes,
            help="The fullest first",
        ),
        ListColumn(
            "sold", "Sold", lambda row: row.sold.volumes, True, RIGHT,
            "Volumes with a plan",
        ),
        ListColumn("trials", "On trial", lambda row: row.sold.trials, True, RIGHT),
        ListColumn(
            "room", "Room for", lambda row: row.space.room, css_class=RIGHT,
            help="How many more of the best-selling plan fit",
        ),
        ListColumn(
            "wanted", "Wanted", lambda row: row.wanted.volumes, True, RIGHT,
            "Volumes that wait for HDDs and would gain from a cache, or whose customers saw a "
            "plan sold out",
        ),
        ListColumn(
            "short", "Lacking", lambda row: row.short, True, RIGHT, "Wanted, and does not fit"
        ),
        ListColumn(
            "full", "Full", lambda row: (row.space.is_full and row.growth.at) or row.growth.full_at
        ),
    ),
    cells=(
        ("key", lambda row: row.space.key),
        ("host", lambda row: row.space.name),
        ("site", lambda row: row.space.site),
        ("ssd_bytes", lambda row: row.space.total_bytes),
        ("ssd_free_bytes", lambda row: row.space.free_bytes),
        ("sold_bytes", lambda row: row.sold.cache_bytes),
        ("other_bytes", lambda row: row.other_bytes),
        ("sold_volumes", lambda row: row.sold.volumes),
        ("trials", lambda row: row.sold.trials),
        ("room_for_plans", lambda row: row.space.room),
        ("wanted_plans", lambda row: row.wanted.volumes),
        ("lacking_plans", lambda row: row.short),
        ("full_at", lambda row: row.growth.full_at),
        ("waiting_volumes", lambda row: row.wanted.waits.volumes),
        ("waiting_seconds_a_day", lambda row: round(row.wanted.waits.waited_seconds)),
        ("wanted_bytes", lambda row: row.wanted.waits.wanted_bytes),
        ("sold_out_volumes", lambda row: len(row.wanted.sold_out)),
    ),
)  # fmt: skip


class SsdPriceForm(forms.Form):
    """What a TB of SSD costs, in major units of a currency."""

    price = forms.CharField(max_length=20, label="Price of 1 TB of SSD")
    currency = forms.CharField(max_length=3, label="Currency")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        currency = data.get("currency", "").strip().upper()
        if currency and (why := not_iso(currency)):
            self.add_error("currency", why)
        elif currency and "price" in data:
            try:
                data["minor"] = minor_of(data["price"], currency)
            except BadAmount as error:
                self.add_error("price", ValidationError(str(error)))
        return data | {"currency": currency}


@require_safe
@staff_view()
def capacity(request: HttpRequest) -> HttpResponse:
    """The SSD space by site and host: how much is sold, what still fits and what is wanted, until
    when it lasts, and what to buy. Inventories are read only where a job runs, or SSD lacks."""
    return _page(request)


@require_POST
@staff_view(Right.ADMINISTER)
def ssd_price(request: HttpRequest) -> HttpResponse:
    """Keep what SSD costs; 0 forgets it."""
    form = SsdPriceForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    minor, currency = form.cleaned_data["minor"], form.cleaned_data["currency"]
    if minor:
        fields = {"minor_per_tb": minor, "currency": currency}
        SsdPrice.objects.update_or_create(pk=True, defaults=fields)
        messages.success(request, "The price of SSD is saved.")
    else:
        SsdPrice.objects.all().delete()
        messages.success(request, "The price of SSD is removed: no pay-back is shown.")
    return redirect("capacity")


def _page(request: HttpRequest, form: SsdPriceForm | None = None) -> HttpResponse:
    now = timezone.now()
    caches = revenue.sold_caches(request.user)
    unit = ssd_space.best_seller(caches)
    spaces = ssd_space.spaces(request.user, unit)
    forecast = ssd_space.full_forecast(request.user, now, spaces)
    rows = _rows(request.user, spaces, caches, forecast.growths, now)
    if wants_csv(request):
        return csv_of(request, LISTING, rows)
    shown = list_page(request, LISTING, rows)
    rate = ssd_purchases.ssd_rate() if may(request.user, Right.ADMINISTER) else None
    short = ssd_purchases.short_hosts((row.space, row.wanted) for row in rows)
    to_buy = ssd_purchases.purchases(request.user, unit, short, rate, now) if unit else []
    wanted = sum((row.wanted for row in rows), HostDemand())
    lacking = sum(row.short for row in rows)
    context = {
        "list": shown,
        "page": shown.page,
        "rows": _reserved(request.user, list(shown.page.object_list)),
        "unit": unit,
        "sites": _sites(rows),
        "space": ssd_space.together("", spaces),
        "sold": sum((row.sold for row in rows), SoldThere()),
        "wanted": wanted,
        "wanted_words": ssd_purchases.wanted_words(wanted, lacking if unit else None),
        "forecast": forecast,
        "to_buy": to_buy,
        "more_short": _more_words(len(short) - len(to_buy)),
        "why_nothing": _why_nothing(unit, rows),
        "why_no_payback": _why_no_payback(unit, rate, to_buy),
        "form": form or SsdPriceForm(initial=_initial(rate, unit)),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form is not None else HTTPStatus.OK
    return render(request, "staff/revenue/capacity.html", context, status=status)


def _initial(rate: SsdCost | None, unit: SoldUnit | None) -> dict[str, str]:
    if rate is not None:
        return {"price": major_of(rate.minor, rate.currency), "currency": rate.currency}
    return {"currency": unit.currency if unit is not None else ""}


def _why_nothing(unit: SoldUnit | None, rows: Sequence[CapacityRow]) -> str:
    """Why there is nothing to buy."""
    if unit is None:
        return (
            "No plan on sale has a cache yet. SSD space is counted in units of the best-selling "
            "plan, so a proposal needs a first sale."
        )
    if not any(row.wanted.volumes for row in rows):
        return (
            "Nothing more is wanted. A volume without a cache counts once it waits for its HDD for "
            "10 min on a typical day, which takes three whole days of data."
        )
    return "All that is wanted fits into the free SSD of its host."


def _more_words(hosts: int) -> str:
    """Of hosts without a proposal; "" where there is none."""
    if hosts < 1:
        return ""
    return "1 more host lacks room." if hosts == 1 else f"{hosts:,} more hosts lack room."


def _why_no_payback(
    unit: SoldUnit | None, rate: SsdCost | None, to_buy: Sequence[HostPurchase]
) -> str:
    """Nothing where pay-back is shown, or nothing is to be bought."""
    if unit is None or not to_buy:
        return ""
    if rate is None:
        return "Enter what 1 TB of SSD costs to see in how many months it is paid back."
    if rate.currency != unit.currency:
        return (
            f"No pay-back: the price of SSD is in {rate.currency}, that of {unit.name} in "
            f"{unit.currency}."
        )
    return "" if unit.minor else f"No pay-back: {unit.name} is free of charge."


@dataclass(frozen=True, slots=True)
class SiteRow:
    """The hosts of a site together."""

    space: ssd_space.SiteSpace
    sold: SoldThere
    wanted: HostDemand

    @property
    def other_bytes(self) -> int:
        """What lies there beside sold caches."""
        return max(0, self.space.used_bytes - self.sold.cache_bytes)


def _sites(rows: Iterable[CapacityRow]) -> list[SiteRow]:
    """The fullest first; none where there is but one."""
    of = defaultdict[str, list[CapacityRow]](list)
    for row in rows:
        of[row.space.site].append(row)
    if len(of) < 2:
        return []
    return [
        SiteRow(
            space,
            sum((row.sold for row in of[space.site]), SoldThere()),
            sum((row.wanted for row in of[space.site]), HostDemand()),
        )
        for space in ssd_space.by_site(row.space for each in of.values() for row in each)
    ]


def _rows(
    user: Person,
    spaces: Iterable[HostSpace],
    caches: Iterable[SoldCache],
    growths: Mapping[int | None, Growth],
    now: datetime,
) -> list[CapacityRow]:
    sold = defaultdict[int | None, SoldThere](SoldThere)
    for cache in caches:
        sold[cache.host_id] += SoldThere(1, int(cache.agreed.is_trial), cache.cache_bytes)
    waits = demand_by_host(_uncached(user), now)
    seen = saw_sold_out(user, now)
    return [
        CapacityRow(
            each,
            sold[each.host_id],
            growths[each.host_id],
            HostDemand(waits.get(each.host_id, SsdDemand()), frozenset(seen.get(each.host_id, ()))),
        )
        for each in spaces
    ]


def _uncached(user: Person) -> list[UncachedVolume]:
    """Volumes in service without a cache that are not known to lie on SSD."""
    # A volume that was only found on a host has no wish.
    on_hdd = Q(wish__tier__isnull=True) | ~Q(wish__tier="ssd")
    volumes = Volume.objects.visible_to(user).in_service().filter(on_hdd)
    places = Placement.objects.filter(
        volume__in=volumes, until=None, missing_since=None, cache_technology=""
    )
    rows = places.values_list("volume_id", "host_id", "volume__size_bytes")
    return [UncachedVolume(*row) for row in rows]


def _reserved(user: Person, rows: Sequence[CapacityRow]) -> list[CapacityRow]:
    """The rows with what jobs will take: an inventory is megabytes, and is read only where a job
    may still take space."""
    keys = [row.space.host_id for row in rows]
    busy = Job.objects.unfinished().filter(dry_run=False, host__in=keys)
    parts = {
        host.pk: capacities_of(host)
        for host in Host.objects.filter(pk__in=busy.values("host")).visible_to(user)
    }
    return [
        replace(
            row,
            reserved_bytes=sum(part.reserved_bytes for part in parts.get(row.space.host_id, ())),
            is_oversold=any(part.is_oversold for part in parts.get(row.space.host_id, ())),
        )
        for row in rows
    ]

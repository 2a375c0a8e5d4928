"""The owner's page of SSD space: what is sold and free, what still fits, and what to buy next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from jobs.queue.reservations import capacities_of
from panel.lists.listing import RIGHT, ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.staff.customers import revenue, ssd_space
from panel.staff.customers.revenue import Money, SoldCache
from panel.staff.customers.ssd_space import Growth, HostSpace
from storage.access import Person, staff_view
from storage.analysis.advice.demand import SsdDemand, UncachedVolume, demand_by_host
from storage.byte_sizes import GIB
from storage.currency import digits_of
from storage.models import Host, Placement, Volume

TB: Final = 10**12


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """The SSD space of a host. `reserved_bytes` is what its accepted jobs will take, more than is
    free where `is_oversold`; both are filled in for the rows that are shown."""

    space: HostSpace
    sold_bytes: int
    growth: Growth
    demand: SsdDemand
    reserved_bytes: int = 0
    is_oversold: bool = False

    @property
    def other_bytes(self) -> int:
        """What lies there beside sold caches."""
        return max(0, self.space.used_bytes - self.sold_bytes)

    @property
    def to_order_bytes(self) -> int:
        """What the volumes that wait want beyond what is free."""
        return max(0, self.demand.wanted_bytes - self.space.free_bytes)


@dataclass(frozen=True, slots=True)
class Earnings:
    """What SSD space earns a month where all of it is sold as well as today's, and in how many
    months it is paid back (None where nobody says what SSDs cost)."""

    a_month: Money
    payback_months: float | None


LISTING: Final = ListDefinition(
    name="capacity",
    first="ssd",
    columns=(
        ListColumn("host", "Host", lambda row: row.space.name.casefold()),
        ListColumn("site", "Site", lambda row: row.space.site.casefold() or None),
        ListColumn(
            "ssd", "SSD free", lambda row: row.space.free_bytes / row.space.total_bytes,
            help="The fullest first",
        ),
        ListColumn("sold", "Sold", lambda row: row.sold_bytes, True, RIGHT),
        ListColumn("other", "Other use", lambda row: row.other_bytes, True, RIGHT),
        ListColumn(
            "room", "Room for", lambda row: row.space.room, css_class=RIGHT,
            help="How many more of the best-selling plan fit",
        ),
        ListColumn(
            "full", "Full", lambda row: (row.space.is_full and row.growth.at) or row.growth.full_at
        ),
        ListColumn(
            "waiting", "Waiting", lambda row: row.demand.waited_seconds, True, RIGHT,
            "Volumes without a cache whose reads wait for HDDs",
        ),
        ListColumn(
            "order", "SSD to add", lambda row: row.to_order_bytes, True, RIGHT,
            "What caches for these volumes need beyond the free space",
        ),
    ),
    cells=(
        ("key", lambda row: row.space.key),
        ("host", lambda row: row.space.name),
        ("site", lambda row: row.space.site),
        ("ssd_bytes", lambda row: row.space.total_bytes),
        ("ssd_free_bytes", lambda row: row.space.free_bytes),
        ("sold_bytes", lambda row: row.sold_bytes),
        ("room_for_plans", lambda row: row.space.room),
        ("full_at", lambda row: row.growth.full_at),
        ("waiting_volumes", lambda row: row.demand.volumes),
        ("waiting_seconds_a_day", lambda row: round(row.demand.waited_seconds)),
        ("wanted_bytes", lambda row: row.demand.wanted_bytes),
        ("to_order_bytes", lambda row: row.to_order_bytes),
    ),
)  # fmt: skip


@require_safe
@staff_view()
def capacity(request: HttpRequest) -> HttpResponse:
    """The SSD space by site and host: how much is sold, what still fits, until when it lasts, and
    what the volumes that wait for slow disks want. No inventory is read where no job runs."""
    now = timezone.now()
    caches = revenue.sold_caches(request.user)
    unit = ssd_space.best_seller(caches)
    spaces = ssd_space.spaces(request.user, unit)
    forecast = ssd_space.full_forecast(request.user, now, spaces)
    rows = _rows(request.user, spaces, caches, forecast.growths, now)
    if wants_csv(request):
        return csv_of(request, LISTING, rows)
    shown = list_page(request, LISTING, rows)
    sites = ssd_space.by_site(spaces)
    order_bytes = sum(row.to_order_bytes for row in rows)
    context = {
        "list": shown,
        "page": shown.page,
        "rows": _reserved(request.user, list(shown.page.object_list)),
        "unit": unit,
        "sites": sites if len(sites) > 1 else [],
        "space": ssd_space.together("", spaces),
        "sold": sum(row.sold_bytes for row in rows),
        "forecast": forecast,
        "demand": sum((row.demand for row in rows), SsdDemand()),
        "order_bytes": order_bytes,
        "order_hosts": sum(row.to_order_bytes > 0 for row in rows),
        "earnings": _earnings(caches, order_bytes),
    }
    return render(request, "staff/revenue/capacity.html", context)


def _rows(
    user: Person,
    spaces: Iterable[HostSpace],
    caches: Iterable[SoldCache],
    growths: Mapping[int | None, Growth],
    now: datetime,
) -> list[CapacityRow]:
    sold = Counter[int | None]()
    for cache in caches:
        sold[cache.host_id] += cache.cache_bytes
    demand = demand_by_host(_uncached(user), now)
    return [
        CapacityRow(
            each, sold[each.host_id], growths[each.host_id], demand.get(each.host_id, SsdDemand())
        )
        for each in spaces
    ]


def _uncached(user: Person) -> list[UncachedVolume]:
    """Volumes in service without a cache that are not known to lie on SSD."""
    # A volume that nobody asked for has no wish.
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


def _earnings(caches: Collection[SoldCache], order_bytes: int) -> Earnings | None:
    """By the currency in which most is earned; None where nothing is, or no SSD is missing."""
    per_gib = revenue.in_all(caches).per_gib
    if not per_gib or not order_bytes:
        return None
    most = max(per_gib, key=lambda each: each.minor)
    a_month = most.minor * order_bytes / GIB
    cost = settings.TIERCEL_SSD_PRICE_PER_TB * 10 ** digits_of(most.currency) * order_bytes / TB
    return Earnings(
        Money(round(a_month), most.currency), cost / a_month if cost and a_month else None
    )

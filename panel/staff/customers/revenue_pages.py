"""The owner's pages: what the plans earn, and how much SSD space is sold and free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.core.paginator import Paginator
from django.db.models import F, FloatField, Q, Sum
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from jobs.queue.reservations import capacities_of
from panel.lists.listing import csv_file
from panel.models import SecurityKind
from panel.proofs import ledger as books
from panel.security_log import security_entries
from panel.staff.customers import revenue
from panel.staff.customers.revenue import Growth, InvoicedMonth
from storage.access import Right, staff_view
from storage.models import Host

PAGE_ROWS: Final = 50
HOST_ROWS: Final = 10
CHUNK_ROWS: Final = 500
COLUMNS: Final = (
    "volume",
    "label",
    "customer",
    "customer_external_id",
    "host",
    "plan",
    "price_minor",
    "currency",
    "trial",
    "cache_bytes",
)


@dataclass(frozen=True, slots=True)
class MonthColumn:
    """A month of the chart; `share` of the highest one, in percent."""

    month: InvoicedMonth
    share: float


@dataclass(frozen=True, slots=True)
class RevenueChart:
    """What was invoiced in one currency; `most` is the upper end of its axis."""

    currency: str
    most: int
    columns: list[MonthColumn]

    @property
    def middle(self) -> int:
        return self.most // 2


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """The SSD space of a host. `other_bytes` is what lies there beside sold caches; `reserved` is
    what its accepted jobs will take, more than is free where `is_oversold`."""

    host: Host
    total_bytes: int
    free_bytes: int
    sold_bytes: int
    reserved_bytes: int
    is_oversold: bool
    growth: Growth

    @property
    def used_bytes(self) -> int:
        return self.total_bytes - self.free_bytes

    @property
    def other_bytes(self) -> int:
        return max(0, self.used_bytes - self.sold_bytes)


@require_safe
@staff_view(Right.ADMINISTER)
def revenue_page(request: HttpRequest) -> HttpResponse:
    """What a month earns now, what was invoiced, and the results of each plan."""
    now = timezone.now()
    caches = revenue.sold_caches(request.user)
    hosts = Host.objects.visible_to(request.user)
    names = {pk: (name, key) for pk, name, key in hosts.values_list("pk", "name", "key")}
    rows = revenue.by_host(caches, names)
    spaces = revenue.spaces(request.user)
    everything, plans = books.tallies(books.proofs(request.user).iterator(CHUNK_ROWS))
    context = {
        "all": revenue.in_all(caches),
        "gained": revenue.gained(request.user, now),
        "plans": revenue.by_plan(caches),
        "hosts": rows[:HOST_ROWS],
        "more_hosts": max(0, len(rows) - HOST_ROWS),
        "charts": _charts(revenue.invoiced(request.user, now)),
        "space": revenue.space(spaces),
        "forecast": revenue.full_forecast(request.user, now, spaces),
        "results": [everything, *plans] if plans else [],
    }
    return render(request, "staff/revenue/revenue.html", context)


@require_safe
@staff_view(Right.ADMINISTER)
def revenue_csv(request: HttpRequest) -> HttpResponse:
    """Every volume with a plan and what it earns a month."""
    name = f"tiercel-revenue-{timezone.now():%Y%m%d-%H%M%S}.csv"
    lines = []
    hosts = dict(Host.objects.visible_to(request.user).values_list("pk", "name"))
    for cache in revenue.sold_caches(request.user):
        volume, customer, plan = cache.volume, cache.volume.customer, cache.volume.cache_plan
        line: list[object] = [
            volume.key,
            volume.label,
            customer.name if customer is not None else "",
            customer.external_id if customer is not None else "",
            hosts.get(cache.host_id or 0, ""),
            plan.name if plan is not None else "",
            cache.minor,
            cache.agreed.price.currency,
            int(cache.agreed.is_trial),
            cache.cache_bytes,
        ]
        lines.append(line)
    security_entries.note(SecurityKind.EXPORTED, request.user.get_username(), "revenue, CSV")
    return csv_file(name, COLUMNS, lines)


@require_safe
@staff_view()
def capacity(request: HttpRequest) -> HttpResponse:
    """The SSD space of every host, the fullest first, and until when it lasts."""
    now = timezone.now()
    hosts = Host.objects.visible_to(request.user).filter(outline__fast_total_bytes__gt=0)
    free_share = Cast("outline__fast_free_bytes", FloatField()) / F("outline__fast_total_bytes")
    ordered = hosts.without_inventory().select_related("outline")
    ordered = ordered.order_by(free_share, "name")
    page = Paginator(ordered, PAGE_ROWS).get_page(request.GET.get("page"))
    spaces = revenue.spaces(request.user)
    space = revenue.space(spaces)
    sold = hosts.aggregate(sold=Sum("placement__cache_bytes", filter=SOLD))["sold"] or 0
    context = {
        "page": page,
        "rows": _capacity_rows(request, page, now),
        "space": space,
        "used": space["total"] - space["free"],
        "sold": sold,
        "forecast": revenue.full_forecast(request.user, now, spaces),
    }
    return render(request, "staff/revenue/capacity.html", context)


SOLD: Final = Q(
    placement__until=None,
    placement__volume__cache_plan__isnull=False,
    placement__volume__retired_at=None,
    placement__volume__destroyed_at=None,
)


def _capacity_rows(request: HttpRequest, page: Iterable[Host], now: datetime) -> list[CapacityRow]:
    hosts = list(page)
    frees = {host.pk: host.outline.fast_free_bytes for host in hosts}
    growths = revenue.growth(request.user, now, frees)
    sold = dict(
        Host.objects.filter(pk__in=frees)
        .annotate(sold=Sum("placement__cache_bytes", filter=SOLD))
        .values_list("pk", "sold")
    )
    # An inventory is megabytes: it is read only where a job may still take space.
    busy = Job.objects.unfinished().filter(dry_run=False, host__in=frees)
    parts = {
        host.pk: capacities_of(host)
        for host in Host.objects.filter(pk__in=busy.values("host")).visible_to(request.user)
    }
    return [
        CapacityRow(
            host=host,
            total_bytes=host.outline.fast_total_bytes,
            free_bytes=host.outline.fast_free_bytes,
            sold_bytes=sold.get(host.pk) or 0,
            reserved_bytes=sum(part.reserved_bytes for part in parts.get(host.pk, ())),
            is_oversold=any(part.is_oversold for part in parts.get(host.pk, ())),
            growth=growths[host.pk],
        )
        for host in hosts
    ]


def _charts(months: dict[str, list[InvoicedMonth]]) -> list[RevenueChart]:
    return [_chart(currency, rows) for currency, rows in months.items()]


def _chart(currency: str, months: list[InvoicedMonth]) -> RevenueChart:
    most = _round_up(max(1, *(month.minor for month in months)))
    columns = [MonthColumn(month, max(0.0, 100 * month.minor / most)) for month in months]
    return RevenueChart(currency, most, columns)


def _round_up(minor: int) -> int:
    """To 1, 2 or 5 times a power of ten, so that the axis has round figures."""
    power: int = 10 ** (len(str(minor)) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= minor)

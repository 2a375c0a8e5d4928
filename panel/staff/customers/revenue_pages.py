"""The owner's page of what the plans earn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.accounts.security_log import security_entries
from panel.lists.listing import csv_file
from panel.models import SecurityKind
from panel.proofs import ledger as books
from panel.staff.customers import revenue, ssd_space
from panel.staff.customers.revenue import InvoicedMonth
from storage.access import Right, staff_view
from storage.models import Host

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


@require_safe
@staff_view(Right.ADMINISTER)
def revenue_page(request: HttpRequest) -> HttpResponse:
    """What a month earns now, what was invoiced, and the results of each plan."""
    now = timezone.now()
    caches = revenue.sold_caches(request.user)
    hosts = Host.objects.visible_to(request.user)
    names = {pk: (name, key) for pk, name, key in hosts.values_list("pk", "name", "key")}
    rows = revenue.by_host(caches, names)
    spaces = ssd_space.spaces(request.user, ssd_space.best_seller(caches))
    everything, plans = books.tallies(books.proofs(request.user).iterator(CHUNK_ROWS))
    context = {
        "all": revenue.in_all(caches),
        "lately": revenue.sales_lately(request.user, now),
        "plans": revenue.by_plan(caches),
        "hosts": rows[:HOST_ROWS],
        "more_hosts": max(0, len(rows) - HOST_ROWS),
        "charts": _charts(revenue.invoiced(request.user, now)),
        "space": ssd_space.together("", spaces),
        "forecast": ssd_space.full_forecast(request.user, now, spaces),
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

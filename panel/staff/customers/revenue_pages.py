"""The owner's page of what the plans earn."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.accounts.security_log import security_entries
from panel.lists.listing import csv_file
from panel.models import SecurityKind
from panel.proofs import ledger
from panel.staff.customers import revenue
from panel.staff.customers.revenue_chart import revenue_charts
from panel.staff.customers.sales_history import sales_history
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


@require_safe
@staff_view(Right.ADMINISTER)
def revenue_page(request: HttpRequest) -> HttpResponse:
    """What a month earns now and earned, who stayed, and the results of each plan."""
    now = timezone.now()
    caches = revenue.sold_caches(request.user)
    hosts = Host.objects.visible_to(request.user)
    names = {pk: (name, key) for pk, name, key in hosts.values_list("pk", "name", "key")}
    rows = revenue.by_host(caches, names)
    everything, plans = ledger.tallies(ledger.proofs(request.user).iterator(CHUNK_ROWS))
    history = sales_history(request.user, caches, now)
    invoiced = revenue.invoiced(request.user, now)
    context = {
        "all": revenue.in_all(caches),
        "history": history,
        "plans": revenue.by_plan(caches),
        "hosts": rows[:HOST_ROWS],
        "more_hosts": max(0, len(rows) - HOST_ROWS),
        "charts": revenue_charts(history.months, history.names, invoiced),
        "is_invoiced": bool(invoiced),
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

"""What a customer's plans cost this month and on the next invoice, for the customer."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Sum

from panel.accounts.member_scope import orders_of, volumes_of
from panel.models import LineKind, OrderState, UsageLine
from panel.orders.pricing import prices
from panel.orders.pricing.quote import period
from storage.access import Person

Account = tuple[str, str]
"""A customer's name and a currency."""


@dataclass(frozen=True, slots=True)
class BillingSummary:
    """Of one customer in one currency, in minor units. `charged_minor` is what was charged in this
    month, None where nothing is written for invoices; `next_minor` what the invoice of `next_at`
    comes to if nothing is ordered until then."""

    customer: str
    currency: str
    charged_minor: int | None
    next_minor: int
    next_at: datetime


def billing_of(user: Person, now: datetime) -> list[BillingSummary]:
    """Of every customer of the person that pays for something; five queries at most. A trial costs
    nothing, a change that is planned counts as made, and credits are taken off."""
    begin, end = period(now)
    volumes = volumes_of(user)
    names = dict(volumes.filter(cache_plan__isnull=False).values_list("pk", "customer__name"))
    planned = {
        order.volume_id: order
        for order in orders_of(user).filter(state=OrderState.SCHEDULED, due_at__lte=end)
    }
    due = defaultdict[Account, int](int)
    for volume_id, agreed in prices.agreed(volumes).items() if names else ():
        order, price = planned.get(volume_id), agreed.price
        minor = 0 if agreed.is_trial else price.minor
        due[names[volume_id], price.currency] += minor if order is None else order.price_minor
    credited = orders_of(user).filter(
        state=OrderState.COMPLETED, credit_minor__gt=0, next_invoice_at=end
    )
    for name, currency, minor in credited.values_list("customer__name", "currency", "credit_minor"):
        due[name, currency] -= minor
    charged = _charged(user, begin)
    return [
        BillingSummary(*account, charged.get(account), due[account], end)
        for account in sorted({*due, *charged})
        if due[account] or charged.get(account)
    ]


def _charged(user: Person, begin: datetime) -> Counter[Account]:
    lines = UsageLine.objects.visible_to(user).filter(period_start__gte=begin)
    rows = (
        lines.exclude(kind=LineKind.CREDIT)
        .values_list("customer__name", "currency")
        .annotate(minor=Sum("amount_minor"))
        .order_by()
    )
    return Counter({(name, currency): minor for name, currency, minor in rows})

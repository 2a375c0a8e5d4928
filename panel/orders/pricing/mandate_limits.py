"""Whether a charge is within the limits of the customer's mandate."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db.models import OuterRef, Subquery, Sum
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.languages.local_times import plain_time
from panel.models import LineKind, Mandate, Order, OrderState, UsageLine
from panel.orders.order_request import OrderRefused
from panel.orders.pricing.quote import Quote, period, quote
from storage.models import Customer, Volume
from storage.templatetags.money import amount

MOST: Final = {
    "today": marked(
        "{minor} due today exceed your payment authorisation by {over}: it allows {once} for one "
        "charge."
    ),
    "today_in_all": marked(
        "{minor} due today exceed your payment authorisation by {over}: {in_all} are left this "
        "month."
    ),
    "monthly": marked(
        "{minor} a month exceed your payment authorisation by {over}: it allows {once} for one "
        "charge."
    ),
    "monthly_in_all": marked(
        "{minor} a month exceed your payment authorisation by {over}: {in_all} are the limit per "
        "month."
    ),
    "monthly_beside": marked(
        "{minor} a month exceed your payment authorisation by {over}: {in_all} are left per month "
        "beside your other volumes."
    ),
}
"""What exceeds the authorisation, and which of its limits that is."""
AUTHORISE: Final = marked("Authorise payments to order.")
ASK: Final = marked("Ask your provider to set it up.")
RAISE = marked("Choose a smaller plan. Extend your payment authorisation, or ask your provider.")


def mandate_of(customer: Customer) -> Mandate | None:
    """What the customer authorised, None where nothing is known of it."""
    return Mandate.objects.filter(customer=customer).first()


def dead_end() -> str:
    """Why no customer can order and what to set, for admins; "" where one can, or none should."""
    if not settings.TIERCEL_CUSTOMERS_MAY_ORDER or not settings.TIERCEL_MANDATE_REQUIRED:
        return ""
    known = Mandate.objects.exclude(cap_charge_minor=None).exclude(cap_period_minor=None)
    if settings.TIERCEL_REAUTHORISE_URL or known.exclude(earliest_next_at=None).exists():
        return ""
    return (
        "Customers cannot order: a payment authorisation is required and they cannot give one. Set "
        "TIERCEL_REAUTHORISE_URL to the page where customers authorise payments, or enter an "
        "authorisation on a customer's page, or set TIERCEL_MANDATE_REQUIRED=0 to charge without."
    )


def charged(
    customer: Customer, currency: str, now: datetime, *, but_for: Order | None = None
) -> int:
    """Minor units charged in the period of `now`: for the month itself, by orders, and about to be
    by orders that run; `but_for` one of them."""
    begin, end = period(now)
    orders = Order.objects.filter(customer=customer, currency=currency)
    if but_for is not None:
        orders = orders.exclude(pk=but_for.pk)
    ended = orders.filter(state=OrderState.COMPLETED, ended_at__gte=begin, ended_at__lt=end)
    total: int | None = ended.aggregate(total=Sum("charge_minor"))["total"]
    # One that runs since last month is charged for what is left of this one.
    running = sum(
        max(
            order.charge_minor,
            quote(now, order.from_price_minor, order.price_minor, currency).charge_minor,
        )
        for order in orders.open()
    )
    months = UsageLine.objects.filter(
        kind=LineKind.RECURRING, customer=customer, currency=currency, period_start=begin
    )
    invoiced: int | None = months.aggregate(total=Sum("amount_minor"))["total"]
    return (total or 0) + running + (invoiced or 0)


def left_minor(mandate: Mandate, now: datetime, *, but_for: Order | None = None) -> int | None:
    """What may still be charged in the period of `now`, `but_for` an order not counted; None where
    that is not known."""
    if mandate.cap_period_minor is None:
        return None
    spent = charged(mandate.customer, mandate.currency, now, but_for=but_for)
    return max(0, mandate.cap_period_minor - spent)


def others_minor(mandate: Mandate, volume: Volume) -> int:
    """Minor units a month of the customer's other volumes: for each the price that was agreed on
    for the plan it has or, where that is more, for the one that an open order brings."""
    orders = Order.objects.filter(customer=mandate.customer).exclude(volume=volume)
    done = orders.filter(volume=OuterRef("pk"), state=OrderState.COMPLETED)
    last = done.order_by("-ended_at", "-id")
    planned = Volume.objects.filter(customer=mandate.customer, cache_plan__isnull=False)
    agreed = planned.exclude(pk=volume.pk).values_list(
        "pk",
        "cache_plan",
        "cache_plan__price_minor",
        "cache_plan__currency",
        *(Subquery(last.values(name)[:1]) for name in ("to_plan", "price_minor", "currency")),
    )
    months = dict(
        orders.open().filter(currency=mandate.currency).values_list("volume", "price_minor")
    )
    for pk, plan, price, currency, last_plan, last_price, last_currency in agreed:
        minor, its = (last_price, last_currency) if last_plan == plan else (price, currency)
        if its == mandate.currency:
            months[pk] = max(minor, months.get(pk, 0))
    return sum(months.values())


def mandate_refusal(
    mandate: Mandate | None,
    left_this_period: int | None,
    others_cost: int,
    quote: Quote,
    now: datetime,
) -> OrderRefused | None:
    """Why the quote may not be charged; None where it may. `left_this_period` is `left_minor`'s,
    `others_cost` is `others_minor`'s. The monthly price counts too, however little is due today:
    the next invoice contains it."""
    if mandate is None:
        return _unauthorised() if settings.TIERCEL_MANDATE_REQUIRED else None
    once, month = mandate.cap_charge_minor, mandate.cap_period_minor
    earliest = mandate.earliest_next_at
    if mandate.currency != quote.currency or once is None or month is None or earliest is None:
        return _unknown()
    if earliest > now:
        return OrderRefused(
            "too_soon",
            gettext("Your payment authorisation allows no charge until {time}.").format(
                time=plain_time(earliest)
            ),
            "Order again after that time, or ask your provider.",
            url=settings.TIERCEL_REAUTHORISE_URL,
        )
    today = (quote.charge_minor, once, left_this_period or 0, "today", "today_in_all")
    whole = "monthly_beside" if others_cost else "monthly_in_all"
    monthly = (quote.price_minor, once, max(0, month - others_cost), "monthly", whole)
    return _over(*today, quote.currency) or _over(*monthly, quote.currency)


def payable(customers: Iterable[int], now: datetime) -> set[int]:
    """Those of the customers (primary keys) who may be charged something now. One query."""
    customers = set(customers)
    if not settings.TIERCEL_MANDATE_REQUIRED:
        return customers
    usable = Mandate.objects.filter(
        customer__in=customers,
        cap_charge_minor__gt=0,
        cap_period_minor__gt=0,
        earliest_next_at__lte=now,
    )
    return set(usable.values_list("customer", flat=True))


def _over(
    minor: int, once: int, in_all: int, of_once: str, of_all: str, currency: str
) -> OrderRefused | None:
    over = minor - min(once, in_all)
    if over <= 0:
        return None
    text = gettext(MOST[of_once if once < in_all else of_all]).format(
        minor=amount(minor, currency),
        over=amount(over, currency),
        once=amount(once, currency),
        in_all=amount(in_all, currency),
    )
    return OrderRefused("over_cap", text, RAISE, url=settings.TIERCEL_REAUTHORISE_URL)


def _unauthorised() -> OrderRefused:
    return OrderRefused(
        "cap_unknown",
        "You cannot order yet: your account has no payment authorisation.",
        _correction(),
        url=settings.TIERCEL_REAUTHORISE_URL,
    )


def _unknown() -> OrderRefused:
    return OrderRefused(
        "cap_unknown",
        "You cannot order: the limits of your payment authorisation are unknown.",
        _correction(),
        url=settings.TIERCEL_REAUTHORISE_URL,
    )


def _correction() -> str:
    """Where payments are authorised; else whom to ask, where there is an address."""
    if settings.TIERCEL_REAUTHORISE_URL:
        return AUTHORISE
    return ASK if settings.TIERCEL_SUPPORT_EMAIL or settings.TIERCEL_SUPPORT_URL else ""

"""Whether a charge keeps within what the customer let the provider charge."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import Q, Sum

from panel.models import LineKind, Mandate, Order, OrderState, UsageLine
from panel.models.order import OPEN
from panel.orders.quote import Quote, period
from panel.orders.refusal import OrderRefused
from storage.models import Customer
from storage.templatetags.money import amount

RAISE = "Give a payment authorisation that allows more, or ask your provider."


def mandate_of(customer: Customer) -> Mandate | None:
    """What the customer authorised, None where nothing is known of it."""
    return Mandate.objects.filter(customer=customer).first()


def charged(customer: Customer, currency: str, now: datetime) -> int:
    """Minor units charged in the period of `now`: for the month itself, by orders, and about to be
    by orders that run."""
    begin, end = period(now)
    ended = Q(state=OrderState.COMPLETED, ended_at__gte=begin, ended_at__lt=end)
    orders = Order.objects.filter(ended | Q(state__in=OPEN), customer=customer, currency=currency)
    total: int | None = orders.aggregate(total=Sum("charge_minor"))["total"]
    months = UsageLine.objects.filter(
        kind=LineKind.RECURRING, customer=customer, currency=currency, period_start=begin
    )
    invoiced: int | None = months.aggregate(total=Sum("amount_minor"))["total"]
    return (total or 0) + (invoiced or 0)


def left_minor(mandate: Mandate, now: datetime) -> int | None:
    """What may still be charged in the period of `now`; None where that is not known."""
    if mandate.cap_period_minor is None:
        return None
    spent = charged(mandate.customer, mandate.currency, now)
    return max(0, mandate.cap_period_minor - spent)


def refusal(
    mandate: Mandate | None, left: int | None, asked: Quote, now: datetime
) -> OrderRefused | None:
    """Why what is asked may not be charged; None where it may. `left` is what the mandate leaves in
    this period, `left_minor`. The price a month is weighed too, however little is due today: the
    next invoice has it."""
    if mandate is None:
        return _unknown() if settings.TIERCEL_MANDATE_REQUIRED else None
    once, month = mandate.cap_charge_minor, mandate.cap_period_minor
    earliest = mandate.earliest_next_at
    if mandate.currency != asked.currency or once is None or month is None or earliest is None:
        return _unknown()
    if earliest > now:
        return OrderRefused(
            "too_soon",
            f"Your payment authorisation allows no charge until {earliest:%Y-%m-%d %H:%M} UTC.",
            "Order again after that time, or ask your provider.",
            url=settings.TIERCEL_REAUTHORISE_URL,
        )
    today = (asked.charge_minor, "due today", once, left or 0, "are left of it this month")
    monthly = (asked.price_minor, "a month", once, month, "are all it allows in a month")
    return _over(*today, asked.currency) or _over(*monthly, asked.currency)


def _over(
    minor: int, what: str, once: int, in_all: int, whole: str, currency: str
) -> OrderRefused | None:
    over = minor - min(once, in_all)
    if over <= 0:
        return None
    which = (
        f"it allows {amount(once, currency)} for one charge"
        if once < in_all
        else f"{amount(in_all, currency)} {whole}"
    )
    return OrderRefused(
        "over_cap",
        f"{amount(minor, currency)} {what} exceed your payment authorisation by "
        f"{amount(over, currency)}: {which}.",
        f"Choose a smaller plan. {RAISE}",
        url=settings.TIERCEL_REAUTHORISE_URL,
    )


def _unknown() -> OrderRefused:
    return OrderRefused(
        "cap_unknown",
        "It is not known how much you let us charge.",
        "Give your payment authorisation again, or ask your provider.",
        url=settings.TIERCEL_REAUTHORISE_URL,
    )

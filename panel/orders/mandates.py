"""Whether a charge keeps within what the customer let the provider charge."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import Q, Sum

from panel.models import LineKind, Mandate, Order, OrderState, UsageLine
from panel.models.order import OPEN
from panel.orders.quote import period
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
    mandate: Mandate | None, left: int | None, charge_minor: int, currency: str, now: datetime
) -> OrderRefused | None:
    """Why the charge may not be made; None where it may. `left` is what the mandate leaves in this
    period, `left_minor`. A charge of 0 with a higher price is asked about too: the next invoice has
    it."""
    if mandate is None:
        return _unknown() if settings.TIERCEL_MANDATE_REQUIRED else None
    caps = (mandate.cap_charge_minor, mandate.cap_period_minor)
    if mandate.currency != currency or None in (*caps, mandate.earliest_next_at):
        return _unknown()
    if mandate.earliest_next_at is not None and mandate.earliest_next_at > now:
        return OrderRefused(
            "too_soon",
            "Your payment authorisation allows no charge until "
            f"{mandate.earliest_next_at:%Y-%m-%d %H:%M} UTC.",
            "Order again after that time, or ask your provider.",
            url=settings.TIERCEL_REAUTHORISE_URL,
        )
    return _over(mandate, left or 0, charge_minor)


def _over(mandate: Mandate, left: int, charge_minor: int) -> OrderRefused | None:
    once = mandate.cap_charge_minor or 0
    over = charge_minor - min(once, left)
    if over <= 0:
        return None
    which = (
        f"it allows {amount(once, mandate.currency)} for one charge"
        if once < left
        else f"{amount(left, mandate.currency)} are left of it this month"
    )
    return OrderRefused(
        "over_cap",
        f"{amount(charge_minor, mandate.currency)} due today exceed your payment authorisation by "
        f"{amount(over, mandate.currency)}: {which}.",
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

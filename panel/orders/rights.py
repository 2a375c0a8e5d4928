"""Who may order."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext_noop as marked

from panel.orders.order_request import OrderRefused, OrderRequest
from storage.access import Person
from storage.models import Customer, Volume

OWNERS = marked("Ask an owner or operator of your account.")


def barred(user: Person, volume: Volume) -> OrderRefused | None:
    """Why this person may change no plan of this volume; None where they may."""
    if not settings.TIERCEL_CUSTOMERS_MAY_ORDER:
        return OrderRefused(
            "not_allowed",
            "Plans cannot be ordered here at the moment.",
            "Ask your provider to change your plan.",
        )
    return outsider(user, volume)


def outsider(user: Person, volume: Volume) -> OrderRefused | None:
    """Why this person may not even cancel an order of this volume; None where they may."""
    if Volume.objects.orderable_by(user).filter(pk=volume.pk).exists():
        return None
    return OrderRefused("not_allowed", "Your role allows you to view, but not to order.", OWNERS)


def suspended(customer: Customer) -> OrderRefused | None:
    """Whether the customer may order nothing now."""
    if customer.suspended_at is None:
        return None
    return OrderRefused(
        "suspended",
        "Your account is suspended: you cannot order. Your data and your cache are kept.",
        "Ask your provider. The usual reason is outstanding payments.",
    )


def demand_customer(ask: OrderRequest, volume: Volume) -> Customer:
    """The customer of the order; raises `OrderRefused`."""
    if volume.customer is None:
        raise OrderRefused("not_allowed", "This volume has no customer.", "Ask your provider.")
    if volume.retired_at is not None or volume.destroyed_at is not None:
        raise OrderRefused("not_allowed", "This volume is inactive.", "Ask your provider.")
    if ask.by == "person":
        if ask.actor is None:
            raise OrderRefused("not_allowed", "You are not signed in.", "Sign in first.")
        if (refusal := barred(ask.actor, volume)) is not None:
            raise refusal
    return volume.customer

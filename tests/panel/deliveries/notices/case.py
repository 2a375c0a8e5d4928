"""A finished order of a customer with two people, for the tests of notices."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from panel.models import Intent, Order, OrderState, User
from tests import make
from tests.panel.portal.shop import Shop, plan, shop


@dataclass(frozen=True, slots=True)
class Case:
    shop: Shop
    viewer: User
    order: Order


def case(**fields: Any) -> Case:
    """Acme's upgrade from nothing to Fast: 1.57 EUR today, 4.90 EUR a month."""
    acme = shop("Acme")
    viewer = make.user("vera@example.org", name="Vera")
    acme.customer.members.create(user=viewer, role="viewer")
    defaults: dict[str, Any] = {
        "customer": acme.customer,
        "volume": acme.volume,
        "intent": Intent.UPGRADE,
        "state": OrderState.COMPLETED,
        "to_plan": plan(),
        "currency": "EUR",
        "price_minor": 490,
        "charge_minor": 157,
        "next_invoice_minor": 490,
        "next_invoice_at": datetime(2026, 12, 1, tzinfo=UTC),
        "revert_until": datetime(2026, 12, 5, 9, 30, tzinfo=UTC),
    }
    order = Order.objects.create(**{**defaults, **fields})
    return Case(acme, viewer, order)

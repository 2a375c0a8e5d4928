"""What a customer reads of what the plans cost: this month, and on the next invoice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from panel.models import Intent, LineKind, Order, OrderState, UsageLine
from panel.orders.pricing.quote import period
from panel.portal.billing_summary import BillingSummary, billing_of
from storage.models import Volume
from tests import make
from tests.panel.portal.shop import Shop, browser, plan, seen, shop

pytestmark = pytest.mark.django_db


def ordered(acme: Shop, volume: Volume, minor: int, **fields: Any) -> Order:
    defaults = {
        "intent": Intent.UPGRADE,
        "state": OrderState.COMPLETED,
        "to_plan": volume.cache_plan,
        "currency": "EUR",
        "price_minor": minor,
        "charge_minor": 0,
        "next_invoice_minor": minor,
        "next_invoice_at": period(timezone.now())[1],
        "ended_at": timezone.now(),
    }
    given = {**defaults, **fields}
    return Order.objects.create(customer=acme.customer, volume=volume, **given)


def with_plan(acme: Shop, name: str, **fields: Any) -> Volume:
    return make.volume(customer=acme.customer, cache_plan=plan(name, **fields))


def line(volume: Volume, kind: LineKind, minor: int, start: datetime) -> None:
    UsageLine.objects.create(
        name=f"{volume.key}-{kind}",
        kind=kind,
        customer=volume.customer,
        volume=volume,
        description="x",
        currency="EUR",
        amount_minor=minor,
        period_start=start,
        period_end=start + timedelta(days=28),
    )


def test_the_next_invoice_is_what_the_plans_cost_then(settings: Settings) -> None:
    settings.TIERCEL_INVOICES_URL = "https://billing.example.org/mine"
    acme, now = shop(), timezone.now()
    begin, end = period(now)
    ordered(acme, with_plan(acme, "Agreed"), 400)
    with_plan(acme, "Listed", price_minor=500)
    ordered(acme, with_plan(acme, "Tried"), 0, intent=Intent.TRIAL, trial_until=now)
    lower = with_plan(acme, "Lower", price_minor=900)
    ordered(acme, lower, 300, state=OrderState.SCHEDULED, due_at=end, intent=Intent.DOWNGRADE)
    credited = make.volume(customer=acme.customer)
    ordered(acme, credited, 0, to_plan=None, credit_minor=150, intent=Intent.DOWNGRADE)
    for kind, minor in ((LineKind.RECURRING, 500), (LineKind.CHARGE, 70), (LineKind.CREDIT, 150)):
        line(lower, kind, minor, begin)
    assert billing_of(acme.owner, now) == [BillingSummary("Acme", "EUR", 570, 1050, end)]
    text = seen(browser(acme.owner), "my-volumes")
    assert "5.70\xa0EUR" in text and "10.50\xa0EUR" in text
    assert 'href="https://billing.example.org/mine">Invoices' in text


def test_another_customers_plans_are_not_in_it() -> None:
    acme, other = shop(), shop("Other")
    ordered(other, with_plan(other, "Fast"), 400)
    assert billing_of(acme.owner, timezone.now()) == []
    assert 'id="billing"' not in seen(browser(acme.owner), "my-volumes")


def test_it_takes_five_queries_however_many_volumes(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    acme, fast = shop(), plan("Fast")
    for _ in range(12):
        ordered(acme, make.volume(customer=acme.customer, cache_plan=fast), 400)
    with django_assert_max_num_queries(7):
        assert billing_of(acme.owner, timezone.now())[0].next_minor == 4800

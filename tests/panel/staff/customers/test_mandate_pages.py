"""Staff set what a customer may be charged, and whether they may order at all."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from panel.models import Mandate, Order
from panel.staff.change_log import FieldChange, edits
from storage.access import StaffRole
from storage.models import Customer
from tests import make
from tests.jobs.engine.test_transitions import at_once
from tests.panel.portal.shop import Shop, buyer, plan, shop

pytestmark = pytest.mark.django_db


def operator() -> Client:
    person = make.user()
    person.staff_role = StaffRole.OPERATOR
    person.save()
    return buyer(person)


def page(client: Client, customer: Customer) -> str:
    return client.get(reverse("customer", args=[customer.key])).content.decode()


def save(client: Client, customer: Customer, **fields: str) -> int:
    return client.post(reverse("customer-mandate", args=[customer.key]), fields).status_code


def test_caps_are_typed_in_major_units_and_stored_in_minor_ones() -> None:
    acme, client = make.customer(), operator()
    assert "No payment authorisation." in page(client, acme)
    typed = {"currency": "EUR", "cap_charge": "20,00", "cap_period": "50.5"}
    assert save(client, acme, **typed, earliest_next_at="2026-11-03T08:00") == 302
    found = Mandate.objects.get(customer=acme)
    assert (found.cap_charge_minor, found.cap_period_minor) == (2000, 5050)
    assert f"{found.earliest_next_at}" == "2026-11-03 08:00:00+00:00"
    text = page(client, acme)
    assert "20.00\xa0EUR" in text
    assert "50.50\xa0EUR" in text
    form = client.get(reverse("customer-mandate", args=[acme.key])).content.decode()
    assert 'value="20.00"' in form
    assert 'value="2026-11-03T08:00"' in form


def test_an_empty_cap_is_unknown_and_said_to_be() -> None:
    acme, client = make.customer(), operator()
    assert save(client, acme, currency="EUR") == 302
    found = Mandate.objects.get(customer=acme)
    assert (found.cap_charge_minor, found.cap_period_minor, found.earliest_next_at) == (None,) * 3
    assert "Paid orders are rejected until all three values are filled in." in page(client, acme)


@pytest.mark.django_db(transaction=True)
def test_two_who_save_the_first_one_at_once_are_both_answered() -> None:
    acme = make.customer()
    clients = [operator() for _ in range(4)]
    typed = [{"currency": "EUR", "cap_charge": f"{n}.00"} for n in range(4)]
    assert at_once(4, lambda n: save(clients[n], acme, **typed[n])) == [302] * 4
    assert Mandate.objects.get(customer=acme).cap_charge_minor in (0, 100, 200, 300)


@pytest.mark.parametrize(
    "typed", [{"currency": "euro"}, {"currency": "ABC"}, {"currency": "EUR", "cap_charge": "-1"}]
)
def test_what_is_no_amount_is_refused_and_nothing_stored(typed: dict[str, str]) -> None:
    acme = make.customer()
    assert save(operator(), acme, **typed) == 422
    assert not Mandate.objects.exists()


def test_a_customer_is_suspended_and_let_in_again() -> None:
    acme, client = make.customer(), operator()
    client.post(reverse("customer-suspend", args=[acme.key]))
    acme.refresh_from_db()
    since = acme.suspended_at
    assert since is not None
    client.post(reverse("customer-suspend", args=[acme.key]))
    acme.refresh_from_db()
    assert acme.suspended_at == since
    assert "cannot order" in page(client, acme)
    client.post(reverse("customer-unsuspend", args=[acme.key]))
    acme.refresh_from_db()
    assert acme.suspended_at is None


def test_who_suspended_and_who_changed_the_caps_is_kept_and_shown() -> None:
    acme, client = make.customer(), buyer(make.staff_user("ada@example.org"))
    client.post(reverse("customer-suspend", args=[acme.key]))
    assert save(client, acme, currency="EUR", cap_charge="5.00") == 302
    assert save(client, acme, currency="EUR", cap_charge="900.00") == 302
    acme.refresh_from_db()
    [suspended, _] = edits(acme)
    assert (suspended.who, [each.field for each in suspended.changes]) == (
        "ada@example.org",
        ["suspended at"],
    )
    [raised, given] = edits(Mandate.objects.get())
    assert (raised.who, given.is_creation) == ("ada@example.org", True)
    assert raised.changes == (FieldChange("cap charge", "5.00 EUR", "900.00 EUR"),)
    text = page(client, acme)
    assert ">History<" in text
    assert "cap charge: 5.00\xa0EUR → 900.00\xa0EUR" in text
    assert "suspended at: -" in text


def test_orders_are_listed_with_their_state_and_money() -> None:
    acme = shop()
    order(acme, state="completed", charge_minor=163)
    order(acme, state="refused", charge_minor=777, reason="The card was declined.")
    text = page(operator(), acme.customer)
    assert "1.63\xa0EUR" in text
    assert "7.77\xa0EUR" not in text
    assert "The card was declined." in text


def order(acme: Shop, **fields: object) -> Order:
    made = Order.objects.create(
        **{
            "customer": acme.customer,
            "volume": acme.volume,
            "intent": "upgrade",
            "to_plan": plan(f"Fast {Order.objects.count()}"),
            "currency": "EUR",
            "price_minor": 490,
            "charge_minor": 0,
            "next_invoice_minor": 490,
            "next_invoice_at": "2026-12-01T00:00Z",
            **fields,
        }
    )
    return made

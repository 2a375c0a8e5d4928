"""A customer buys a cache for his volume and gives it back, by clicks on a small screen."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from jobs.models import Job, Origin, State
from panel.accounts import people
from panel.models import Mandate
from storage.models import CachePlan, Customer, Host
from tests.integration.machine import Machine
from tests.integration.person import ADD_CACHE_TRAIL, MIB, Person, finished, trail
from tests.integration.running import Running
from tests.integration.tab import chromium, follow, show_plans, sign_in, tab

__all__ = ["chromium", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.thorough]

PASSWORD = "a customer's own long password"
CHANGE_MS = 180_000


def changed(tab: Page, machine: Machine, button: str) -> None:
    """Confirm, and see the change go on and end without loading the page again."""
    with machine.hold("lvconvert") as held:
        tab.get_by_role("button", name=button).click()
        tab.get_by_role("region", name="Progress of the order").wait_for()
        tab.evaluate("window.stayed = true")
        held.wait()
        progress = tab.get_by_role("main").get_by_role("status")
        expect(progress).not_to_contain_text("Done")
        held.resume()
        expect(progress).to_contain_text("Done", timeout=CHANGE_MS)
    assert tab.evaluate("window.stayed")


def test_a_customer_buys_a_cache_and_gives_it_back(
    machine: Machine, host: Host, panel: Running, person: Person, tab: Page
) -> None:
    preview = person.new_volume(host, label="shop disk", size_mib=128, layout="plain")
    volume = finished(person.apply(preview)).volume
    customer = Customer.objects.create(name="Buyer")
    volume.customer = customer
    volume.save(update_fields=["customer"])
    email = f"buyer{customer.pk}@shop.example"
    buyer = people.add(email=email, password=PASSWORD, name="Buyer")
    customer.members.create(user=buyer, role="owner")
    Mandate.objects.create(
        customer=customer, currency="EUR", cap_charge_minor=490, cap_period_minor=490,
        earliest_next_at=timezone.now() - timedelta(days=1),
    )  # fmt: skip
    boost = CachePlan.objects.create(
        name=f"Boost {customer.pk}", size_bytes=64 * MIB, price_minor=490, currency="EUR"
    )
    boost.hosts.add(host)
    bare, before = machine.lvs(), Job.objects.count()

    tab.set_viewport_size({"width": 360, "height": 800})
    sign_in(tab, panel.url, email, PASSWORD)
    follow(tab, "shop disk")
    show_plans(tab)
    follow(tab, f"Order {boost.name}")
    changed(tab, machine, "Order for 4.90\xa0EUR a month")
    bought = Job.objects.order_by("id").last()
    assert bought is not None
    assert (bought.kind, bought.state, bought.origin) == (
        "add-cache",
        State.SUCCEEDED,
        Origin.PORTAL,
    )
    assert (bought.price_minor, bought.currency, bought.actor) == (490, "EUR", buyer)
    assert trail(bought) == ADD_CACHE_TRAIL

    follow(tab, "Show volume")
    expect(tab.get_by_role("region", name="Your cache plan")).to_contain_text(boost.name)
    follow(tab, "Change plan")
    follow(tab, "Remove the cache")
    tab.get_by_role("radio", name=re.compile("^Now")).check()
    changed(tab, machine, "Remove the cache")
    assert machine.lvs() == bare
    assert Job.objects.count() == before + 2
    volume.refresh_from_db()
    assert volume.cache_plan is None
    for page in ("my/", f"my/volumes/{volume.key}/"):
        tab.goto(f"{panel.url}/{page}")
        assert host.name not in tab.inner_text("body")
    for page in (f"volumes/{volume.key}/", f"jobs/{bought.key}/", f"hosts/{host.key}/"):
        assert tab.request.get(f"{panel.url}/{page}").status == 404

"""The owner's pages in a browser: they fit, axe finds nothing grave, and the price of SSD is
entered by the keyboard alone."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, expect

from panel.models import SoldOutView, SsdPrice
from tests import make
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import browser, served, signed_in
from tests.panel.staff.customers.sales import host, plan, sold

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
HOSTS = 41
MOST_PIXELS = 2000


def fleet() -> None:
    """41 hosts on three sites, six of which are full, plans of seven names and two currencies, and
    names of 64 letters."""
    now = timezone.now()
    plans = [plan("Boost M", 490), *(plan(f"Boost {n}", 100 * n) for n in range(1, 5))]
    plans.append(plan("P" * 64, 590))
    plans.append(plan("Dollar", 700, "USD"))
    for n in range(HOSTS):
        name = "h" * 64 if n == 0 else f"stor-{n:02}"
        one = host(name, free_gib=4 if n < 6 else 60, site="s" * 64 if n == 0 else f"site {n % 3}")
        for of in [plans[0], plans[n % len(plans)]]:
            sold(one, of, price_minor=of.price_minor, ended_at=now - timedelta(days=9 * (n + 1)))
        saw = make.volume()
        make.placement(saw, one)
        SoldOutView.objects.create(volume=saw, plan=plans[0], seen_at=now)


def test_the_pages_of_41_hosts_fit_and_are_accessible(browser: Browser, served: str) -> None:
    fleet()
    SsdPrice.objects.create(minor_per_tb=180_00, currency="EUR")
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    found = {}
    for name in ("revenue", "capacity"):
        page.goto(served + reverse(name))
        for summary in page.locator("main details > summary").all():
            if summary.is_visible() and summary.inner_text() == "Figures":
                summary.click()
        looks = product((1440, 360), ("light", "dark"))
        found[name] = [each for look in looks for each in violations(page, *look)]
    assert found == {"revenue": [], "capacity": []}
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") <= MOST_PIXELS
    table = page.locator(".capacity-table")
    assert table.evaluate("(each) => each.scrollWidth <= each.parentElement.clientWidth")
    assert complaints == []
    context.close()


def test_the_price_of_ssd_is_entered_by_the_keyboard(browser: Browser, served: str) -> None:
    one, fast = host("full", free_gib=4), plan("Fast", 490)
    sold(one, fast, price_minor=490)
    saw = make.volume()
    make.placement(saw, one)
    SoldOutView.objects.create(volume=saw, plan=fast, seen_at=timezone.now())
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.goto(served + reverse("capacity"))
    expect(page.get_by_text("Enter what 1 TB of SSD costs")).to_be_visible()
    page.get_by_label("Price of 1 TB of SSD").focus()
    page.keyboard.type("lots")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Enter the amount like 4.90.")).to_be_visible()
    page.get_by_label("Price of 1 TB of SSD").fill("50")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Currency")).to_have_value("EUR")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("costs 24.00 EUR, paid back in 5 months")).to_be_visible()
    context.close()

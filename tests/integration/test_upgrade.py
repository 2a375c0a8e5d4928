"""A customer sees that his volume is slow, upgrades it twice, reads what it brought, and takes the
last upgrade back: by clicks on a small screen."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from jobs.models import Origin, State
from panel.models import Order
from storage.metrics.samples import window
from storage.models import Host
from tests.integration.buying import PASSWORD, Buyer, buyer
from tests.integration.machine import Machine
from tests.integration.person import ADD_CACHE_TRAIL, Person, trail
from tests.integration.running import PROOF_SECONDS, Running
from tests.integration.tab import card, chromium, follow, show_plans, sign_in, tab
from tests.integration.test_walk import FIGURES_MS, RENEW_MS, renewed
from tests.integration.until import until

__all__ = ["chromium", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.thorough, pytest.mark.timeout(1200)]

CHANGE_MS, PROVEN_SECONDS = 180_000, 300


def agreed(tab: Page, button: str) -> None:
    """Confirm; a person who signed in a while ago proves first who they are."""
    tab.get_by_role("button", name=button).click()
    asked = tab.get_by_role("heading", name="Confirm your identity")
    ordered = tab.get_by_role("region", name="Progress of the order")
    asked.or_(ordered).first.wait_for()
    if asked.is_visible():
        tab.get_by_label("Password").fill(PASSWORD)
        tab.get_by_role("button", name="Confirm").click()


def changed(tab: Page, machine: Machine, button: str) -> Order:
    """Confirm, and see the change go on and end without loading the page again."""
    with machine.hold("lvconvert") as held:
        agreed(tab, button)
        tab.get_by_role("region", name="Progress of the order").wait_for()
        tab.evaluate("window.stayed = true")
        held.wait()
        progress = tab.get_by_role("main").get_by_role("status")
        expect(progress).not_to_contain_text("Done")
        held.resume()
        expect(progress).to_contain_text("Done", timeout=CHANGE_MS)
    assert tab.evaluate("window.stayed")
    order = Order.objects.select_related("job").latest("id")
    assert order.state == "completed"
    return order


def measured(of: Buyer) -> bool:
    """Whether the time before a change can be measured."""
    now = timezone.now()
    length = timedelta(seconds=PROOF_SECONDS)
    return window(of.volume, now - 2 * length, now).seconds >= PROOF_SECONDS


def marked(tab: Page, *plans: str) -> None:
    """On the chart, which ends with the last whole step, the orders are marked with their plans."""
    follow(tab, "Show volume")
    parts = tab.get_by_role("navigation", name="Volume")
    parts.get_by_role("link", name="Charts").click()
    words = [f"Plan: {plan}" for plan in plans]
    for _ in range(FIGURES_MS // RENEW_MS):
        with tab.expect_response(re.compile(r"/marks(\?|$)")) as marks:
            tab.reload()
        # Asked for again: what the page got is gone where it was loaded anew meanwhile.
        answer = tab.request.get(marks.value.url).json()
        if [mark["label"] for mark in answer["marks"]] == words:
            break
        tab.wait_for_timeout(RENEW_MS)
    chart = card(tab, "Over time")
    for word in words:
        expect(chart.get_by_role("list", name="Changes in this period")).to_contain_text(word)
    renewed(tab, chart.get_by_text(re.compile(r"\d\s% of reads came from SSD")))


def test_a_customer_upgrades_twice_reads_what_it_brought_and_takes_it_back(
    machine: Machine, host: Host, panel: Running, person: Person, tab: Page
) -> None:
    of = buyer(person, host, "shop disk")
    with ExitStack() as stack:
        stack.callback(machine.world.remove_lv, of.lv_name)
        stack.enter_context(machine.load(of.lv_name))
        tab.set_viewport_size({"width": 360, "height": 800})
        sign_in(tab, panel.url, of.user.email, PASSWORD)

        # It is slow, and why.
        follow(tab, "shop disk")
        renewed(tab, tab.get_by_text("All reads go to the disk"))
        until("a minute of figures", lambda: measured(of), 4 * PROOF_SECONDS)

        # The first plan.
        show_plans(tab)
        expect(tab.locator("#today")).to_contain_text("of data")
        follow(tab, f"Order {of.small.name}")
        first = changed(tab, machine, "Order for 4.90\xa0EUR a month")
        job = first.job
        assert job is not None
        assert (job.kind, job.state, job.origin) == ("add-cache", State.SUCCEEDED, Origin.PORTAL)
        assert (first.price_minor, first.currency, first.actor) == (490, "EUR", of.user)
        assert trail(job) == ADD_CACHE_TRAIL
        page = tab.url
        marked(tab, of.small.name)

        # What it brought.
        until("the report is there", lambda: reported(first), PROVEN_SECONDS)
        tab.goto(page)
        follow(tab, "View result")
        expect(tab.get_by_role("heading", name="It helped")).to_be_visible()
        first.refresh_from_db()
        assert first.proof.verdict == "gain"
        result = first.proof.result
        assert result["hit_rate_before"] is None or result["hit_rate_before"] == 0
        assert result["hit_rate_after"] > 0.5
        assert result["read_ms_after"] < result["read_ms_before"]

        # A bigger one, and back to the first.
        tab.goto(f"{panel.url}/my/volumes/{of.volume.key}/plan")
        follow(tab, f"Order {of.large.name}")
        second = changed(tab, machine, "Order for 7.90\xa0EUR a month")
        marked(tab, of.small.name, of.large.name)
        tab.goto(f"{panel.url}/my/orders/{second.key}/")
        follow(tab, "Undo order")
        back = changed(tab, machine, "Undo order")
        assert (back.intent, back.reverts, back.to_plan) == ("revert", second, of.small)
        assert (back.price_minor, back.charge_minor) == (490, 0)
        of.volume.refresh_from_db()
        assert of.volume.cache_plan == of.small

        # Nothing of the provider's machinery is seen on the way.
        for path in ("my/", f"my/volumes/{of.volume.key}/", f"my/orders/{first.key}/"):
            tab.goto(f"{panel.url}/{path}")
            assert host.name not in tab.inner_text("body")
        hidden = (f"volumes/{of.volume.key}/", f"jobs/{job.key}/", f"hosts/{host.key}/")
        for path in hidden:
            assert tab.request.get(f"{panel.url}/{path}").status == 404


def reported(order: Order) -> bool:
    order = Order.objects.select_related("proof").get(pk=order.pk)
    return hasattr(order, "proof") and order.proof.is_over

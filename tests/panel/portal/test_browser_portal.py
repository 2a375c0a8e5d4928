"""A customer's walk in a real browser: from a slow volume to a bought cache, on the fake host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connections
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from jobs.models import Job, Origin
from panel.orders.due_orders import sweep_orders
from storage.models import Volume
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.panel.browser.chromium import browser as chromium
from tests.panel.browser.chromium import opened, too_wide
from tests.panel.portal.shop import Shop, buyer, clean, plan, shop
from tests.panel.portal.test_ordering import real, run
from tests.scene import LONG, end, job

__all__ = ["chromium", "fake_host", "fake_server", "make_fake_host", "real"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def served(
    live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)
    yield live_server.url
    connections.close_all()


def press(page: Page, name: str, times: int = 1) -> None:
    """Go by Tab to what has that name, and press Enter there."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if name in page.evaluate("document.activeElement.textContent"):
            break
    assert page.evaluate("document.activeElement.matches(':focus-visible, :focus')")
    # Both presses are sent before the page goes away, as an impatient person's are.
    page.evaluate(
        "(times) => { for (let n = 1; n < times; n++) document.activeElement.click() }", times
    )
    page.keyboard.press("Enter")


def test_a_customer_upgrades_by_the_keyboard_alone(
    chromium: Browser, served: str, real: Shop
) -> None:
    plan("Small", size_bytes=None, ratio_percent=25)
    context = chromium.new_context(viewport={"width": 360, "height": 800})
    page, complaints = opened(context, served, buyer(real.owner))
    # The customer's other volume has the same name, on a host that is not there.
    Volume.objects.filter(pk=real.volume.pk).update(label="mailbox")
    page.goto(served + reverse("my-volumes"))
    press(page, "mailbox")
    page.get_by_role("heading", name="Your cache plan").wait_for()
    press(page, "Show plans")
    page.get_by_role("heading", name="Small").wait_for()
    press(page, "Order Small")
    page.get_by_role("heading", name="Change to Small?").wait_for()
    press(page, "Order for 4.90\xa0EUR a month", times=2)
    page.get_by_text("Preparing your cache. Your machine keeps running").wait_for()
    run(Job.objects.get())
    sweep_orders()
    page.get_by_text("Done: this volume now has the plan Small.").wait_for()
    press(page, "Show volume")
    page.get_by_role("heading", name="Your cache plan").wait_for()
    expect(page.locator("section[aria-labelledby=plan]")).to_contain_text("256 MiB SSD")
    clean(page.inner_text("body"))
    assert real.volume.cache_plan is not None
    press(page, "Undo last change")
    page.get_by_role("heading", name="Remove the cache?").wait_for()
    press(page, "Undo order")
    page.get_by_text("Getting ready").first.wait_for()
    run(Job.objects.latest("id"))
    sweep_orders()
    page.get_by_text("Done: this volume no longer has a cache.").wait_for()
    assert real.volume.cache_plan is None
    assert complaints == []
    context.close()


def test_pages_fit_the_screen_and_obey_the_policy(chromium: Browser, served: str) -> None:
    acme, first = shop(), plan(LONG[:64], description=LONG)
    Volume.objects.filter(pk=acme.volume.pk).update(label=LONG)
    agreed = {"cache_plan": first, "price_minor": 490, "currency": "EUR"}
    done = job(acme.there, origin=Origin.PORTAL, actor=acme.owner, **agreed)
    end(done)
    empty = make.user()
    make.customer().members.create(user=empty, role="viewer")
    context = chromium.new_context()
    page, complaints = opened(context, served, buyer(acme.owner))
    for name, *args in (
        ("my-volumes",),
        ("my-volume", acme.volume.key),
        ("my-plan", acme.volume.key),
        ("my-plan-confirm", acme.volume.key, first.key),
        ("my-change", done.key),
    ):
        answer = page.goto(served + reverse(name, args=args))
        assert answer is not None
        assert answer.status == 200
        assert too_wide(page) == [], name
        clean(page.inner_text("body"))
    assert complaints == []
    context.close()

"""From a billing panel's link to an order, in a real browser: a code by mail stands between."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.core import mail
from django.db import connections
from django.urls import reverse
from playwright.sync_api import Browser, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from panel.accounts.authentication import login_links
from panel.models import Order
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import browser as browser
from tests.panel.portal.shop import plan, shop

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_STOPS = 60
CONFIRM = "Order for 4.90 EUR a month"


def press(page: Page, name: str) -> None:
    """Go to the button or link with the Tab key, and press Enter."""
    page.get_by_text(name).first.wait_for()
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        here = page.locator(":focus")
        # Between the last and the first element the browser's own frame has the focus.
        if here.count() and name in " ".join((here.text_content() or "").split()):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the Tab key does not reach {name!r} on {page.url}")


def test_a_link_a_choice_a_code_and_the_order_by_keyboard_without_scripts(
    browser: Browser,
    live_server: LiveServer,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.SMTP_HOST = "mail.example.org"
    settings.TIERCEL_MANDATE_REQUIRED = False
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)
    acme, fast = shop(), plan()
    to = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    link = login_links.make_link(acme.owner, reverse("my-plan", args=[acme.volume.key]))
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto(live_server.url + urlsplit(link).path)
    press(page, "Continue as")
    press(page, "Order Fast")
    press(page, CONFIRM)
    press(page, "Send code")
    page.get_by_text("We have sent a six-digit code").wait_for()
    assert urlsplit(page.url).path == to
    assert "4.90\xa0EUR" in (page.text_content("dl.facts") or "")
    assert not Order.objects.exists()
    code = re.search(r"\b\d{6}\b", str(mail.outbox[-1].body))
    assert code is not None
    page.locator("[name=proof-code]").press_sequentially(code[0])
    page.keyboard.press("Enter")
    page.wait_for_url("**/my/orders/*/")
    assert Order.objects.get().to_plan == fast
    cookies = context.cookies()
    context.close()

    theirs = browser.new_context()
    theirs.add_cookies([c for c in cookies if c["name"] == configured.SESSION_COOKIE_NAME])
    page = theirs.new_page()
    for name in ("step-up", "notices"):
        page.goto(live_server.url + reverse(name))
        assert violations(page, 360, "light") + violations(page, 1440, "dark") == [], name
    theirs.close()
    connections.close_all()

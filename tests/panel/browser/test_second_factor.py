"""The first admin's way in where staff need a second factor, in a real browser."""

from __future__ import annotations

import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.urls import reverse
from playwright.sync_api import Browser, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from panel.accounts import invitations
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse 9"
EVERY = """document.getElementById("running-menu").dispatchEvent(new CustomEvent("every"))"""


def code(secret: str) -> str:
    """What the app shows now."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def set_up(page: Page) -> None:
    """From the page that asks for a second factor to the overview."""
    page.get_by_text("Set up a second factor to continue").wait_for()
    page.get_by_role("link", name="Set up").click()
    page.get_by_label("code").fill(code(page.locator("#totp-key").inner_text()))
    page.get_by_role("button", name="Activate").click()
    page.get_by_role("link", name="I have stored the codes").click()


def test_the_first_admin_chooses_a_password_sets_up_a_factor_and_is_in(
    browser: Browser, live_server: LiveServer, settings: Settings
) -> None:
    settings.TIERCEL_STAFF_NEED_SECOND_FACTOR = True
    # So that a code is good for a while when it is typed.
    settings.MFA_TOTP_TOLERANCE = 1
    _, token = invitations.to_first_admin("boss@example.org")
    page = browser.new_context().new_page()
    page.goto(live_server.url + reverse("invitation", args=[token]))
    page.get_by_label("Your name").fill("Boss")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="sign in").click()
    set_up(page)
    page.get_by_role("heading", name="Add your first host").wait_for()

    Authenticator.objects.all().delete()
    page.evaluate(EVERY)
    page.wait_for_url(live_server.url + reverse("mfa_index"))
    assert violations(page, 360, "light") + violations(page, 1440, "dark") == []

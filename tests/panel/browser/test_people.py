"""The way in, in a real browser: the first admin's link, an invitation, a customer's first look."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from panel.accounts import invitations
from tests import make
from tests.panel.browser.chromium import blank, too_wide
from tests.panel.browser.chromium import browser as browser

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def take_up(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Password").fill("correct horse 9")
    page.get_by_role("button", name="sign in").click()


def test_people_let_each_other_in(browser: Browser, live_server: LiveServer) -> None:
    acme = make.customer("Acme")
    make.volume(label="acme disk", customer=acme)
    _, token = invitations.to_first_admin("boss@example.org")
    page, complaints = blank(browser.new_context())
    take_up(page, live_server.url + reverse("invitation", args=[token]), "Boss")
    page.get_by_role("heading", name="Add your first host").wait_for()

    page.goto(live_server.url + reverse("people"))
    page.get_by_label("E-mail address").fill("bob@example.org")
    page.get_by_label("Customer", exact=True).fill("Acme")
    page.get_by_label("Customer role").select_option("viewer")
    page.get_by_role("button", name="Create link").click()
    link = page.locator("#one-time-link").inner_text()
    assert too_wide(page) == []

    theirs = browser.new_context().new_page()
    take_up(theirs, live_server.url + "/" + link.split("/", 3)[3].strip(), "Bob")
    theirs.get_by_text("acme disk").first.wait_for()

    person = acme.members.get().user.pk
    addresses = [
        reverse("people"),
        reverse("person", args=[person]),
        reverse("customers"),
        reverse("customer", args=[acme.key]),
        reverse("customer-edit", args=[acme.key]),
    ]
    for address in addresses:
        page.goto(live_server.url + address)
        assert too_wide(page) == [], address
    page.goto(live_server.url + reverse("person", args=[person]))
    page.get_by_role("button", name="Deactivate").click()
    page.get_by_role("button", name="Reactivate").wait_for()
    theirs.reload()
    theirs.get_by_role("heading", name="Sign in").wait_for()
    assert complaints == []

"""The way in, in a real browser: the first admin's link, an invitation, a customer's first look."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, ConsoleMessage, Page
from pytest_django.live_server_helper import LiveServer

from panel import invitation
from tests import make
from tests.panel.chromium import WIDE
from tests.panel.chromium import browser as browser
from tests.panel.chromium import served as served

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def take_up(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Password").fill("correct horse 9")
    page.get_by_role("button", name="sign in").click()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
def test_people_let_each_other_in(
    browser: Browser, live_server: LiveServer, width: int, scheme: str
) -> None:
    acme = make.customer("Acme")
    make.volume(label="acme disk", customer=acme)
    _, token = invitation.to_first_admin("boss@example.org")
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    complaints: list[str] = []

    def listen(said: ConsoleMessage) -> None:
        if said.type == "error":
            complaints.append(said.text)

    page.on("console", listen)
    take_up(page, live_server.url + reverse("invitation", args=[token]), "Boss")
    page.get_by_role("heading", name="Add your first host").wait_for()

    page.goto(live_server.url + reverse("people"))
    page.get_by_label("E-mail address").fill("bob@example.org")
    page.get_by_label("Customer", exact=True).select_option("Acme")
    page.get_by_label("Role in the customer").select_option("viewer")
    page.get_by_role("button", name="Make the link").click()
    link = page.locator("#one-time-link").inner_text()
    assert page.evaluate(WIDE) == []

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
        assert page.evaluate(WIDE) == [], address
        assert page.evaluate("document.documentElement.dataset.bsTheme") == scheme, address
    page.goto(live_server.url + reverse("person", args=[person]))
    page.get_by_role("button", name="Deactivate").click()
    page.get_by_role("button", name="Reactivate").wait_for()
    theirs.reload()
    theirs.get_by_role("heading", name="Sign in").wait_for()
    assert complaints == []

"""A tab of a real browser on the running panel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from tests.panel.browser.chromium import started

PAGE_MS = 30_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    """A tab of the browser, which must have complained of nothing at the end: a violation of the
    content security policy is an error on its console."""
    complaints: list[str] = []

    def heard(said: ConsoleMessage) -> None:
        if said.type == "error":
            complaints.append(f"{said.text} ({said.page and said.page.url})")

    context = chromium.new_context()
    context.set_default_timeout(PAGE_MS)
    tab = context.new_page()
    tab.on("console", heard)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


def sign_in(tab: Page, url: str, email: str, password: str) -> None:
    tab.goto(url)
    tab.get_by_label("E-mail address").fill(email)
    tab.get_by_label("Password").fill(password)
    tab.get_by_role("button", name="Sign in", exact=True).click()


def card(tab: Page, title: str) -> Locator:
    return tab.get_by_role("region", name=title, exact=True)


def follow(tab: Page, name: str) -> None:
    """Click the one link of this name."""
    tab.get_by_role("link", name=name, exact=True).click()


def show_plans(tab: Page) -> None:
    """Click the link to the plans: of a slow volume there are two, one beside the reason."""
    tab.get_by_role("link", name="Show plans", exact=True).first.click()


def choose(tab: Page, name: str) -> None:
    """Click the link of this name in the main menu."""
    menu = tab.get_by_role("navigation", name="Main", exact=True)
    menu.get_by_role("link", name=name, exact=True).click()

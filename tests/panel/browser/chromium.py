"""A real browser before the panel: fixtures and the way in, for every test that opens pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from panel.accounts import people
from panel.models import User
from tests.browsers import program
from tests.proven import prove

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
EMAIL = "ann@example.org"
PASSWORD = "correct horse 9"
PATIENCE_MS = 30_000
"""How long a test waits for a page: the machine may be busy with other tests."""
LOOKS: tuple[tuple[int, Any], ...] = ((360, "dark"), (1440, "light"))
"""A small dark screen and a large light one."""
WIDE = """[...document.querySelectorAll("body *")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !element.parentElement.closest(".charts-tools nav"))
  .filter((element) => !element.ownerSVGElement)
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 200))"""
"""What reaches beyond the screen. The ranges of charts scroll beside each other on a small one, and
a picture cuts off what is in it."""


@contextmanager
def started() -> Iterator[Browser]:
    """A browser that ends with the block."""
    with sync_playwright() as play:
        expect.set_options(timeout=PATIENCE_MS)
        browser = play.chromium.launch(executable_path=program(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browser(one_browser: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    browser, loop = one_browser
    asyncio._set_running_loop(loop)
    yield browser
    for context in browser.contexts:
        context.close()
    asyncio._set_running_loop(None)


@pytest.fixture
def served(live_server: LiveServer) -> Iterator[str]:
    """The panel's address, with a person who may sign in."""
    people.add(email=EMAIL, password=PASSWORD, staff_role="admin")
    yield live_server.url
    connections.close_all()


def opened(context: BrowserContext, url: str, client: Client) -> tuple[Page, list[str]]:
    """A page where the client's person is signed in, and what the browser complains of."""
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])
    return blank(context)


def signed_in(context: BrowserContext, url: str) -> tuple[Page, list[str]]:
    """The same for the person of `served`, who has just shown who they are."""
    client, ann = Client(), User.objects.get(email=EMAIL)
    client.force_login(ann)
    return opened(context, url, prove(client, ann))


def sign_in(page: Page) -> None:
    """The same person by the form, which any address leads to."""
    page.goto("/")
    page.fill("[name=login]", EMAIL)
    page.fill("[name=password]", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Overview").wait_for()


def blank(context: BrowserContext) -> tuple[Page, list[str]]:
    """A new page, and what the browser complains of."""
    page, complaints = context.new_page(), []
    page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page, complaints


def too_wide(page: Page) -> list[str]:
    """What does not fit the screen in one of the looks, both of which the page must follow."""
    found: list[str] = []
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("html")).to_have_attribute("data-bs-theme", scheme)
        found += page.evaluate(WIDE)
    return found

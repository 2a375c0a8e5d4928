"""A real browser before the panel: fixtures and the way in, for every test that opens pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from django.db import connections
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from panel import people

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
PASSWORD = "correct horse 9"
WIDE = """[...document.querySelectorAll("body *")]
  .filter((element) => element.checkVisibility())
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        yield (
            started := play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        )
        started.close()


@pytest.fixture
def served(live_server: LiveServer) -> Iterator[str]:
    """The panel's address, with a person who may sign in."""
    people.add(email="ann@example.org", password=PASSWORD, staff_role="admin")
    yield live_server.url
    connections.close_all()


def signed_in(context: BrowserContext, url: str) -> tuple[Page, list[str]]:
    """A page of a person who signed in by the form, and what the browser complains of."""
    page, complaints = context.new_page(), []
    page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    page.fill("[name=login]", "ann@example.org")
    page.fill("[name=password]", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/")
    return page, complaints

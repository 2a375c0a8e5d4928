"""One browser for all of a process's tests: to start one costs as much as to open ten pages. No
mail outlives its test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from panel.accounts.security_log import background_mail
from tests.panel.browser.chromium import started


@pytest.fixture(autouse=True)
def _mail_is_sent_before_the_test_ends() -> Iterator[None]:
    """Else the next test finds it in its outbox."""
    yield
    background_mail.POST.submit(int).result()


@pytest.fixture(scope="session")
def one_browser() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """The browser and its interface's event loop. Only a test with a `browser` may find that loop
    running: in all others nothing could run one of its own."""
    with started() as browser:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)

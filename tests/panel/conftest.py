"""One browser for all of a process's tests: to start one costs as much as to open ten pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.panel.browser.chromium import started


@pytest.fixture(scope="session")
def one_browser() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """The browser and its interface's event loop. Only a test with a `browser` may find that loop
    running: in all others nothing could run one of its own."""
    with started() as browser:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)

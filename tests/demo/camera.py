"""Pictures of the panel for README and docs, taken in a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from panel.operations.local_services import CHECKOUT
from tests.browsers import program
from tests.demo.people import Login
from tests.demo.walk import DRAWN, sign_in

DOCUMENTS = Path(CHECKOUT, "docs", "images")
DRAFTS = Path(CHECKOUT, "var", "screenshots")
WIDTH, HEIGHT = 1440, 900
MOST_BYTES = 300_000
PAGE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Still:
    """A page, as far down as `height`."""

    address: str
    height: int = HEIGHT


@contextmanager
def opened() -> Iterator[Browser]:
    """While it is open, this thread cannot ask the database."""
    with sync_playwright() as play:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=program(), args=arguments)
        yield browser
        browser.close()


def take_stills(
    browser: Browser, url: str, login: Login, stills: Mapping[str, Still], folder: Path
) -> None:
    """Write a picture of each, by name, as that person sees it. Raises RuntimeError for one that is
    too big for a README."""
    context = browser.new_context(color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(PAGE_MS)
    page = context.new_page()
    sign_in(page, url, login)
    for name, still in stills.items():
        page.set_viewport_size(ViewportSize(width=WIDTH, height=still.height))
        page.goto(url + still.address, wait_until="networkidle")
        page.wait_for_function(DRAWN)
        picture = page.screenshot(animations="disabled", caret="hide")
        if len(picture) > MOST_BYTES:
            raise RuntimeError(f"{name} has {len(picture):,} bytes; at most {MOST_BYTES:,} fit")
        write(picture, folder / f"{name}.png")
    context.close()


def write(picture: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)
    print(f"         {path} ({len(picture):,} bytes)", flush=True)

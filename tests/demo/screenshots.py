"""Pictures of the panel for README and docs, and the animated walk, taken in a real browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, sync_playwright

from jobs.models import Job
from panel.operations.local_services import CHECKOUT
from storage.models import Volume
from tests.browsers import program
from tests.demo.people import Login
from tests.demo.walk import DRAWN, Scene, sign_in, walk

FOLDERS = {"lab": Path(CHECKOUT, "docs", "images"), "fake": Path(CHECKOUT, "var", "screenshots")}
"""By the kind of the host: figures of a simulated one are no documents."""
SIZE = ViewportSize(width=1440, height=900)
MOST_BYTES = 300_000
PAGE_MS = 60_000
# Until a new volume has a guest and its load.
BEGINNING = timedelta(seconds=20)


def take(url: str, logins: Sequence[Login], volume: Volume, kind: str) -> None:
    """Write a picture of each of `addresses`, and walk.webp. `volume` is the first customer's;
    `logins` are the admin's and that customer's. Raises RuntimeError for a picture that is too big
    for a README."""
    admin, customer = logins[0], logins[1]
    jobs = Job.objects.filter(volume=volume)
    job = jobs.filter(dry_run=False).latest("created_at")
    preview = jobs.filter(dry_run=True).latest("created_at")
    shown = urlencode({"from": _text(volume.created_at + BEGINNING), "to": _text(timezone.now())})
    host = f"/hosts/{job.host.key}/"
    pictures = {
        admin: {
            "overview": "/?range=1h",
            "host": f"{host}?range=1h",
            "volume": f"/volumes/{volume.key}/?{shown}",
            "job": f"/jobs/{job.key}/",
        },
        customer: {"customer": f"/my/volumes/{volume.key}/"},
    }
    staff = (
        Scene("/", "The start page: what needs you, then the fleet over time", "[data-charts]"),
        Scene(host, "A host: its problems, its load, its space", "[data-charts]"),
        Scene(f"/jobs/{preview.key}/", "A cache, previewed: the exact commands, before they run"),
        Scene(f"/jobs/{job.key}/", "The same commands, live, with their exit codes"),
        Scene(f"/volumes/{volume.key}/?{shown}", "Before and after, on one chart", "[data-charts]"),
        Scene("/plans/", "Sell it: a plan is a cache size and a price"),
        Scene("/capacity/", "How much SSD is sold, free, and until when it lasts"),
        Scene("/audit/everything", "Who did what: one trail that cannot be changed"),
        Scene("/help/glossary/#hit-rate", "Every figure has a ? that explains it"),
    )
    own = f"/my/volumes/{volume.key}"
    rented = (
        Scene("/my/", "Your customer sees one word for each volume"),
        Scene(f"{own}/", "Why is it slow? A verdict, and one figure"),
        Scene(f"{own}/charts", "When did it change? The charts say"),
        Scene(f"{own}/plan", "What each plan would change, and its price"),
    )
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=program(),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        for login, addresses in pictures.items():
            context = browser.new_context(
                viewport=SIZE, color_scheme="light", reduced_motion="reduce"
            )
            context.set_default_timeout(PAGE_MS)
            page = context.new_page()
            sign_in(page, url, login)
            for name, address in addresses.items():
                page.goto(url + address, wait_until="networkidle")
                page.wait_for_function(DRAWN)
                _write(_picture(page), FOLDERS[kind] / f"{name}.png")
            context.close()
        moving = walk(browser, url, [(admin, staff), (customer, rented)])
        _write(moving, FOLDERS[kind] / "walk.webp")
        browser.close()


def _picture(page: Page) -> bytes:
    picture = page.screenshot(animations="disabled", caret="hide")
    if len(picture) > MOST_BYTES:
        raise RuntimeError(f"{page.url} has {len(picture):,} bytes; at most {MOST_BYTES:,} fit")
    return picture


def _write(picture: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)
    print(f"         {path} ({len(picture):,} bytes)", flush=True)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"

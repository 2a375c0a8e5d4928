"""Pictures of the panel for README and docs, taken in a real browser as the admin."""

from __future__ import annotations

import os
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

FOLDERS = {"lab": Path(CHECKOUT, "docs", "images"), "fake": Path(CHECKOUT, "var", "screenshots")}
"""By the kind of the host: figures of a simulated one are no documents."""
SIZE = ViewportSize(width=1440, height=900)
MOST_BYTES = 300_000
PAGE_MS = 30_000
# Until a new volume has a guest and its load.
BEGINNING = timedelta(seconds=20)
# Drawn charts, and no part of the page that is still being fetched.
DRAWN = """() => !document.querySelector("[data-charts-panels][hidden], .htmx-request")"""


def take(url: str, login: Login, volume: Volume, kind: str) -> None:
    """Write overview.png, volume.png (from the beginning of its load until now) and job.png (the
    volume's last job). Raises RuntimeError for a picture that is too big for a README."""
    job = Job.objects.filter(volume=volume, dry_run=False).latest("created_at")
    shown = {"from": _text(volume.created_at + BEGINNING), "to": _text(timezone.now())}
    addresses = {
        "overview": "/",
        "volume": f"/volumes/{volume.key}/?{urlencode(shown)}",
        "job": f"/jobs/{job.key}/",
    }
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=program(),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        context = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        context.set_default_timeout(PAGE_MS)
        page = context.new_page()
        _sign_in(page, url, login)
        for name, address in addresses.items():
            page.goto(url + address, wait_until="networkidle")
            page.wait_for_function(DRAWN)
            _write(page, FOLDERS[kind] / f"{name}.png")
        browser.close()


def _sign_in(page: Page, url: str, login: Login) -> None:
    page.goto(url)
    page.get_by_label("E-mail address").fill(login.email)
    page.get_by_label("Password").fill(login.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"{url}/")


def _write(page: Page, path: Path) -> None:
    picture = page.screenshot(animations="disabled", caret="hide")
    if len(picture) > MOST_BYTES:
        raise RuntimeError(f"{path.name} has {len(picture):,} bytes; at most {MOST_BYTES:,} fit")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)
    print(f"         {path} ({len(picture):,} bytes)", flush=True)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"

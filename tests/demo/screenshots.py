"""The pictures of a lab host: an order with its effect, a job step by step, and the walk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.utils import timezone

from jobs.models import Job
from panel.models import Order
from tests.demo import walk
from tests.demo.camera import DOCUMENTS, DRAFTS, Still, opened, take_stills, write
from tests.demo.people import Login
from tests.demo.walk import Scene

FOLDERS = {"lab": DOCUMENTS, "fake": DRAFTS}
"""By the kind of the host: figures of a simulated one are no documents."""
# Until a new volume has a guest and its load.
BEGINNING = timedelta(seconds=20)


def take(url: str, logins: Sequence[Login], order: Order, kind: str) -> None:
    """Write a picture of the order's job and of its report, and walk.webp, which begins with what
    `tests.pages.screenshots` left. `logins` are the admin's and those of customers."""
    volume, job = order.volume, order.job
    assert job is not None
    admin = logins[0]
    customer = next(login for login in logins if login.customer == order.customer.name)
    preview = Job.objects.filter(volume=volume, dry_run=True).latest("created_at")
    shown = urlencode({"from": _text(volume.created_at + BEGINNING), "to": _text(timezone.now())})
    report = f"/my/orders/{order.key}/report"
    staff = (
        Scene(
            f"/jobs/{preview.key}/",
            "A cache, previewed: its cost and the exact commands, before they run",
            "#steps",
        ),
        Scene(f"/jobs/{job.key}/", "The same commands, live, with their exit codes"),
        Scene(f"/volumes/{volume.key}/?{shown}", "Before and after, on one chart", "[data-charts]"),
    )
    own = f"/my/volumes/{volume.key}"
    rented = (
        Scene("/my/", "Your customer sees one word for each volume"),
        Scene(f"{own}/plan", "What each plan would change, and its price"),
        Scene(report, "Minutes after the order: what it brought, and how sure that is"),
    )
    with opened() as browser:
        take_stills(browser, url, admin, {"job": Still(f"/jobs/{job.key}/")}, FOLDERS[kind])
        take_stills(browser, url, customer, {"order": Still(report)}, FOLDERS[kind])
        frames = walk.kept(DRAFTS / "walk")
        for login, scenes in ((admin, staff), (customer, rented)):
            frames += walk.frames(browser, url, login, scenes)
        write(walk.walk(frames), FOLDERS[kind] / "walk.webp")


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"

"""The head of a volume's page and its tabs, each of which has an address of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from panel.staff.tabs import Tab
from panel.staff.volumes.action_menu import menu_of
from panel.staff.volumes.current_job_pages import shown_job, unfinished_job
from panel.staff.volumes.list_pages import chips_of
from panel.templatetags.chips import Chip
from storage.volumes.snapshot import VolumeSnapshot

WORK = ("job",)
"""What the page's URL may say of the job that it shows."""


def frame(request: HttpRequest, row: VolumeSnapshot, tab: str) -> dict[str, Any]:
    """What the head of each tab shows. The volume's job comes with the page, so that nothing moves
    when it is there; one that the URL names is loaded by its part, which handles a wrong name."""
    work_query = asked(request, WORK)
    work = {} if work_query else shown_job(unfinished_job(row.volume, request.user))
    return {
        "row": row,
        "volume": row.volume,
        "host": row.host,
        "chips": row_chips(row, is_summary=tab == "volume"),
        "menu": menu_of(row, request.user, timezone.now()),
        "tab": tab,
        "tabs": list(_tabs(row, tab)),
        "work_query": work_query,
        **work,
    }


def _tabs(row: VolumeSnapshot, tab: str) -> Iterator[Tab]:
    """Those that say anything of the volume, and the one that is open."""
    there = row.lv is not None
    is_on_ssd = row.wish is not None and row.wish.tier == "ssd"
    for name, title, is_offered in (
        ("volume", "Summary", True),
        ("volume-curve", "Forecast", there and not is_on_ssd),
        ("volume-comparison", "Before and after", not row.is_planned),
        ("volume-jobs", "Jobs", True),
        ("volume-history", "History", True),
        ("volume-details", "Details", True),
    ):
        if is_offered or name == tab:
            yield Tab(name, title, reverse(name, args=[row.volume.key]))


def row_chips(row: VolumeSnapshot, *, is_summary: bool) -> tuple[Chip, ...]:
    """What the list of volumes says of it too. The summary says itself whether it is slow."""
    is_slow = row.is_slow and not is_summary
    return chips_of(row.volume, row.placement, row.latest, is_slow=is_slow)


def asked(request: HttpRequest, names: tuple[str, ...]) -> str:
    """These of the page's parameters, for the URL of the part that understands them."""
    return urlencode({name: request.GET[name] for name in names if name in request.GET})

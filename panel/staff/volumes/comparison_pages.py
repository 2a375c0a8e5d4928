"""A volume before and after one of its jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.http.fragments import page_url
from panel.proofs.job_comparison import JobComparison, compare_job
from panel.staff.job_requests import row_of
from panel.staff.volumes.volume_frame import frame
from storage.access import staff_view

MOST_JOBS = 50
TAB: Final = "volume-comparison"
AROUND = 0.25
"""How much more than both windows the charts show, as a share of them."""
LENGTHS: Final = {
    "5m": ("5 min", timedelta(minutes=5)),
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "6h": ("6 h", timedelta(hours=6)),
}
DEFAULT_LENGTH: Final = "15m"
AFTERS: Final = {"right": "right after the job", "latest": "now"}
"""A cache is cold right after it came: what it gives in the end, the latest figures tell."""


@staff_view()
@require_safe
def volume_comparison(request: HttpRequest, key: str) -> HttpResponse:
    """A tab of its own, and a part of the summary whose charts show both times. `compare` is the
    key of a job of this volume, none for the choice alone; `length` one of `LENGTHS`, `after` one
    of `AFTERS`. The browser's URL follows."""
    row = row_of(request, key)
    volume = row.volume
    done = Job.objects.visible_to(request.user).filter(volume=volume, dry_run=False)
    length = request.GET.get("length", "")
    length = length if length in LENGTHS else DEFAULT_LENGTH
    after = request.GET.get("after", "")
    after = after if after in AFTERS else "right"
    chosen = None
    if job_key := request.GET.get("compare"):
        chosen = get_object_or_404(done.select_related("volume"), key=job_key)
    comparison = None
    if chosen is not None:
        around, is_latest = LENGTHS[length][1], after == "latest"
        comparison = compare_job(chosen, around, timezone.now(), latest=is_latest)
    context = {
        "volume": volume,
        "jobs": done[:MOST_JOBS],
        "chosen": chosen,
        "lengths": {name: label for name, (label, _) in LENGTHS.items()},
        "length": length,
        "afters": AFTERS,
        "after": after,
        "found": comparison,
        "show_query": _around(comparison) if comparison is not None else "",
    }
    if request.headers.get("HX-Request") != "true":
        context |= frame(request, row, TAB)
        return render(request, "staff/volumes/comparison.html", context)
    response = render(request, "staff/volumes/_comparison.html", context)
    if "chosen" in request.GET:
        values = (job_key, length, after) if job_key else ("", "", "")
        names = dict(zip(("compare", "length", "after"), values, strict=True))
        response["HX-Replace-Url"] = page_url(request, key, TAB, **names)
    return response


def _around(comparison: JobComparison) -> str:
    """The charts' time that shows both windows with some room."""
    start, end = comparison.ends.before[0], (comparison.ends.after or comparison.ends.before)[1]
    room = (end - start) * AROUND / 2
    ends = {"from": start - room, "to": end + room}
    return urlencode({name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in ends.items()})

"""A volume before and after one of its jobs: a part of the volume's page, and a page of its own."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.http.fragments import page_url
from panel.staff.volumes.comparison import AFTERS, DEFAULT_LENGTH, LENGTHS, Comparison, compare
from storage.access import staff_view
from storage.models import Volume

MOST = 50
AROUND = 0.25
"""How much more than both windows the charts show, as a share of them."""


@staff_view()
@require_safe
def volume_comparison(request: HttpRequest, key: str) -> HttpResponse:
    """`compare` is the key of a job of this volume, none for the choice alone; `length` one of
    `LENGTHS`, `after` one of `AFTERS`. The browser's URL follows."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    done = Job.objects.visible_to(request.user).filter(volume=volume, dry_run=False)
    length = request.GET.get("length", "")
    length = length if length in LENGTHS else DEFAULT_LENGTH
    after = request.GET.get("after", "")
    after = after if after in AFTERS else "right"
    chosen = None
    if asked := request.GET.get("compare"):
        chosen = get_object_or_404(done.select_related("volume"), key=asked)
    found = compare(chosen, length, latest=after == "latest") if chosen is not None else None
    context = {
        "volume": volume,
        "jobs": done[:MOST],
        "chosen": chosen,
        "lengths": {name: label for name, (label, _) in LENGTHS.items()},
        "length": length,
        "afters": AFTERS,
        "after": after,
        "found": found,
        "show_query": _around(found) if found is not None else "",
    }
    is_part = request.headers.get("HX-Request") == "true"
    name = "staff/volumes/_comparison.html" if is_part else "staff/volumes/comparison.html"
    response = render(request, name, context)
    if is_part and "chosen" in request.GET:
        said = (asked, length, after) if asked else ("", "", "")
        names = dict(zip(("compare", "length", "after"), said, strict=True))
        response["HX-Replace-Url"] = page_url(request, key, **names)
    return response


def _around(found: Comparison) -> str:
    """The charts' time that shows both windows with some room."""
    start, end = found.ends.before[0], (found.ends.after or found.ends.before)[1]
    room = (end - start) * AROUND / 2
    ends = {"from": start - room, "to": end + room}
    return urlencode({name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in ends.items()})

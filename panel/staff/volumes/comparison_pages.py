"""A volume before and after one of its jobs: a part of the volume's page, and a page of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.http.fragments import page_url
from storage.access import staff_view
from storage.metrics.compare import Compared, compared, is_enough
from storage.metrics.rates import FiguresWindow
from storage.metrics.samples.window import window
from storage.models import Volume

MOST = 50
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
    """`compare` is the key of a job of this volume, none for the choice alone; `length` one of
    `LENGTHS`, `after` one of `AFTERS`. The browser's URL follows."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    done = Job.objects.visible_to(request.user).filter(volume=volume, dry_run=False)
    length = request.GET.get("length", "")
    length = length if length in LENGTHS else DEFAULT_LENGTH
    after = request.GET.get("after", "")
    after = after if after in AFTERS else "right"
    chosen = None
    if job_key := request.GET.get("compare"):
        chosen = get_object_or_404(done.select_related("volume"), key=job_key)
    comparison = compare(chosen, length, latest=after == "latest") if chosen is not None else None
    context = {
        "volume": volume,
        "jobs": done[:MOST],
        "chosen": chosen,
        "lengths": {name: label for name, (label, _) in LENGTHS.items()},
        "length": length,
        "afters": AFTERS,
        "after": after,
        "found": comparison,
        "show_query": _around(comparison) if comparison is not None else "",
    }
    is_part = request.headers.get("HX-Request") == "true"
    name = "staff/volumes/_comparison.html" if is_part else "staff/volumes/comparison.html"
    response = render(request, name, context)
    if is_part and "chosen" in request.GET:
        values = (job_key, length, after) if job_key else ("", "", "")
        names = dict(zip(("compare", "length", "after"), values, strict=True))
        response["HX-Replace-Url"] = page_url(request, key, **names)
    return response


def _around(comparison: Comparison) -> str:
    """The charts' time that shows both windows with some room."""
    start, end = comparison.ends.before[0], (comparison.ends.after or comparison.ends.before)[1]
    room = (end - start) * AROUND / 2
    ends = {"from": start - room, "to": end + room}
    return urlencode({name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in ends.items()})


@dataclass(frozen=True, slots=True)
class Ends:
    """The two times; `after` is None while the job runs, or where nothing came after it yet."""

    before: tuple[datetime, datetime]
    after: tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`rows` is empty, and `lacks` says why, where a side has too few figures. `cut` says which
    other jobs made a side shorter, "" where none did."""

    ends: Ends
    before: FiguresWindow | None
    after: FiguresWindow | None
    rows: list[Compared]
    lacks: str
    cut: str


@dataclass(frozen=True, slots=True)
class JobsAround:
    """When the job before this one ended, and when the one after it began; None where there is
    none. They changed the volume too: no side of the comparison reaches over them."""

    ended: datetime | None = None
    began: datetime | None = None


def ends_of(
    began: datetime,
    ended: datetime | None,
    length: timedelta,
    now: datetime,
    *,
    latest: bool,
    others: JobsAround,
) -> Ends:
    """The `length` before the job began; and after it ended the same length, or the last such
    length; both cut at the neighbours, the second at `now` too."""
    before = (max(began - length, others.ended or began - length), began)
    if ended is None or ended >= now:
        return Ends(before, None)
    last = min(now, others.began or now)
    if latest:
        return Ends(before, (max(ended, last - length), last))
    return Ends(before, (ended, min(ended + length, last)))


def jobs_around(job: Job) -> JobsAround:
    """The jobs that changed the same volume just before and just after. Two queries."""
    others = Job.objects.filter(volume=job.volume, dry_run=False).exclude(pk=job.pk)
    worked = others.filter(step__op_id__isnull=False).distinct()
    began = job.started_at or job.created_at
    before = worked.filter(ended_at__lte=began).order_by("-ended_at").first()
    after = worked.filter(started_at__gte=job.ended_at or began).order_by("started_at").first()
    return JobsAround(
        ended=before.ended_at if before is not None else None,
        began=after.started_at if after is not None else None,
    )


def cut_of(ends: Ends, others: JobsAround) -> str:
    """Which side another job made shorter, in words."""
    is_before = others.ended is not None and ends.before[0] == others.ended
    is_after = others.began is not None and ends.after is not None and ends.after[1] == others.began
    if is_before and is_after:
        return "Both periods are shorter: other jobs changed the volume just before and after."
    if is_before:
        return "The period before is shorter: another job changed the volume just before."
    if is_after:
        return "The period after is shorter: another job changed the volume just after."
    return ""


def compare(job: Job, length: str, *, latest: bool) -> Comparison:
    """What the volume did before and after the job. `length` is a key of `LENGTHS`."""
    others = jobs_around(job)
    ends = ends_of(
        job.started_at or job.created_at,
        job.ended_at,
        LENGTHS[length][1],
        timezone.now(),
        latest=latest,
        others=others,
    )
    before, cut = _window(job, ends.before), cut_of(ends, others)
    after = _window(job, ends.after) if ends.after is not None else None
    if ends.after is None:
        lacks = "The job is still running, so there is no data after it yet."
    elif before is None or not is_enough(before):
        lacks = "There is not enough data from before the job."
        lacks += "" if cut else " Try a longer period."
    elif after is None or not is_enough(after):
        lacks = "There is not enough data from after the job."
        lacks += "" if cut else " Wait for the next samples."
    else:
        return Comparison(ends, before, after, compared(before, after), "", cut)
    return Comparison(ends, before, after, [], lacks, cut)


def _window(job: Job, ends: tuple[datetime, datetime]) -> FiguresWindow | None:
    """None for a time without length."""
    return window(job.its_volume, *ends) if ends[0] < ends[1] else None

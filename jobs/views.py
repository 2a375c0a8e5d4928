"""Pages that show jobs. What starts, applies or cancels one is in `jobs.verbs`."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jobs.decisions import no_way_back
from jobs.estimate import estimate
from jobs.models import Job, State
from storage.access import staff_view
from storage.changes import Change, changes
from storage.models import Volume
from storage.rows import VolumeRow, rows_of
from storage.wish import Wish

PAGE_ROWS = 50
LAST_JOBS = 5
TAIL_LINES = 500
"""How many lines a page starts with: the end matters, and a flush of hours writes thousands."""


@staff_view()
@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """Jobs, newest first, without previews unless asked for."""
    found = Job.objects.visible_to(request.user).with_names()
    previews = request.GET.get("previews") == "1"
    if not previews:
        found = found.filter(dry_run=False)
    page = Paginator(found, PAGE_ROWS).get_page(request.GET.get("page"))
    return render(request, "jobs/jobs.html", {"page": page, "previews": previews})


@staff_view()
@require_safe
def job(request: HttpRequest, key: str) -> HttpResponse:
    """One job, or one preview with the button that makes it real."""
    found = _job(request, key)
    last = found.line_set.order_by("-n").first()
    first_shown = max(0, last.n - TAIL_LINES) if last is not None else 0
    context = {**_status(found), "lines": found.lines_after(first_shown), "cut_lines": first_shown}
    context["after"] = last.n if last is not None else 0
    return render(request, "jobs/job.html", context)


@staff_view()
@require_safe
def status(request: HttpRequest, key: str) -> HttpResponse:
    """Sentence, steps and buttons: the element that renews itself until the job is over."""
    return render(request, "jobs/_status.html", _status(_job(request, key)))


@staff_view()
@require_safe
def lines(request: HttpRequest, key: str) -> HttpResponse:
    """Output after line `after`, then the element that asks for more; none when it is over."""
    found = _job(request, key)
    after = request.GET.get("after", "")
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    shown = list(found.lines_after(start)[:TAIL_LINES])
    context = {
        "job": found,
        "lines": shown,
        "after": shown[-1].n if shown else start,
        "more": len(shown) == TAIL_LINES,
    }
    return render(request, "jobs/_lines.html", context)


@staff_view()
@require_safe
def volume_jobs(request: HttpRequest, key: str) -> HttpResponse:
    """The last jobs of a volume: the fragment its page loads."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    found = Job.objects.visible_to(request.user).filter(volume=volume, dry_run=False)
    return render(request, "jobs/_volume_jobs.html", {"jobs": found[:LAST_JOBS]})


def _job(request: HttpRequest, key: str) -> Job:
    found = Job.objects.visible_to(request.user).with_names()
    return get_object_or_404(found, key=key)


def _status(job: Job) -> dict[str, object]:
    steps = list(job.step_set.all())
    row = rows_of([job.volume])[0] if job.dry_run else None
    return {
        "job": job,
        "steps": steps,
        "changes": _changes(job, row) if row is not None else (),
        "cost": estimate(row, steps) if row is not None and job.state == State.SUCCEEDED else None,
        # The sentence of these states quotes the error; twice on one page reads like two errors.
        "said_in_sentence": job.state in (State.FAILED, State.NEEDS_ATTENTION),
        "can_apply": job.dry_run and job.state == State.SUCCEEDED,
        "can_cancel": not job.is_over and not job.cancel_requested and not job.turned,
        "cancel_says": _cancel_says(job),
        "no_way_back": no_way_back(job),
    }


def _changes(job: Job, row: VolumeRow) -> tuple[Change, ...]:
    return changes(row.wish, Wish.from_json(job.wish))


def _cancel_says(job: Job) -> str:
    """What cancelling does to this job."""
    if job.state == State.NEEDS_ATTENTION:
        return "It ends as it is, without a look at the host: only where that is gone for good."
    if job.fallback is None:
        return "It stops before its next step; what is done stays done."
    return "It stops before its next step; what is done is undone."

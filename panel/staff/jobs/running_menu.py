"""The unfinished jobs, for the menu in the top bar of every page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, F, Func, IntegerField, Q, Value
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jobs.models import Job, State, Step, StepState
from storage.access import Person, is_staff, staff_view

MOST_JOBS = 8
FIRST = (State.NEEDS_ATTENTION, State.RUNNING, State.WAITING, State.QUEUED)
RANK = Func(
    Value([state.value for state in FIRST]),
    F("state"),
    function="array_position",
    output_field=IntegerField(),
)
UNDECIDED = Q(state=State.NEEDS_ATTENTION)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job and how far its step is (`Step.progress`); {} where none says."""

    job: Job
    progress: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Running:
    """`shown` are the first few, those that wait for a person before all others. `count` is the
    number of all, `undecided` of those that wait for a person."""

    shown: tuple[RunningJob, ...]
    count: int
    undecided: int


def running_of(user: Person) -> Running:
    """What is going on now, in two queries (a third where it is much)."""
    unfinished = Job.objects.visible_to(user).unfinished().filter(dry_run=False)
    first = list(unfinished.for_rows().order_by(RANK, "-id")[: MOST_JOBS + 1])
    progress = progress_of(first)
    shown = tuple(RunningJob(job, progress.get(job.pk, {})) for job in first[:MOST_JOBS])
    if len(first) <= MOST_JOBS:
        return Running(shown, len(first), sum(map(_is_undecided, first)))
    counts = unfinished.aggregate(all=Count("pk"), undecided=Count("pk", filter=UNDECIDED))
    return Running(shown, counts["all"], counts["undecided"])


def progress_of(jobs: Iterable[Job]) -> dict[int, Mapping[str, object]]:
    """Of the jobs with a running step how far that is. One query."""
    steps = Step.objects.filter(job__in=[job.pk for job in jobs], state=StepState.RUNNING)
    return dict(steps.order_by().values_list("job_id", "progress"))


def _is_undecided(job: Job) -> bool:
    return job.state == State.NEEDS_ATTENTION


def menu(request: HttpRequest) -> dict[str, Callable[[], Running | None]]:
    """Return `jobs_now`, which asks the database only where a template shows it; None for people
    who are not staff."""
    user = getattr(request, "user", AnonymousUser())
    return {"jobs_now": cache(lambda: running_of(user) if is_staff(user) else None)}


@staff_view()
@require_safe
def running(request: HttpRequest) -> HttpResponse:
    """The menu's content, which refreshes itself; opened as a page of its own, all jobs."""
    if request.headers.get("HX-Request") != "true":
        return redirect("jobs")
    return render(request, "staff/jobs/_running_menu.html")

"""The jobs of now, for the menu in the top bar of every page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, Prefetch, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs.models import Job, State, Step
from storage.access import Person, is_staff, staff_view

MOST = 8
FIRST = (State.NEEDS_ATTENTION, State.RUNNING, State.WAITING, State.QUEUED)
RANK = Case(
    *(When(state=state, then=Value(rank)) for rank, state in enumerate(FIRST)),
    default=Value(len(FIRST)),
)


@dataclass(frozen=True, slots=True)
class Running:
    """`jobs` are the first few, those that wait for a person before all others; each has the steps
    at work as `steps_now`. `count` is the number of all, `undecided` of those that wait for a
    person."""

    jobs: tuple[Job, ...]
    count: int
    undecided: int


def running_of(user: Person) -> Running:
    """What is going on now, in two queries (a third where it is much)."""
    now = Job.objects.visible_to(user).unfinished().filter(dry_run=False)
    at_work = Prefetch("step_set", Step.objects.filter(state="running"), to_attr="steps_now")
    ordered = now.told().order_by(RANK, "-id")
    shown = tuple(ordered.prefetch_related(at_work)[: MOST + 1])
    undecided = sum(job.state == State.NEEDS_ATTENTION for job in shown)
    if len(shown) <= MOST:
        return Running(shown, len(shown), undecided)
    waits = now.filter(state=State.NEEDS_ATTENTION).count()
    return Running(shown[:MOST], now.count(), waits)


def menu(request: HttpRequest) -> dict[str, Callable[[], Running | None]]:
    """Return `jobs_now`, which asks the database only where a template shows it; None for people
    who are not staff."""
    user = getattr(request, "user", AnonymousUser())
    return {"jobs_now": cache(lambda: running_of(user) if is_staff(user) else None)}


@staff_view()
@require_safe
def running(request: HttpRequest) -> HttpResponse:
    """The menu's inside, which renews itself."""
    return render(request, "panel/_running_menu.html")

"""Customers look at their volumes and at the changes they asked for."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.portal import words
from panel.portal.rows import changes_of, member_view, paid_for, row_of, volumes_of
from storage.rows import rows_of
from storage.series_views import chart_context

HISTORY_ROWS = 20


@require_safe
@member_view
def volumes(request: HttpRequest) -> HttpResponse:
    """Every volume of the person's customers, with what it does now and its plan."""
    found = list(volumes_of(request.user))
    running = {job.volume_id: job for job in changes_of(request.user).unfinished()}
    several = len({volume.customer_id for volume in found}) > 1
    rows = [(row, running.get(row.volume.pk)) for row in rows_of(found)]
    return render(request, "portal/volumes.html", {"rows": rows, "several_customers": several})


@require_safe
@member_view
def volume(request: HttpRequest, key: str) -> HttpResponse:
    """One volume: figures, charts, its plan, and the changes so far."""
    row = row_of(request, key)
    changes = changes_of(request.user).filter(volume=row.volume)
    context = {
        **chart_context(row.volume, request, plain=True),
        "row": row,
        "volume": row.volume,
        "paid": paid_for(request.user, row.volume),
        "running": changes.unfinished().first(),
        "history": _history(changes[:HISTORY_ROWS]),
    }
    return render(request, "portal/volume.html", context)


def _history(changes: Iterable[Job]) -> list[dict[str, object]]:
    return [
        {"job": job, "plan": words.plan_name(job), "outcome": words.outcome(job)} for job in changes
    ]


@require_safe
@member_view
def figures(request: HttpRequest, key: str) -> HttpResponse:
    """The latest figures alone: the element of the volume's page that renews itself."""
    row = row_of(request, key)
    return render(request, "portal/_figures.html", {"row": row, "volume": row.volume})


@require_safe
@member_view
def change(request: HttpRequest, key: str) -> HttpResponse:
    """One change of plan while it runs, and what became of it."""
    return render(request, "portal/change.html", _status(request, key))


@require_safe
@member_view
def change_status(request: HttpRequest, key: str) -> HttpResponse:
    """The part of that page that renews itself until the change is over."""
    return render(request, "portal/_change.html", _status(request, key))


def _status(request: HttpRequest, key: str) -> dict[str, object]:
    job = get_object_or_404(changes_of(request.user), key=key)
    steps = list(job.step_set.all())
    return {
        "job": job,
        "volume": job.volume,
        "plan": words.plan_name(job),
        "sentence": words.sentence(job, steps),
        "phases": words.phases(job, steps),
    }

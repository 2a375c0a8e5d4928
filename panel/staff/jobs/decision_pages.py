"""A person's decision about a job that needs attention."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from jobs.engine import decisions
from jobs.models import Job
from jobs.requester import Requester
from panel.staff.jobs.forms import ResolveForm
from panel.staff.volumes.actions import CONFLICT, requester_of, show_refusal
from storage.access import Right, staff_view
from storage.planner import Refused


@staff_view(Right.OPERATE)
@require_POST
def resume_job(request: HttpRequest, key: str) -> HttpResponse:
    """Let the job go on towards its wish."""
    return _decide(request, key, decisions.resume)


@staff_view(Right.OPERATE)
@require_POST
def roll_back_job(request: HttpRequest, key: str) -> HttpResponse:
    """Let the job go back to where it began."""
    return _decide(request, key, decisions.roll_back)


@staff_view(Right.OPERATE)
@require_POST
def resolve_job(request: HttpRequest, key: str) -> HttpResponse:
    """It is settled on the host: end the job, with the reason."""
    form = ResolveForm(request.POST)
    if not form.is_valid():
        found = get_object_or_404(Job.objects.visible_to(request.user), key=key)
        said = " ".join(str(error) for error in form.errors["why"])
        refusal = Refused("invalid", said, "Go back and correct the form.")
        return show_refusal(request, refusal, found.volume)

    def settle(job: Job, requester: Requester | None) -> None:
        decisions.resolve(job, requester, form.cleaned_data["why"])

    return _decide(request, key, settle)


def _decide(
    request: HttpRequest, key: str, decide: Callable[[Job, Requester | None], None]
) -> HttpResponse:
    found = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    try:
        decide(found, requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused, found.volume, CONFLICT)
    return redirect("job", found.key)

"""A person's actions on jobs: apply a preview, cancel, decide, raise the speed, pause all."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from jobs.engine import decisions, holds
from jobs.engine.flush_rate import raise_rate
from jobs.models import Job
from jobs.queue.job_windows import change_window
from jobs.queue.submit import PROVEN, cancel, confirm, right_to
from jobs.requester import Requester
from panel.http.fragments import to_job
from panel.staff.job_requests import (
    answer_with_job,
    requester_of,
    show_refusal,
)
from panel.staff.jobs.forms import (
    REASON_LIMIT,
    ConfirmForm,
    DailyWindowForm,
    ResolveForm,
    StopForm,
)
from storage.access import Right, may, require_proof, staff_view
from storage.planner import Refused


@staff_view(Right.OPERATE)
@require_POST
def apply_preview(request: HttpRequest, key: str) -> HttpResponse:
    """Make a preview real: a job with the very same wish, for the very same steps, now or later."""
    preview = get_object_or_404(
        Job.objects.visible_to(request.user).select_related("volume"), key=key, dry_run=True
    )
    _demand_for(request, preview)
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        refusal = Refused(
            "invalid", form.problem, "Go back and enter another time, or leave the field empty."
        )
        return show_refusal(request, refusal, preview.volume)
    not_before = form.cleaned_data["not_before"]
    return answer_with_job(
        request,
        preview.volume,
        lambda: confirm(preview, requester_of(request), not_before=not_before),
    )


@staff_view(Right.OPERATE)
@require_POST
def cancel_job(request: HttpRequest, key: str) -> HttpResponse:
    """Cancel a job, at once or before its next step; 409 past the point of no return."""
    job = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    try:
        cancel(job, requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused, job.volume, HTTPStatus.CONFLICT)
    return to_job(request, job)


@staff_view(Right.OPERATE)
@require_POST
def set_job_window(request: HttpRequest, key: str) -> HttpResponse:
    """Give a preview or a job that waits a daily window; without times it may begin now."""
    job = get_object_or_404(Job.objects.visible_to(request.user).select_related("volume"), key=key)
    _demand_for(request, job)
    form = DailyWindowForm(request.POST)
    if not form.is_valid():
        problem = " ".join(str(error) for errors in form.errors.values() for error in errors)
        refusal = Refused("invalid", problem, "Go back and correct the window.")
        return show_refusal(request, refusal, job.volume)
    try:
        change_window(job, form.window, requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused, job.volume, HTTPStatus.CONFLICT)
    return to_job(request, job)


@staff_view(Right.OPERATE)
@require_POST
def raise_flush_rate(request: HttpRequest, key: str) -> HttpResponse:
    """Raise the speed of a job's flush."""
    job = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    try:
        raise_rate(job, requester_of(request))
    except Refused as refused:
        messages.warning(request, f"{refused.message} {refused.correction}")
    return redirect("job", job.key)


@staff_view(Right.OPERATE)
@require_POST
def resume_job(request: HttpRequest, key: str) -> HttpResponse:
    """Resume the job towards its wish."""
    return _decide(request, key, decisions.resume)


@staff_view(Right.OPERATE)
@require_POST
def roll_back_job(request: HttpRequest, key: str) -> HttpResponse:
    """Roll the job back."""
    return _decide(request, key, decisions.roll_back)


@staff_view(Right.OPERATE)
@require_POST
def resolve_job(request: HttpRequest, key: str) -> HttpResponse:
    """A person settled it on the host: end the job, with the reason."""
    form = ResolveForm(request.POST)
    if not form.is_valid():
        rejected = get_object_or_404(Job.objects.visible_to(request.user), key=key)
        problem = " ".join(str(error) for error in form.errors["why"])
        refusal = Refused("invalid", problem, "Go back and correct the form.")
        return show_refusal(request, refusal, rejected.volume)

    def settle(job: Job, requester: Requester | None) -> None:
        decisions.resolve(job, requester, form.cleaned_data["why"])

    return _decide(request, key, settle)


def _demand_for(request: HttpRequest, job: Job) -> None:
    """Starting, resuming and rolling back need the right and the identity check of the kind."""
    if not may(request.user, right := right_to(job)):
        raise PermissionDenied(right)
    if job.kind in PROVEN:
        require_proof(request, reverse("job", args=[job.key]))


def _decide(
    request: HttpRequest, key: str, decide: Callable[[Job, Requester | None], None]
) -> HttpResponse:
    job = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    _demand_for(request, job)
    try:
        decide(job, requester_of(request))
    except Refused as refused:
        return show_refusal(request, refused, job.volume, HTTPStatus.CONFLICT)
    return redirect("job", job.key)


@staff_view(Right.ADMINISTER)
@require_POST
def stop_all(request: HttpRequest) -> HttpResponse:
    """The global stop: no step begins on any host."""
    form = StopForm(request.POST)
    holds.stop_all(request.user.pk, form.kept)
    messages.success(request, "All jobs are paused. Running steps finish; no new step starts.")
    if form.is_cut:
        warning = f"The reason was shortened to {REASON_LIMIT} characters of text."
        messages.warning(request, warning)
    return redirect("jobs")


@staff_view(Right.ADMINISTER)
@require_POST
def resume_all(request: HttpRequest) -> HttpResponse:
    """The end of the global stop."""
    holds.resume_all()
    messages.success(request, "All jobs resume.")
    return redirect("jobs")

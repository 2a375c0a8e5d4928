"""The job or the preview that a volume's page shows: a part of each of its tabs."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jobs.models import Job, State
from jobs.queue.cost_estimate import estimate
from panel.http.fragments import page_url
from panel.staff.jobs.headline import cost_sentence
from panel.staff.jobs.pages import wait_of
from storage.access import Person, staff_view
from storage.models import Volume
from storage.planner.wish import Wish
from storage.volumes.snapshot import snapshots_of
from storage.volumes.wish_diff import changes

CHANGED = json.dumps({"volumechanged": {"target": "body"}})
"""The event on which the parts of the page that show the volume refresh."""


@staff_view()
@require_safe
def current_job(request: HttpRequest, key: str) -> HttpResponse:
    """The job or preview named by `job` ("none": nothing), else the unfinished job of the volume.
    `running` says that it was unfinished when last seen: at its end the page is notified."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    visible = Job.objects.visible_to(request.user).filter(volume=volume).with_names()
    job_key = request.GET.get("job", "")
    if job_key == "none":
        job: Job | None = None
    elif job_key:
        job = get_object_or_404(visible, key=job_key)
    else:
        job = unfinished_job(volume, request.user)
    response = render(request, "staff/volumes/_work.html", {"volume": volume, **shown_job(job)})
    if job is not None and job.is_over and "running" in request.GET and not job.dry_run:
        response["HX-Trigger"] = CHANGED
    if "asked" in request.GET:
        response["HX-Replace-Url"] = page_url(request, key, job=job.key if job else "")
    return response


def shown_job(job: Job | None) -> dict[str, object]:
    if job is None:
        return {"job": None}
    steps = list(job.step_set.all())
    done = sum(step.state == "done" for step in steps)
    context: dict[str, object] = {"job": job, "steps": steps, "done_count": done}
    if job.state == State.QUEUED and (wait := wait_of(job, None)) and wait.what == "worker":
        context["wait"] = wait
    if job.dry_run and job.state == State.SUCCEEDED:
        row = snapshots_of([job.its_volume])[0]
        context["changes"] = changes(row.wish, Wish.from_json(job.wish))
        context["cost"] = cost = estimate(row, steps)
        context["cost_sentence"] = cost_sentence(cost) if cost is not None else ""
    return context


def unfinished_job(volume: Volume, user: Person) -> Job | None:
    """The one that holds the volume."""
    visible = Job.objects.visible_to(user).filter(volume=volume).with_names()
    return visible.filter(dry_run=False).unfinished().first()

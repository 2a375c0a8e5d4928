"""`?wait=N`: answer when the job is over, or after N seconds."""

from __future__ import annotations

import time

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import OVER, Job, State
from panel.api.nouns import job_json, job_url
from panel.api.resource import whole
from storage.access import Person

MAX_SECONDS = 30
SETTLED = (*OVER, State.NEEDS_ATTENTION)
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.1, 1.0


def seconds(request: Request) -> int:
    """How long the request wants to wait."""
    return whole(request, "wait", 0, 0, MAX_SECONDS)


def until_over(job: Job, within: int) -> None:
    """Look at the job until it is over or the time is; what needs a person is not waited for."""
    end = time.monotonic() + within
    pause = FIRST_POLL_SECONDS
    while job.state not in SETTLED and (left := end - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, LAST_POLL_SECONDS)
        job.state = Job.objects.values_list("state", flat=True).get(pk=job.pk)


def accepted(job: Job, user: Person) -> Response:
    """A job that a worker takes now."""
    job = Job.objects.with_names().get(pk=job.pk)
    body = job_json(job, user, steps=True)
    return Response(body, status=202, headers={"Location": job_url(job)})


def out(first: Response, user: Person, within: int) -> Response:
    """`first`, or what becomes of the job that it names within so many seconds."""
    if first.status_code != 202 or not within:
        return first
    final = answer(first.data["key"], user, within)
    if "Idempotency-Replayed" in first:
        final["Idempotency-Replayed"] = first["Idempotency-Replayed"]
    return final


def answer(key: str, user: Person, within: int) -> Response:
    """The job after the wait: 200 with its end, whatever that is, or 202 while it is not over."""
    job = Job.objects.get(key=key)
    until_over(job, within)
    job = Job.objects.with_names().get(pk=job.pk)
    status = 200 if job.state in OVER else 202
    return Response(
        job_json(job, user, steps=True), status=status, headers={"Location": job_url(job)}
    )

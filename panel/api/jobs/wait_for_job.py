"""`?wait=N`: answer when the job has ended, or after N seconds. A waiting request holds a thread of
web, so only a limited number may wait: others are answered at once, with the time to retry after.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Final

from rest_framework.response import Response

from jobs.models import OVER, Job, State
from panel.api.framework.parameters import Number
from panel.api.framework.rate_limits import ConcurrencyLimit
from panel.api.framework.refs import url_of
from panel.api.framework.resource import Resource
from panel.api.jobs.job_shape import job_json
from panel.configuration.gunicorn import threads
from storage.access import Person

MAX_SECONDS = 30
SETTLED = (*OVER, State.NEEDS_ATTENTION)
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.1, 1.0
AGAIN_SECONDS: Final = 5

WAIT: Final = Number(
    "wait",
    f"Answers when the job has ended, or after this many seconds (0 to {MAX_SECONDS}).",
    most=MAX_SECONDS,
)
PLACES = ConcurrencyLimit(most=threads // 3, most_of_one=2)
"""A third of the threads of a process wait at most, and two for one person, however many tokens
they have."""


def place_of(view: Resource) -> AbstractContextManager[bool]:
    """Takes a waiting place for the caller until the end of the block; False where none is left."""
    return PLACES.one(f"person {view.user.pk}")


def until_over(job: Job, view: Resource, within: int) -> dict[str, str]:
    """Poll the job until it ends, needs attention, or the time is up.
    Returns the headers of the answer: when to ask again, where there was no place to wait."""
    if job.state in SETTLED or not within:
        return {}
    with place_of(view) as has_place:
        if has_place:
            _watch(job, within)
    return {} if has_place else {"Retry-After": str(AGAIN_SECONDS)}


def _watch(job: Job, within: int) -> None:
    end = time.monotonic() + within
    pause = FIRST_POLL_SECONDS
    while job.state not in SETTLED and (remaining_seconds := end - time.monotonic()) > 0:
        time.sleep(min(pause, remaining_seconds))
        pause = min(pause * 1.5, LAST_POLL_SECONDS)
        job.state = Job.objects.values_list("state", flat=True).get(pk=job.pk)


def accepted(job: Job, user: Person) -> Response:
    """A job that a worker takes now."""
    job = Job.objects.with_names().get(pk=job.pk)
    body = job_json(job, user)
    return Response(body, status=202, headers={"Location": url_of(job)})


def out(first: Response, view: Resource, within: int) -> Response:
    """`first`, or the later state of the job that it names, after the given seconds at most."""
    if first.status_code != 202 or not within:
        return first
    final = answer_after_wait(first.data["key"], view, within)
    if "Idempotency-Replayed" in first:
        final["Idempotency-Replayed"] = first["Idempotency-Replayed"]
    return final


def answer_after_wait(key: str, view: Resource, within: int) -> Response:
    """The job after the wait: 200 with its end, whatever that is, or 202 while it is not over."""
    job = Job.objects.get(key=key)
    headers = until_over(job, view, within)
    job = Job.objects.with_names().get(pk=job.pk)
    return Response(
        job_json(job, view.user),
        status=200 if job.state in OVER else 202,
        headers={"Location": url_of(job), **headers},
    )

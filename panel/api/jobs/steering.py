"""What a person tells a job that exists: to end, to hurry, to go on or back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.requester import Requester
from panel.api.framework import idempotency, waiting
from panel.api.framework.problem import Problem
from panel.api.framework.resource import Resource
from panel.api.nouns import job_json, job_url
from storage.access import Right
from storage.planner import Refused


class Steering(Resource):
    """For operators, once for each `Idempotency-Key`."""

    parameters: ClassVar = {"POST": ("wait",)}
    takes_no_body = True

    def steered(
        self, request: Request, key: str, steer: Callable[[Job, Requester], object]
    ) -> Response:
        """The job once `steer` has told it: 200 where it is over, 202 where it goes on; 409 where
        that is refused."""
        found = job_of(self, key)
        self.demand(Right.OPERATE)
        within = waiting.seconds(request)

        def act() -> Response:
            try:
                steer(found, self.requester)
            except Refused as refused:
                raise Problem(409, refused.code, refused.message, refused.correction) from None
            now = job_of(self, key)
            return Response(
                job_json(now, self.user, steps=True),
                status=200 if now.is_over else 202,
                headers={"Location": job_url(now)},
            )

        return waiting.out(idempotency.once(request, self.user, act), self, within)


def job_of(view: Resource, key: str) -> Job:
    """The job of this key, where the view's person may see it."""
    found = Job.objects.visible_to(view.user).with_names()
    return get_object_or_404(found, key=key)

"""Shared base of the endpoints with which a person cancels, speeds up, resumes or decides about a
job."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.requester import Requester
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.request_bodies import Body
from panel.api.resource_json import job_json, job_url
from panel.api.response_shapes import JobShape
from storage.access import Right
from storage.planner import Refused

Post = TypeVar("Post", bound=Callable[..., Response])


def steering(
    operation_id: str,
    summary: str,
    *,
    over: str = "With `wait`: the job once it is over.",
    at_work: str,
    body: type[Body] | None = None,
) -> Callable[[Post], Post]:
    """The description of a POST that answers with a job: 200 with `over`, 202 with `at_work`."""
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        request=body,
        parameters=[described.WAIT, described.IDEMPOTENCY_KEY],
        responses={
            200: OpenApiResponse(JobShape, over),
            202: OpenApiResponse(JobShape, at_work),
            **described.problems(400, 403, 404, 409, 422),
        },
    )


class Steering(Resource):
    """For operators, once for each `Idempotency-Key`."""

    parameters: ClassVar = {"POST": ("wait",)}
    takes_no_body = True

    def steered(
        self, request: Request, key: str, steer: Callable[[Job, Requester], object]
    ) -> Response:
        """The job once `steer` has told it: 200 where it is over, 202 where it goes on; 409 where
        that is refused."""
        job = job_of(self, key)
        self.demand(Right.OPERATE)
        within = wait_for_job.seconds(request)

        def act() -> Response:
            try:
                steer(job, self.requester)
            except Refused as refused:
                raise ApiProblem(409, refused.code, refused.message, refused.correction) from None
            now = job_of(self, key)
            return Response(
                job_json(now, self.user, steps=True),
                status=200 if now.is_over else 202,
                headers={"Location": job_url(now)},
            )

        return wait_for_job.out(idempotent_requests.once(request, self.user, act), self, within)


def job_of(view: Resource, key: str) -> Job:
    """The job of this key, where the view's person may see it."""
    jobs = Job.objects.visible_to(view.user).with_names()
    return get_object_or_404(jobs, key=key)

"""What a person decides about a job that needs attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import decisions
from jobs.asker import Asker
from jobs.models import Job
from panel.api import bodies, described, idempotency, waiting
from panel.api.nouns import job_json, job_url
from panel.api.problem import Problem
from panel.api.resource import Resource
from panel.api.shapes import JobShape
from storage.access import Right
from storage.plan import Refused

ANSWERS = {
    200: OpenApiResponse(JobShape, "With `wait`: the job once it is over, or needs attention."),
    202: OpenApiResponse(JobShape, "A worker goes on with it."),
    **described.problems(400, 403, 404, 409, 422),
}
PARAMETERS = [described.WAIT, described.IDEMPOTENCY_KEY]
Post = TypeVar("Post", bound=Callable[..., Response])


def _decision(
    operation_id: str, summary: str, body: type[bodies.Body] | None = None
) -> Callable[[Post], Post]:
    """What all decisions have in common in the document of the API."""
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        request=body,
        parameters=PARAMETERS,
        responses=ANSWERS,
    )


class ResolveBody(bodies.Body):
    """What was done on the host."""

    why = serializers.CharField(max_length=decisions.WHY_LIMIT)


class _Decision(Resource):
    parameters: ClassVar = {"POST": ("wait",)}

    def decided(self, request: Request, key: str, decide: Callable[[Job, Asker], None]) -> Response:
        """The job handed to a worker; 409 where it does not wait for a decision."""
        found = self._job(key)
        self.demand(Right.OPERATE)
        within = waiting.seconds(request)

        def act() -> Response:
            try:
                decide(found, self.asker)
            except Refused as refused:
                raise Problem(409, refused.code, refused.message, refused.correction) from None
            return Response(
                job_json(self._job(key), self.user, steps=True),
                status=202,
                headers={"Location": job_url(found)},
            )

        answer = idempotency.once(request, self.user, act)
        if not within:
            return answer
        final = waiting.answer(found.key, self.user, within)
        if "Idempotency-Replayed" in answer:
            final["Idempotency-Replayed"] = answer["Idempotency-Replayed"]
        return final

    def _job(self, key: str) -> Job:
        return get_object_or_404(Job.objects.visible_to(self.user).with_names(), key=key)


class JobResume(_Decision):
    """Forward."""

    @_decision("job_resume", "Resume a job")
    def post(self, request: Request, key: str) -> Response:
        """Of a job that needs attention: read the host again and go on towards the wish."""
        return self.decided(request, key, decisions.resume)


class JobRollback(_Decision):
    """Back."""

    @_decision("job_rollback", "Roll a job back")
    def post(self, request: Request, key: str) -> Response:
        """Of a job that needs attention: read the host again and go back to where it began, unless
        the point of no return is passed."""
        return self.decided(request, key, decisions.roll_back)


class JobResolve(_Decision):
    """Settled by hand."""

    @_decision("job_resolve", "Mark a job as resolved", ResolveBody)
    def post(self, request: Request, key: str) -> Response:
        """Of a job that needs attention: read the host once more, then cancel the job."""
        why = bodies.read(request, ResolveBody)["why"]
        return self.decided(request, key, lambda job, asker: decisions.resolve(job, asker, why))

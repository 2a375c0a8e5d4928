"""What a person decides about a job that needs attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import decisions
from panel.api import bodies
from panel.api.framework import described
from panel.api.jobs.steering import Steering
from panel.api.shapes import JobShape

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


class JobResume(Steering):
    """Forward."""

    @_decision("job_resume", "Resume a job")
    def post(self, request: Request, key: str) -> Response:
        """Of a job that needs attention: read the host again and go on towards the wish."""
        return self.steered(request, key, decisions.resume)


class JobRollback(Steering):
    """Back."""

    @_decision("job_rollback", "Roll a job back")
    def post(self, request: Request, key: str) -> Response:
        """Of a job that needs attention: read the host again and go back to where it began, unless
        the point of no return is passed."""
        return self.steered(request, key, decisions.roll_back)


class JobResolve(Steering):
    """Settled by hand."""

    takes_no_body = False

    @_decision("job_resolve", "Mark a job as resolved", ResolveBody)
    def post(self, request: Request, key: str) -> Response:
        """Of a job that needs attention: read the host once more, then cancel the job."""
        why = bodies.read(request, ResolveBody)["why"]
        return self.steered(
            request, key, lambda job, requester: decisions.resolve(job, requester, why)
        )

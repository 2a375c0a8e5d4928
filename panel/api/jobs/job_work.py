"""Requests that create a job: the answer is the job, with `wait` after its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from rest_framework.response import Response

from jobs.models import Job
from panel.api.framework.api_operations import DRY_RUN, operation
from panel.api.framework.bodies import Body
from panel.api.framework.parameters import Parameter
from panel.api.framework.resource import Resource
from panel.api.jobs import wait_for_job
from panel.api.jobs.job_shape import JobShape
from panel.api.jobs.wait_for_job import WAIT

Method = TypeVar("Method", bound=Callable[..., Response])
ONCE_OVER: Final = "With `wait`: the job once it has ended."


class JobWork(Resource):
    """Whatever a job is to do."""

    needs_key = True

    @property
    def is_dry(self) -> bool:
        """Whether the request is for a preview only."""
        return bool(DRY_RUN.of(self.request))

    def begun(self, job: Job) -> Response:
        """The job, which a worker takes now."""
        return wait_for_job.accepted(job, self.user)

    def finished(self, answer: Response) -> Response:
        """The job, with `wait` after its end."""
        return wait_for_job.out(answer, self, WAIT.of(self.request))


def work(
    name: str,
    summary: str,
    at_work: str,
    *,
    over: str = ONCE_OVER,
    body: type[Body] | None = None,
    parameters: Sequence[Parameter] = (DRY_RUN, WAIT),
    problems: Sequence[int] = (409, 422),
) -> Callable[[Method], Method]:
    """An `operation` that answers with a job: 202 `at_work`, 200 once it is `over`."""
    return operation(
        name,
        summary,
        {200: (JobShape, over), 202: (JobShape, at_work)},
        body=body,
        parameters=parameters,
        problems=problems,
    )

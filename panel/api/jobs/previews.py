"""Previews: a dry run that is made real as it was read."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.queue.confirm import confirm, right_to
from panel.api.framework import described, idempotency, waiting
from panel.api.framework.resource import Resource
from panel.api.shapes import JobShape


class PreviewApply(Resource):
    """What a dry run said, done."""

    parameters: ClassVar = {"POST": ("wait",)}
    takes_no_body = True

    @extend_schema(
        operation_id="job_apply",
        summary="Make a dry run real",
        request=None,
        parameters=[described.WAIT, described.IDEMPOTENCY_KEY],
        responses={
            200: OpenApiResponse(JobShape, "With `wait`: the job once it is over."),
            202: OpenApiResponse(JobShape, "A job does what was previewed; Location names it."),
            **described.problems(400, 403, 404, 409, 422),
        },
    )
    def post(self, request: Request, key: str) -> Response:
        """A job with the same wish, for the same steps under the same names: where other steps
        would begin it by then, it fails as `stale` and changes nothing. For operators; destroying
        a volume is for admins."""
        preview = get_object_or_404(
            Job.objects.visible_to(self.user).select_related("volume"), key=key, dry_run=True
        )
        self.demand(right_to(preview))
        within = waiting.seconds(request)
        answer = idempotency.once(
            request,
            self.user,
            lambda: waiting.accepted(confirm(preview, self.requester), self.user),
        )
        return waiting.out(answer, self, within)

"""Jobs: list, steps and output; cancel, speed up, decide; carry out a dry run."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import decisions
from jobs.engine.flush_rate import raise_rate
from jobs.models import DESTROYING, Job, Kind, State
from jobs.queue.submit import cancel, confirm, right_to
from jobs.requester import Requester
from panel.api import request_bodies
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.api_lists import Listing
from panel.api.framework.fields import Text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import (
    Resource,
    bad_parameter,
    chosen_values,
    scopes_of_job,
    truth,
    whole,
)
from panel.api.framework.shape import show
from panel.api.request_bodies import Body
from panel.api.resource_json import job_json, job_url
from panel.api.response_shapes import JobShape, LinesShape
from panel.models import Scope
from storage.access import Right, is_staff
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
        parameters=[described.WAIT, described.REQUIRED_KEY],
        responses={
            200: OpenApiResponse(JobShape, over),
            202: OpenApiResponse(JobShape, at_work),
            **described.problems(400, 403, 404, 409, 422),
        },
    )


class Steering(Resource):
    """For operators, once for each `Idempotency-Key`. The scope goes by the kind of the job."""

    write_scope = Scope.VOLUMES
    other_scopes = (Scope.HOSTS, Scope.DESTROY)
    parameters: ClassVar = {"POST": ("wait",)}
    takes_no_body = True
    keeps_key = True

    def also_for(self, job: Job) -> tuple[str, ...]:
        """Scopes beside that of the job's kind: a token that changes volumes may also end one that
        destroys one."""
        return (Scope.VOLUMES,) if job.kind in DESTROYING else ()

    def steered(
        self,
        request: Request,
        key: str,
        steer: Callable[[Job, Requester], object],
        right_of: Callable[[Job], Right] = lambda job: Right.OPERATE,
    ) -> Response:
        """The job once `steer` has told it: 200 where it is over, 202 where it goes on; 409 where
        that is refused."""
        job = job_of(self, key)
        self.demand_scope(*scopes_of_job(job.kind), *self.also_for(job))
        self.demand(right_of(job))
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


LINES = 500
MOST_LINES = 2**31 - 1
DECIDED = "With `wait`: the job once it is over, or needs attention."
OF_STAFF = ("host", "dry_run")


class Jobs(Resource):
    """The jobs that the person may see."""

    read_scope = Scope.JOBS_READ
    listing: ClassVar = Listing(
        "jobs",
        JobShape,
        newest_first=True,
        sorts={"updated_at": "updated_at"},
        searched=("volume__label", "volume__external_id"),
        staff_searched=("host__name",),
        search_text="Part of the volume's label or external id, for staff also of the host's name.",
        updated="updated_at",
        by_keys=True,
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "state", "volume", "kind", *OF_STAFF)}
    repeatable: ClassVar = ("state", "kind")

    @extend_schema(
        operation_id="jobs_list",
        summary="List jobs",
        parameters=[
            *listing.described,
            described.choice("state", "State.", State.values),
            described.choice("kind", "What was asked for.", Kind.values),
            described.query("volume", "Key of a volume."),
            described.query("host", "Key or name of a host. Staff only."),
            OpenApiParameter(
                "dry_run",
                OpenApiTypes.BOOL,
                description="Lists dry runs instead of jobs. Staff only.",
            ),
        ],
        responses={200: listing.page_shape("JobPage"), **described.problems(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """Newest first, without steps."""
        rows = Job.objects.visible_to(self.user).with_names()
        jobs = self._filtered(request, rows).filter(dry_run=truth(request, "dry_run"))
        return self.listing.answer(
            request,
            jobs,
            lambda page: (job_json(job, self.user) for job in page),
            for_staff=is_staff(self.user),
        )

    def _filtered(self, request: Request, rows: QuerySet[Job]) -> QuerySet[Job]:
        for name in OF_STAFF:
            if name in request.query_params and not is_staff(self.user):
                known = [each for each in self.parameters["GET"] if each not in OF_STAFF]
                raise bad_parameter(name, "unknown", f"Known here: {', '.join(known)}.")
        if states := chosen_values(request, "state", State.values):
            rows = rows.filter(state__in=states)
        if kinds := chosen_values(request, "kind", Kind.values):
            rows = rows.filter(kind__in=kinds)
        if (volume := request.query_params.get("volume")) is not None:
            rows = rows.filter(volume__key=volume)
        if (host := request.query_params.get("host")) is not None:
            rows = rows.filter(Q(host__key=host) | Q(host__name=host))
        return rows


class OneJob(Resource):
    """One job, or one preview."""

    read_scope = Scope.JOBS_READ
    parameters: ClassVar = {"GET": ("wait",)}

    @extend_schema(
        operation_id="job",
        summary="Show a job",
        parameters=[described.WAIT],
        responses={200: JobShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Staff also see the steps and their commands."""
        job = job_of(self, key)
        headers = wait_for_job.until_over(job, self, wait_for_job.seconds(request))
        data = job_json(job_of(self, key), self.user, steps=True)
        return Response(data, headers=headers)


class JobLines(Resource):
    """What the commands of a job said."""

    read_scope = Scope.JOBS_READ
    staff_only = True
    parameters: ClassVar = {"GET": ("cursor", "after")}

    @extend_schema(
        operation_id="job_lines",
        summary="Output of a job",
        parameters=[
            described.query("cursor", "The next_cursor of the previous answer."),
            OpenApiParameter(
                "after",
                OpenApiTypes.INT,
                description="The same as `cursor`: only lines with a higher n.",
                deprecated=True,
            ),
        ],
        responses={200: LinesShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """At most 500 lines, oldest first; staff only."""
        # The state first: a job that is over by now writes no line after these.
        job = job_of(self, key)
        after = whole(request, "after", 0, 0, MOST_LINES)
        after = whole(request, "cursor", after, 0, MOST_LINES)
        lines = list(job.lines_after(after)[:LINES])
        data = {
            "lines": [{"n": line.n, "at": line.at, "text": line.text} for line in lines],
            "next_cursor": str(lines[-1].n if lines else after),
            "next_after": lines[-1].n if lines else after,
            "complete": job.is_over and len(lines) < LINES,
        }
        return Response(show(LinesShape, data))


class JobCancel(Steering):
    """The end of a job before its end."""

    @steering(
        "job_cancel",
        "Cancel a job",
        over="The job is over.",
        at_work="The job ends before its next step.",
    )
    def post(self, request: Request, key: str) -> Response:
        """The job ends at once or before its next step. Where it can, it first undoes what it has
        done. Refused (`turned`) after the point of no return."""
        return self.steered(request, key, cancel)


class JobPace(Steering):
    """A flush, zeroing or a move that shall be over sooner."""

    @steering(
        "job_pace",
        "Raise the speed of a flush, of zeroing or of a move",
        over="With `wait`: the job is over.",
        at_work="The job continues at the new speed.",
    )
    def post(self, request: Request, key: str) -> Response:
        """A running flush of an lvmcache moves four times as much at once; meanwhile the guest
        waits longer for its own reads and writes. For zeroing and moving, the p95 of the other
        volumes on the same disks may rise by the next of 50, 100, 200 and 500 percent. Refused if
        nothing of this kind runs (`no_flush`), or at the highest speed (`top_pace`)."""
        return self.steered(request, key, raise_rate)


class PreviewApply(Resource):
    """What a dry run said, done."""

    write_scope = Scope.VOLUMES
    other_scopes = (Scope.DESTROY, Scope.HOSTS)
    parameters: ClassVar = {"POST": ("wait",)}
    takes_no_body = True
    keeps_key = True

    @steering(
        "job_apply",
        "Make a dry run real",
        at_work="A job carries out the dry run. Location names the job.",
    )
    def post(self, request: Request, key: str) -> Response:
        """Starts a job with the wish of the dry run, for the same steps and names. If the steps
        would be different by then, the job fails as `stale` and changes nothing. For operators;
        only admins may destroy a volume."""
        preview = get_object_or_404(
            Job.objects.visible_to(self.user).select_related("volume"), key=key, dry_run=True
        )
        self.demand(right_to(preview))
        self.demand_scope_to(preview.kind)
        within = wait_for_job.seconds(request)
        answer = idempotent_requests.once(
            request,
            self.user,
            lambda: wait_for_job.accepted(self._confirmed(preview), self.user),
        )
        return wait_for_job.out(answer, self, within)

    def _confirmed(self, preview: Job) -> Job:
        try:
            return confirm(preview, self.requester)
        except Refused as refused:
            if refused.code == request_bodies.TAKEN and preview.volume is not None:
                raise request_bodies.taken(preview.volume) from None
            raise


class ResolveBody(request_bodies.Body):
    """What was done on the host."""

    why = Text(
        "What was done on the host, and why the job can end.", max_length=decisions.WHY_LIMIT
    )


class JobResume(Steering):
    """Forward."""

    def also_for(self, job: Job) -> tuple[str, ...]:
        return ()

    @steering(
        "job_resume",
        "Resume a job",
        over=DECIDED,
        at_work="A worker continues the job.",
    )
    def post(self, request: Request, key: str) -> Response:
        """For a job that needs attention: reads the host again and continues towards the wish. Who
        may begin a job of its kind may decide about it: only admins about one that destroys a
        volume or changes a host's disks. For a job that destroys a volume or gives up a cache, a
        token needs `volumes:destroy`."""
        return self.steered(request, key, decisions.resume, right_to)


class JobRollback(Steering):
    """Back."""

    @steering(
        "job_rollback",
        "Roll a job back",
        over=DECIDED,
        at_work="A worker continues the job.",
    )
    def post(self, request: Request, key: str) -> Response:
        """For a job that needs attention: reads the host again and restores the state before the
        job. Not possible after the point of no return."""
        return self.steered(request, key, decisions.roll_back, right_to)


class JobResolve(Steering):
    """Settled by hand."""

    takes_no_body = False

    @steering(
        "job_resolve",
        "Mark a job as resolved",
        over=DECIDED,
        at_work="A worker continues the job.",
        body=ResolveBody,
    )
    def post(self, request: Request, key: str) -> Response:
        """For a job that needs attention: reads the host once more, then cancels the job."""
        why = request_bodies.read(request, ResolveBody)["why"]
        return self.steered(
            request, key, lambda job, requester: decisions.resolve(job, requester, why), right_to
        )

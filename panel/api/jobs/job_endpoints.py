"""Jobs: list, steps and output; cancel, speed up, decide; carry out a dry run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, ClassVar, Final

from django.db.models import Q
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import decisions
from jobs.engine.flush_rate import raise_rate
from jobs.models import DESTROYING, Job, Kind, State
from jobs.queue.job_windows import change_window
from jobs.queue.submit import cancel, confirm, right_to
from jobs.requester import Requester
from panel.api.deprecations import Deprecation
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import TAKEN, Body, taken
from panel.api.framework.fields import Boolean, DateTime, Integer, Text
from panel.api.framework.parameters import Number, Parameter, SomeOf, Truth
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import url_of
from panel.api.framework.resource import Resource, scopes_of_job
from panel.api.framework.shape import Shape
from panel.api.jobs.job_shape import JobShape, job_json
from panel.api.jobs.job_work import JobWork, work
from panel.api.jobs.wait_for_job import WAIT, until_over
from panel.api.jobs.window_shapes import DailyWindowBody, window_of
from panel.models import Scope
from storage.access import Right
from storage.planner import Refused

LINES: Final = 500
DECIDED: Final = "With `wait`: the job once it has ended or needs attention."


class LineShape(Shape):
    """A line of output; `n` counts from 1 within the job."""

    n = Integer("Number of the line in its job, from 1.")
    at = DateTime("When it happened.")
    text = Text("The line of output.")


@extend_schema_serializer(deprecate_fields=["next_after"])
class LinesShape(Shape):
    """Ask again with `cursor` = `next_cursor` until `complete`."""

    lines = LineShape("In the order of their numbers.", many=True)
    next_cursor = Text("The `cursor` of the next request: number of the last line; never null.")
    next_after = Integer("The same as `next_cursor`, as a number.")
    complete = Boolean("True when no line can follow.")


class ResolveBody(Body):
    """What was done on the host."""

    why = Text(
        "What was done on the host, and why the job can end.", max_length=decisions.WHY_LIMIT
    )


class JobResource(Resource):
    """Of jobs."""

    read_scope = Scope.JOBS_READ

    def job(self, key: str) -> Job:
        """The job of this key, where the person may see it."""
        return get_object_or_404(Job.objects.visible_to(self.user).with_names(), key=key)


DRY_RUNS: Final = Truth(
    "dry_run",
    "Lists dry runs instead of jobs. Staff only.",
    is_boolean=True,
    staff=True,
)


class Jobs(JobResource):
    """The jobs that the person may see."""

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
        filters=(
            SomeOf("state", "State.", "state__in", values=State.values),
            Parameter("volume", "Key of a volume.", "volume__key"),
            SomeOf("kind", "Kind of job.", "kind__in", values=Kind.values),
            Parameter(
                "host",
                "Key or name of a host. Staff only.",
                lambda text: Q(host__key=text) | Q(host__name=text),
                staff=True,
            ),
            DRY_RUNS,
        ),
    )

    @operation("jobs_list", "List jobs", listing)
    def get(self, request: Request) -> Response:
        """Newest first, without steps."""
        rows = Job.objects.visible_to(self.user).with_names()
        return self.page(rows.filter(dry_run=bool(DRY_RUNS.of(request))))


class OneJob(JobResource):
    """One job, or one preview."""

    @operation("job", "Show a job", JobShape, parameters=(WAIT,))
    def get(self, request: Request, key: str) -> Response:
        """Staff also see the steps and their commands."""
        headers = until_over(self.job(key), self, WAIT.of(request))
        return Response(job_json(self.job(key), self.user), headers=headers)


class LinesAfter(Number):
    """The number of a line, which is a text like all cursors."""

    def described(self) -> Any:
        """As the description has it."""
        return Parameter(self.name, self.text).described()


CURSOR: Final = LinesAfter("cursor", "The next_cursor of the previous answer.")
AFTER: Final = Number(
    "after",
    "The same as `cursor`: only lines with a higher n.",
    deprecated=Deprecation("after", date(2026, 11, 26)),
)


class JobLines(JobResource):
    """What the commands of a job said."""

    staff_only = True

    @operation("job_lines", "Output of a job", LinesShape, parameters=(CURSOR, AFTER))
    def get(self, request: Request, key: str) -> Response:
        """At most 500 lines, oldest first; staff only."""
        # Read the state first: a job that has ended writes no further line.
        job = self.job(key)
        after = (CURSOR if CURSOR.name in request.query_params else AFTER).of(request)
        lines = list(job.lines_after(after)[:LINES])
        last = lines[-1].n if lines else after
        is_complete = job.is_over and len(lines) < LINES
        return self.shown(
            {
                "lines": lines,
                "next_cursor": str(last),
                "next_after": last,
                "complete": is_complete,
            }
        )


class Steering(JobWork, JobResource):
    """For operators, once for each `Idempotency-Key`. The scope goes by the kind of the job."""

    write_scope = Scope.VOLUMES
    other_scopes = (Scope.HOSTS, Scope.DESTROY)

    def also_for(self, job: Job) -> tuple[str, ...]:
        """Scopes in addition to that of the job's kind: a token that changes volumes may also
        cancel a job that destroys one."""
        return (Scope.VOLUMES,) if job.kind in DESTROYING else ()

    def steered(
        self,
        key: str,
        steer: Callable[[Job, Requester], object],
        right_of: Callable[[Job], Right] = lambda job: Right.OPERATE,
    ) -> Response:
        """The job after `steer`: 200 where it has ended, 202 where it continues; 409 where `steer`
        refuses."""
        job = self.job(key)
        self.demand_scope(*scopes_of_job(job.kind), *self.also_for(job))
        self.demand(right_of(job))
        try:
            steer(job, self.requester)
        except Refused as refused:
            raise ApiProblem(409, refused.code, refused.message, refused.correction) from None
        now = self.job(key)
        return Response(
            job_json(now, self.user),
            status=200 if now.is_over else 202,
            headers={"Location": url_of(now)},
        )


class JobCancel(Steering):
    """The end of a job before its end."""

    @work(
        "job_cancel",
        "Cancel a job",
        "The job ends before its next step.",
        over="The job has ended.",
        parameters=(WAIT,),
    )
    def post(self, request: Request, key: str) -> Response:
        """The job ends at once or before its next step. Where it can, it first undoes what it has
        done. Refused (`turned`) after the point of no return."""
        return self.steered(key, cancel)


class JobWindow(Steering):
    """The time of day in which a job begins."""

    def also_for(self, job: Job) -> tuple[str, ...]:
        return ()

    @operation(
        "job_window",
        "Set the window of a job or a dry run",
        {200: (JobShape, "A dry run, or a job that has ended."), 202: (JobShape, "The job waits.")},
        body=DailyWindowBody,
        problems=(409,),
    )
    def put(self, request: Request, key: str) -> Response:
        """A job that has not started waits until the window opens. A running flush pauses when the
        window closes and continues when it opens again. `POST /jobs/{key}/apply` keeps the window
        of a dry run."""
        window = window_of(self.read())
        return self.steered(
            key, lambda job, requester: change_window(job, window, requester), right_to
        )

    @operation(
        "job_window_end",
        "Start a job outside its window",
        {
            200: (JobShape, "A dry run, or a job that has ended."),
            202: (JobShape, "The job continues."),
        },
        problems=(409,),
    )
    def delete(self, request: Request, key: str) -> Response:
        """Removes the window: the job starts at once, and its flush does not pause."""
        return self.steered(
            key, lambda job, requester: change_window(job, None, requester), right_to
        )


class JobPace(Steering):
    """A flush, zeroing or a move that shall be over sooner."""

    @work(
        "job_pace",
        "Raise the speed of a flush, of zeroing or of a move",
        "The job continues at the new speed.",
        over="With `wait`: the job has ended.",
        parameters=(WAIT,),
    )
    def post(self, request: Request, key: str) -> Response:
        """A running flush of an lvmcache moves four times as much at once; meanwhile the guest
        waits longer for its own reads and writes. For zeroing and moving, the p95 of the other
        volumes on the same disks may rise by the next of 50, 100, 200 and 500 percent. Refused if
        nothing of this kind runs (`no_flush`), or at the highest speed (`top_pace`)."""
        return self.steered(key, raise_rate)


class PreviewApply(JobWork):
    """What a dry run said, done."""

    write_scope = Scope.VOLUMES
    other_scopes = (Scope.DESTROY, Scope.HOSTS)

    @work(
        "job_apply",
        "Apply a dry run",
        "A job carries out the dry run. Location names the job.",
        parameters=(WAIT,),
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
        try:
            return self.begun(confirm(preview, self.requester))
        except Refused as refused:
            if refused.code == TAKEN and preview.volume is not None:
                raise taken(preview.volume) from None
            raise


class JobResume(Steering):
    """Forward."""

    def also_for(self, job: Job) -> tuple[str, ...]:
        return ()

    @work(
        "job_resume",
        "Resume a job",
        "A worker continues the job.",
        over=DECIDED,
        parameters=(WAIT,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For a job that needs attention: reads the host again and continues towards the wish.
        Requires the role that may start such a job: admin for a job that destroys a volume or
        changes a host's disks. For a job that destroys a volume or gives up a cache, a token needs
        `volumes:destroy`."""
        return self.steered(key, decisions.resume, right_to)


class JobRollback(Steering):
    """Back."""

    @work(
        "job_rollback",
        "Roll a job back",
        "A worker continues the job.",
        over=DECIDED,
        parameters=(WAIT,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For a job that needs attention: reads the host again and restores the state before the
        job. Not possible after the point of no return."""
        return self.steered(key, decisions.roll_back, right_to)


class JobResolve(Steering):
    """Settled by hand."""

    @work(
        "job_resolve",
        "Mark a job as resolved",
        "A worker continues the job.",
        over=DECIDED,
        body=ResolveBody,
        parameters=(WAIT,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For a job that needs attention: reads the host once more, then cancels the job."""
        why = self.read()["why"]
        return self.steered(
            key, lambda job, requester: decisions.resolve(job, requester, why), right_to
        )

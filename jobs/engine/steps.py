"""The step and output rows of a running job. Record functions: each is one transaction that first
renews the lease, so that a runner that lost its job writes nothing more."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.db.models.functions import Now

from jobs import audit_trail
from jobs.engine import holds, vg_lock
from jobs.engine.finish import has_changed_host, is_irreversible, lasting_error
from jobs.engine.transitions import renew
from jobs.failpoints import durable
from jobs.models import Job, Line, Step, StepState
from jobs.transport.replies import OperationState, to_json
from storage.compiled_query import CompiledQuery
from storage.database_clock import database_now
from storage.planner import PlannedStep
from storage.planner.fingerprint import FLUSHES, OPTIONAL

LINES_LIMIT = 5000
TRIES = 3
STEPS_LIMIT = 50


def intend(job: Job, planned: PlannedStep) -> Step | None:
    """Commit the intent to run a step under a fresh operation id and the next fence of its volume
    group, before anything is sent.

    None where the job is to be cancelled: this is the boundary at which it may end. Raises `OnHold`
    where no step may begin now, and `VgLocked` while another job changes the volume group.
    """
    try:
        return _intend(job, planned)
    except IntegrityError as error:
        if vg_lock.CONSTRAINT not in str(error):
            raise
        vg_uuid, vg_name = planned.expect["vg_uuid"], str(planned.args.get("vg", ""))
        raise vg_lock.vg_locked(vg_uuid, vg_name) from None


@durable("intend")
def _intend(job: Job, planned: PlannedStep) -> Step | None:
    what = f"Rolling back: {planned.title}" if job.is_rolling_back else planned.title
    renew(job, explanation=what[:500], attempts=0, error=lasting_error(job))
    if not job.is_rolling_back and not job.is_irrevocable and is_cancelled(job):
        return None
    host = holds.read_host(job.host_id)
    has_begun = has_changed_host(job)
    now = holds.check_not_held(host, begun=has_begun)
    if (
        not job.is_rolling_back
        and not job.is_irrevocable
        and (not has_begun or planned.verb in FLUSHES)
    ):
        holds.check_window(job, now)
    if planned.makes_irrevocable and not job.is_rolling_back:
        renew(job, is_irrevocable=True)
    # A requeued step is the last: nothing follows it before it has run.
    step = None if job.is_without_steps else job.step_set.order_by("-n").first()
    job.is_without_steps = False
    if step is None or step.state != StepState.PLANNED:
        step = Step(job=job, n=step.n + 1 if step is not None else 1)
    step.verb, step.args, step.expect = planned.verb, planned.args, planned.expect
    step.title, step.op_id, step.state = planned.title[:300], uuid.uuid4(), StepState.RUNNING
    step.commands, step.progress, step.error, step.output_seen = [], {}, {}, 0
    step.vg_uuid = str(planned.expect.get("vg_uuid", ""))
    step.makes_irrevocable = planned.makes_irrevocable
    step.holds_vg = planned.holds_vg and bool(step.vg_uuid)
    step.fence = vg_lock.next_fence(step.vg_uuid) if step.vg_uuid else None
    step.started_at, step.ended_at = step.started_at or now, None
    step.save()
    audit_trail.intent(job, step)
    return step


_CANCEL_REQUESTED = CompiledQuery(
    Job, lambda job_id: Job.objects.filter(pk=job_id).only("cancel_requested")
)


def is_cancelled(job: Job) -> bool:
    """Whether a person has cancelled the job meanwhile."""
    return _CANCEL_REQUESTED.get(job.pk).cancel_requested


@durable("follow")
def follow(job: Job, step: Step, outcome: OperationState) -> None:
    """Store the result of a poll: new output, commands, progress, and the end."""
    is_done = outcome.state == "done"
    renew(job, attempts=0, error=lasting_error(job), **({"claims": 0} if is_done else {}))
    fresh = [line for line in outcome.lines if line.n > step.output_seen]
    if fresh:
        step.output_seen = max(line.n for line in fresh)
        add_lines(job, [line.text for line in fresh])
    changes: dict[str, Any] = {
        "output_seen": step.output_seen,
        "commands": to_json(outcome.commands),
        "progress": msgspec.to_builtins(outcome.progress) if outcome.progress else {},
    }
    if is_done:
        changes |= {"state": StepState.DONE, "error": {}, "ended_at": Now()}
    Step.objects.filter(pk=step.pk).update(**changes)
    step.refresh_from_db()
    if is_done:
        audit_trail.outcome(job, step)
        _unlock_vg(step)


@durable("fail")
def fail(job: Job, step: Step, error: dict[str, Any]) -> None:
    """The step ended badly, or never began; its stderr joins the output."""
    renew(job)
    add_lines(job, str(error.get("stderr") or "").splitlines())
    Step.objects.filter(pk=step.pk).update(state=StepState.FAILED, error=error, ended_at=Now())
    step.refresh_from_db()
    audit_trail.outcome(job, step, error)
    _clear_point_of_no_return(job)
    _unlock_vg(step)


@durable("requeue_step")
def requeue_step(job: Job, step: Step, error: dict[str, Any]) -> datetime:
    """Requeue a step that did nothing because something else held the host's volume group. Returns
    since when that has been so."""
    renew(job)
    audit_trail.outcome(job, step, error)
    step.state, step.op_id, step.error = StepState.PLANNED, None, error
    since = step.blocked_since if step.blocked_by == error["code"] else None
    step.blocked_by, step.blocked_since = error["code"], since or database_now()
    step.save(update_fields=["state", "op_id", "error", "blocked_by", "blocked_since"])
    _clear_point_of_no_return(job)
    return step.blocked_since


def _clear_point_of_no_return(job: Job) -> None:
    """An irrevocable step had no effect: unless another one had, the job can be cancelled again.
    The job's row is locked since the lease was renewed, so a person cancels before all this or sees
    it, and the next intent sees the cancellation."""
    if job.is_irrevocable and not is_irreversible(job):
        renew(job, is_irrevocable=False)


def _unlock_vg(step: Step) -> None:
    """Not for a requeued step: something else holds the group, and two jobs would keep waking each
    other."""
    if step.holds_vg:
        # Afterwards: no transaction of one job waits for another job's row.
        transaction.on_commit(partial(vg_lock.wake_next, step.vg_uuid), robust=True)


@transaction.atomic
def mark_asked_to_stop(job: Job, step: Step, error: dict[str, Any]) -> None:
    """Record that the host was asked once to stop a running step; `error` is its answer."""
    renew(job)
    step.error = error
    step.save(update_fields=["error"])


@durable("note")
def note(job: Job, text: str) -> None:
    """Add a line of the panel to the output."""
    renew(job)
    add_lines(job, [text])


def add_lines(job: Job, texts: list[str]) -> None:
    """Append output, up to the cap; the first line beyond it says so."""
    last = job.line_set.aggregate(n=Max("n"))["n"] or 0
    room = LINES_LIMIT - last
    if room < len(texts) and room > 0:
        shown = texts[: room - 1]
        texts = [*shown, "Further output is only on the host, in /var/lib/tiercel/ops."]
    Line.objects.bulk_create(
        Line(job=job, n=n, text=text) for n, text in enumerate(texts[: max(0, room)], last + 1)
    )


def without_tried(job: Job, planned: tuple[PlannedStep, ...]) -> tuple[PlannedStep, ...]:
    """The remaining steps of a plan: a job tries optional steps once."""
    if job.is_without_steps or not any(step.verb in OPTIONAL for step in planned):
        return planned
    over = (StepState.DONE, StepState.FAILED)
    tried = set(job.step_set.filter(state__in=over).values_list("verb", flat=True))
    return tuple(step for step in planned if step.verb not in OPTIONAL & tried)


def exhausted(job: Job, planned: PlannedStep) -> dict[str, Any] | None:
    """Why this step must not be tried again, as a job's error; None while it may be."""
    # Resuming a job resets the count.
    if job.is_without_steps:
        return None
    since = job.started_at
    if job.window is not None and since is not None:
        # Count per window: a flush that is stopped when the window closes has not failed.
        since = max(since, job.window.last_opening(database_now()))
    tried = list(job.step_set.filter(started_at__gte=since).order_by("n"))
    args = json.loads(json.dumps(planned.args))
    same = [step for step in tried if (step.verb, step.args) == (planned.verb, args)]
    failed = [step for step in same if step.state == StepState.FAILED]
    done = [step for step in same if step.state == StepState.DONE]
    limit = STEPS_LIMIT * (2 if job.is_rolling_back else 1)
    if len(failed) >= TRIES:
        return dict(failed[-1].error)
    if len(done) >= TRIES or len(tried) >= limit:
        return {
            "code": "no_progress",
            "message": (
                f"“{planned.title}” ended without an error, but the host does not show the change."
            ),
            "correction": (
                "Check the commands and the output of this job. Another program on the host may "
                "undo them."
            ),
        }
    return None

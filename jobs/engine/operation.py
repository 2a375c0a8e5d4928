"""One operation on the host: sent once, then polled by its id until it is over."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

from jobs import failpoints
from jobs.engine import flush_rest, steps, vg_lock
from jobs.engine.finish import (
    PASSING,
    REST_SECONDS,
    TRIES,
    has_changed_host,
    lasting_error,
    pause_job,
    refusal_json,
    wait_for_contact,
)
from jobs.engine.flush_rate import apply_rate
from jobs.engine.rollback import need_attention, rollback_or_fail
from jobs.engine.transitions import renew_if_due
from jobs.hosts import contact, panel_identity
from jobs.models import Job, Step, StepState
from jobs.transport.errors import BadReply, TransportError
from jobs.transport.replies import decode_operation, has_changed
from storage.database_clock import database_now
from storage.host_data import BadHostData
from storage.planner.fingerprint import OPTIONAL

POLL_SECONDS = (0.2, 1.0)

WORTH_A_NEW_PLAN = frozenset(
    {
        "aborted",
        "already_exists",
        "cmd_failed",
        "dirty",
        "internal",
        "interrupted",
        "not_found",
        "not_started",
        "op_conflict",
        "stale",
        "timeout",
    }
)
"""Agent errors after which fresh facts may give another plan, or the same one may succeed."""

GUEST_BUSY = "guest_busy"
PASSES_BY = {
    "busy": timedelta(hours=1),
    GUEST_BUSY: timedelta(hours=12),
    "occupied": timedelta(hours=12),
    "stuck": timedelta(hours=1),
    "stale_fence": timedelta(minutes=1),
}
"""Nothing was run: something else holds the volume group, a disk does not answer, another step had
a later fence, a terminal or a snapshot uses the volume, or its guest is being backed up or moved.
How long a step waits for that to pass, from the host's first report."""

REST_BETWEEN = {"occupied": 60, GUEST_BUSY: 60}
"""Seconds between two checks of what takes hours; `REST_SECONDS` for the rest."""


def send(job: Job, step: Step) -> bool:
    """Send an intended step; False where the job was released. A lost connection proves nothing:
    the host may have the request, and is asked for the operation next."""
    try:
        failpoints.reach("send.before")
        reply = contact.ask(
            job.host,
            step.verb,
            step.args,
            step.expect,
            request_id=str(step.op_id),
            fence=step.fence,
            panel=panel_identity.named_to(job.host),
        )
        failpoints.reach("send.after")
    except TransportError as error:
        steps.note(job, f"{error.message}. Asking for operation {step.op_id}.")
        return True
    if reply.error is None:
        return True
    if reply.error.code in PASSES_BY:
        return _wait_for_blocker(job, step, reply.error.to_json())
    steps.fail(job, step, reply.error.to_json())
    return may_go_on(job, step)


def watch(job: Job, step: Step, hold_seconds: float) -> bool:
    """Follow a sent step for up to `hold_seconds`; True once it has ended and the job continues,
    False where the job was released."""
    deadline = time.monotonic() + hold_seconds
    pause, failures = POLL_SECONDS[0], 0
    while True:
        renew_if_due(job)
        try:
            poll(job, step)
            if step.state == StepState.RUNNING:
                _stop_if_cancelled(job, step)
                apply_rate(job, step)
                flush_rest.stop_at_closing(job, step)
        except TransportError as error:
            failures += 1
            if failures >= TRIES or not isinstance(error, PASSING):
                wait_for_contact(job, error)
                return False
            time.sleep(2**failures * POLL_SECONDS[0])
            continue
        if step.state != StepState.RUNNING:
            return step.state == StepState.DONE or may_go_on(job, step)
        if time.monotonic() >= deadline:
            pause_job(job, REST_SECONDS, step.title)
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, POLL_SECONDS[1])


def may_go_on(job: Job, step: Step) -> bool:
    """After a failed step: plan again, wait, or end the job with the agent's error."""
    code = step.error.get("code")
    if code in PASSES_BY:
        # A half-done step must stay on record; it counts as an attempt.
        # Notifying a guest twice is harmless.
        if code == GUEST_BUSY or not has_changed(step.commands):
            return _wait_for_blocker(job, step, step.error)
        pause_job(job, _rest(step.error), str(step.error["message"]))
        return False
    is_passed_over = code in WORTH_A_NEW_PLAN or step.verb in OPTIONAL
    return is_passed_over or rollback_or_fail(job, step.error)


def poll(job: Job, step: Step) -> None:
    """Ask once for the state of an operation; raises `TransportError` where it stays unknown."""
    args = {"op": str(step.op_id), "after": step.output_seen}
    failpoints.reach("poll.before")
    reply = contact.ask(job.host, "op.get", args)
    failpoints.reach("poll.after")
    if reply.error is not None:
        if reply.error.code != "not_found":
            raise BadReply(job.host.name, f"{reply.error.code}: {reply.error.message}")
        steps.fail(
            job,
            step,
            {
                "code": "not_started",
                "message": f"The request for “{step.title}” did not reach the host.",
                "correction": "Check the network between panel and host.",
            },
        )
        return
    try:
        outcome = decode_operation(reply.data)
    except BadHostData as error:
        raise BadReply(job.host.name, str(error)) from None
    steps.follow(job, step, outcome)
    if outcome.state in ("failed", "interrupted"):
        interrupted = {
            "code": "interrupted",
            "message": f"“{step.title}” was interrupted on the host.",
            "correction": "Request the change again. The new job starts from the current state.",
        }
        steps.fail(job, step, outcome.error.to_json() if outcome.error else interrupted)


def _wait_for_blocker(job: Job, step: Step, error: dict[str, Any]) -> bool:
    """Nothing was run: wait for the blocker to pass, without counting attempts. A fence that this
    database never issued is another panel's: the step fails at once."""
    if error["code"] == "stale_fence" and _is_fence_unknown(job, step):
        refused = vg_lock.unknown_fence(str(step.args.get("vg", "")))
        unknown_fence = refusal_json(refused)
        steps.fail(job, step, unknown_fence)
        return rollback_or_fail(job, unknown_fence)
    since = steps.requeue_step(job, step, error)
    # Time before a person resumed the job does not count.
    begun = max(since, job.started_at or since)
    code = str(error["code"])
    if database_now() - begun > PASSES_BY[code]:
        if code == GUEST_BUSY and has_changed_host(job):
            # The volume has grown, and cannot shrink again.
            need_attention(job, error)
            return False
        return rollback_or_fail(job, error)
    pause_job(job, _rest(error), str(error["message"]))
    return False


def _rest(error: dict[str, Any]) -> int:
    return REST_BETWEEN.get(str(error["code"]), REST_SECONDS)


def wait_without_plan(job: Job, error: dict[str, Any]) -> bool:
    """There is no plan while something else uses the volume: wait as long as a step would. False
    where the job was released, True where it rolls back."""
    patience = PASSES_BY[str(error["code"])]
    now = database_now()
    since = _since(job, str(error["code"])) or now
    if now - since > patience or (not job.is_rolling_back and steps.is_cancelled(job)):
        return rollback_or_fail(job, error)
    error_kept = lasting_error(job) or error
    waiting = {"waits_for": error["code"], "waits_since": since.isoformat()}
    pause_job(job, _rest(error), str(error["message"]), error=error_kept | waiting)
    return False


def _since(job: Job, code: str) -> datetime | None:
    """Since when the job has waited without a plan because of `code`, not counting the time before
    a person resumed it."""
    if job.error.get("waits_for") != code:
        return None
    since = datetime.fromisoformat(str(job.error["waits_since"]))
    return max(since, job.started_at) if job.started_at is not None else since


def _is_fence_unknown(job: Job, step: Step) -> bool:
    try:
        hello = contact.ask(job.host, "hello")
    except TransportError:
        # The next refusal asks again; the error is on the host's record.
        return False
    seen = panel_identity.fences_of(hello.data).get(step.vg_uuid, 0)
    return panel_identity.note_ahead(step.vg_uuid, seen)


def _stop_if_cancelled(job: Job, step: Step) -> None:
    """Ask the host once to stop a long step of a cancelled job. The host knows which verbs can be
    stopped, and its refusal is shown with the step."""
    if step.error or job.is_rolling_back or job.is_irrevocable or not steps.is_cancelled(job):
        return
    panel = panel_identity.named_to(job.host)
    reply = contact.ask(job.host, "op.abort", {"op": str(step.op_id)}, panel=panel)
    stopping = {
        "code": "stopping",
        "message": "The host was asked to stop this step.",
        "correction": "",
    }
    steps.mark_asked_to_stop(job, step, reply.error.to_json() if reply.error else stopping)

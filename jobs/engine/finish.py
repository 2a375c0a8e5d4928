"""How a worker releases a job: paused, failed, finished, or needing attention."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from jobs.engine.transitions import LostLease, transition
from jobs.models import Job, State, Step, StepState
from jobs.transport.errors import AnswerTimeout, BadReply, TransportError, Unreachable
from jobs.transport.replies import has_begun
from storage.database_clock import database_now
from storage.planner import Refused
from storage.planner.fingerprint import FLUSHES

TRIES = 3
REST_SECONDS = 2
LONGEST_BACKOFF_SECONDS = 300
PATIENCE_TRIES = 24
"""With the longest back-off about an hour and a half."""

SETTINGS = frozenset({"cache.set", "bcache.set"})
"""Verbs that reset the settings of a stopped flush."""

PASSING = (Unreachable, AnswerTimeout, BadReply)
"""Errors that may pass without action; the others need a person."""


def has_changed_host(job: Job) -> bool:
    """Whether the job may have changed anything on the host: a step succeeded, is running, or
    failed after the host had begun one of its commands."""
    return not job.is_without_steps and _any_begun(job.step_set.all())


def is_irreversible(job: Job) -> bool:
    """Whether such a step of the job is irrevocable."""
    return not job.is_without_steps and _any_begun(job.step_set.filter(makes_irrevocable=True))


def _any_begun(steps: QuerySet[Step]) -> bool:
    begun_steps = steps.exclude(state=StepState.PLANNED).values_list("state", "commands")
    return any(state != StepState.FAILED or has_begun(commands) for state, commands in begun_steps)


def finish_job(job: Job, to: State, **fields: Any) -> None:
    """Leave `running`; raises `LostLease` where this process no longer holds the job. The worker
    does not read the job again."""
    if not transition(job, State.RUNNING, to, reads_again=False, **fields):
        raise LostLease(f"job {job.key}")


def fail_job(job: Job, error: dict[str, Any]) -> None:
    finish_job(job, State.FAILED, error=error)


def refuse_job(job: Job, refused: Refused) -> None:
    """Fail with the reason why there is no safe plan."""
    fail_job(job, refusal_json(refused))


def refusal_json(refused: Refused) -> dict[str, str]:
    """A refusal as `Job.error` and `Step.error` keep it."""
    return {"code": refused.code, "message": refused.message, "correction": refused.correction}


def pause_job(job: Job, seconds: int, explanation: str, **fields: Any) -> None:
    """Continue in `seconds`, without a worker until then."""
    fields = {"not_before": Now() + timedelta(seconds=seconds), "claims": 0} | fields
    finish_job(job, State.WAITING, explanation=explanation[:500], **fields)


def lasting_error(job: Job) -> dict[str, Any]:
    """The part of the error that outlives the next step: why it rolls back, who resolved it."""
    return job.error if job.is_rolling_back or "resolve" in job.error else {}


def wait_for_contact(job: Job, error: TransportError) -> None:
    """The host did not answer. If nothing has begun, the job fails after a few attempts and nothing
    has changed. Once work has begun, the volume stays locked, and the host is asked until it
    answers or, after a long time, until a person decides. A job with a window tries as long as that
    is open and, if it has not begun, again in the next one."""
    attempts = job.attempts + 1
    lasting = lasting_error(job)
    if isinstance(error, PASSING) and _has_next_window(job):
        _wait_in_windows(job, error, attempts)
        return
    if not has_changed_host(job) and (attempts >= TRIES or not isinstance(error, PASSING)):
        fail_job(job, error.to_json())
    elif attempts >= PATIENCE_TRIES:
        unknown = (
            "Work had begun, and how far it came is unknown. Bring the host back and look at it "
            "before you cancel this job, which frees the volume."
        )
        finish_job(
            job,
            State.NEEDS_ATTENTION,
            attempts=attempts,
            error=lasting | error.to_json() | {"correction": f"{error.correction} {unknown}"},
        )
    else:
        pause_job(
            job,
            _backoff(attempts),
            error.message,
            attempts=attempts,
            error=lasting or error.to_json(),
        )


def _backoff(attempts: int) -> int:
    return int(min(REST_SECONDS * 2.0 ** min(attempts - 1, 20), LONGEST_BACKOFF_SECONDS))


def _has_next_window(job: Job) -> bool:
    """Whether the job has a window and loses nothing if it waits for the next one: it has not
    begun, or its flush rests."""
    if job.window is None or job.is_rolling_back or job.is_irrevocable:
        return False
    if not has_changed_host(job):
        return True
    last = job.step_set.order_by("n").last()
    return last is not None and last.verb in FLUSHES | SETTINGS and last.state != StepState.RUNNING


def _wait_in_windows(job: Job, error: TransportError, attempts: int) -> None:
    now = database_now()
    opening = job.window.next_opening(now) if job.window is not None else None
    if opening is None or has_changed_host(job):
        # The settings of a stopped flush are still to be reset.
        pause_job(job, _backoff(attempts), error.message, attempts=attempts, error=error.to_json())
    else:
        seconds = int((opening - now).total_seconds()) + 1
        pause_job(job, seconds, error.message, attempts=0, error=error.to_json())

"""A person's decision about a job that needs attention. Each decision returns the job to a worker,
which first reads the host again."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from jobs import notify_workers
from jobs.engine import operation, steps
from jobs.engine.finish import finish_job
from jobs.engine.rollback import can_roll_back
from jobs.engine.transitions import renew, transition
from jobs.hosts.read_inventory import read_facts
from jobs.models import Job, State, StepState
from jobs.requester import UNKNOWN_REQUESTER, Requester, requester_fields
from jobs.transport.errors import TransportError
from storage.planner import Refused

WHY_LIMIT = 200


def resume(job: Job, requester: Requester | None) -> None:
    """Continue towards the wish, and count attempts anew; raises `Refused`."""
    _requeue(job, requester, f"resumed by {_name(requester)}", is_rolling_back=False, error={})


def roll_back(job: Job, requester: Requester | None) -> None:
    """Return to the state in which the job began; raises `Refused` where that is impossible."""
    if (reason := no_way_back(job)) is not None:
        raise reason
    last = job.step_set.order_by("-n").values_list("n", flat=True).first()
    error = _plain(job.error) | {"after_step": last or 0}
    _requeue(
        job, requester, f"rolled back by {_name(requester)}", is_rolling_back=True, error=error
    )


def resolve(job: Job, requester: Requester | None, why: str) -> None:
    """A person has fixed the problem on the host: a worker reads the host once more and cancels the
    job with the person and the reason. Raises `Refused`."""
    resolution = {"who": _name(requester), "why": why.strip()[:WHY_LIMIT]}
    explanation = f"marked as resolved by {_name(requester)}"
    _requeue(job, requester, explanation, error=_plain(job.error) | {"resolve": resolution})


def no_way_back(job: Job) -> Refused | None:
    """Why the job cannot be rolled back; None where it can."""
    if can_roll_back(job):
        return None
    if job.is_irrevocable:
        return Refused(
            "turned",
            "Rollback is no longer possible.",
            "Resume the job, or fix the problem on the host and mark the job as resolved.",
        )
    return Refused(
        "no_fallback",
        "Rollback is not possible: this job has no earlier state of the volume.",
        "Resume the job, or fix the problem on the host and mark the job as resolved.",
    )


def settle(job: Job) -> None:
    """A worker's part of `resolve`: read the host and end the job; raises `LostLease`."""
    resolution = dict(job.error["resolve"])
    before = {name: value for name, value in job.error.items() if name != "resolve"}
    renew(job, explanation="Reading what is on the host")
    try:
        step = job.running_step
        if step is not None:
            operation.poll(job, step)
            if step.state == StepState.RUNNING:
                still = {
                    "code": "still_running",
                    "message": f"“{step.title}” still runs on the host.",
                    "correction": (
                        "Wait until the step has ended there, then mark the job as resolved."
                    ),
                }
                finish_job(job, State.NEEDS_ATTENTION, error=before | still)
                return
        read_facts(job.host)
    except TransportError as error:
        finish_job(job, State.NEEDS_ATTENTION, error=before | error.to_json())
        return
    reason = f"resolved by {resolution['who']}: {resolution['why']}"
    finish_job(job, State.CANCELLED, explanation=f"cancelled; {reason}"[:500], error=before)


@transaction.atomic
def _requeue(job: Job, requester: Requester | None, explanation: str, **fields: Any) -> None:
    fresh = {
        "attempts": 0,
        "claims": 0,
        "started_at": None,
        "not_before": None,
        "cancel_requested": False,
        "explanation": explanation,
        **requester_fields(requester),
    }
    if not transition(job, State.NEEDS_ATTENTION, State.QUEUED, **fresh, **fields):
        raise Refused(
            "not_now",
            f"The job does not need a decision; its state is {job.get_state_display()}.",
            "Reload the job's page.",
        )
    steps.add_lines(job, [f"{explanation[:1].upper()}{explanation[1:]}."])
    notify_workers.job(job.pk)


def _plain(error: dict[str, Any]) -> dict[str, Any]:
    """Without the leftovers of then: they are read again."""
    return {name: value for name, value in error.items() if name not in ("residue", "after_step")}


def _name(requester: Requester | None) -> str:
    return requester.name if requester is not None else UNKNOWN_REQUESTER

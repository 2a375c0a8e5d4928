"""The end of a job that does a benchmark's run: the host always has a result, which decides the
state of the job."""

from __future__ import annotations

from typing import Any, Final

from jobs.engine import steps
from jobs.engine.finish import finish_job
from jobs.models import Job, State, StepState
from jobs.requester import cancelled_by, last_requester
from storage.inventory.facts import HostFacts
from storage.planner.benchmark_wish import BenchmarkWish

STOPPED_EARLY: Final = {
    "code": "interrupted",
    "message": "The run was stopped on the host before its end. Its result says how far it came.",
    "correction": "Look at the host's time line: it may have rebooted.",
}


def finish_benchmark(job: Job, facts: HostFacts) -> None:
    """End the job once nothing is left to do on the host. Raises `LostLease`."""
    result = facts.benchmark(BenchmarkWish.from_json(job.wish).key)
    if result is not None and result.outcome == "finished":
        finish_job(job, State.SUCCEEDED, explanation="", error={})
    elif steps.is_cancelled(job):
        explanation = f"{cancelled_by(last_requester(job))}; its result says how far it came"
        finish_job(job, State.CANCELLED, explanation=explanation[:500], error={})
    else:
        finish_job(job, State.FAILED, error=_last_error(job))


def _last_error(job: Job) -> dict[str, Any]:
    failed = job.step_set.filter(state=StepState.FAILED).order_by("-n").first()
    return dict(failed.error) if failed is not None else STOPPED_EARLY

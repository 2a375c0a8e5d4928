"""What may happen to a job while LVM works for it."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from jobs.models import Job, State, StepState
from tests.integration.machine import Held, Machine
from tests.integration.running import Running
from tests.integration.until import until


def cut(machine: Machine, held: Held, job: Job) -> None:
    """Break the connections in the middle of the operation `held`, which must outlive them."""
    held.wait()
    cut_at = timezone.now()
    machine.cut()

    def heard_again() -> bool:
        job.host.refresh_from_db()
        return job.host.last_seen_at is not None and job.host.last_seen_at > cut_at

    until("the host is asked over a new connection", heard_again)
    job.refresh_from_db()
    assert (job.state in (State.RUNNING, State.WAITING), is_working(job)) == (True, True)
    held.resume()


def kill_worker(
    panel: Running, held: Held, job: Job, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Kill the worker in the middle of the operation `held`; `meanwhile` is called while there is
    none, then another one is started."""
    held.wait()
    panel.kill("worker")
    job.refresh_from_db()
    assert (job.state, is_working(job)) == (State.RUNNING, True)
    meanwhile()
    panel.start("worker")
    held.resume()


def is_working(job: Job) -> bool:
    """Whether the panel believes that the host works on a step of the job."""
    return job.step_set.filter(state=StepState.RUNNING).count() == 1

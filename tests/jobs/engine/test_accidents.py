"""Jobs that kill their workers, and a database that goes away for a moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from jobs.engine import runner
from jobs.engine.transitions import CLAIMS_LIMIT, claim
from jobs.models import Job, State, StepState
from tests.jobs.agent import TaggingAgent, running
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


def die_with(job: Job, workers: int) -> None:
    """So many workers take the job, one after the other, and never write again."""
    for n in range(workers):
        assert claim(job.pk, f"worker {n}") is not None
        Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))


def test_a_job_that_kills_its_workers_is_brought_before_a_person(
    job: Job, agent: TaggingAgent
) -> None:
    die_with(job, CLAIMS_LIMIT)
    run(job)
    assert (job.state, job.error["code"], agent.runs) == (State.NEEDS_ATTENTION, "poison", 0)


def test_a_job_that_lost_a_few_workers_still_ends_well(job: Job, agent: TaggingAgent) -> None:
    die_with(job, CLAIMS_LIMIT - 1)
    assert run(job).state == State.SUCCEEDED


def test_a_preview_that_kills_its_workers_fails(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(dry_run=True)
    die_with(job, CLAIMS_LIMIT)
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, "poison")


def test_waiting_for_a_long_step_is_no_loss_of_a_worker(
    job: Job, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.0)
    agent.outcomes = [running()] * (CLAIMS_LIMIT * 2)
    for _ in range(CLAIMS_LIMIT * 2):
        run(job)
        assert (job.state, job.claims) == (State.WAITING, 0)
    assert run(job).state == State.SUCCEEDED


def test_a_database_that_goes_away_costs_the_job_nothing(
    job: Job, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: object) -> bool:
        raise OperationalError("the connection was closed")

    monkeypatch.setattr(runner, "RELEASE_SECONDS", 0.0)
    monkeypatch.setattr(runner.connection, "close", lambda: None)
    with monkeypatch.context() as broken:
        broken.setattr(runner, "watch", gone)
        run(job)
    assert (job.state, job.error) == (State.WAITING, {})
    assert job.step_set.get().state == StepState.RUNNING
    run(job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)

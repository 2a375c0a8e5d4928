"""A change window that closes while a job is half done."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.engine import holds
from jobs.models import Job, State
from jobs.queue.submit import cancel
from tests.jobs.caching import agent as agent
from tests.jobs.caching import job as job
from tests.jobs.cachingagent import CachingAgent
from tests.jobs.engine.test_patience import LOCKED, REFUSED
from tests.jobs.engine.test_rollback import before_sending
from tests.jobs.engine.test_runner import run

pytestmark = pytest.mark.django_db


def close_window(job: Job) -> None:
    """It opens again in two hours."""
    now = timezone.now()
    start, end = (now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time()
    holds.set_window(job.host, start, end)


def test_a_job_that_has_begun_is_carried_to_its_end_after_the_window_closed(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_sending(monkeypatch, "pool.create", lambda: close_window(job))
    assert run(job).state == State.SUCCEEDED
    assert agent.ran == ["pool.create", "cache.attach"]


def test_a_job_that_is_cancelled_goes_back_after_the_window_closed(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        close_window(job)
        cancel(Job.objects.get(pk=job.pk), None)

    before_sending(monkeypatch, "pool.create", act)
    assert run(job).state == State.CANCELLED
    assert agent.ran == ["pool.create", "pool.remove"]


def test_a_stop_of_all_jobs_holds_also_one_that_has_begun(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_sending(monkeypatch, "pool.create", lambda: holds.stop_all(None, ""))
    assert run(job).state == State.WAITING
    assert agent.ran == ["pool.create"]


def test_a_job_whose_first_step_came_to_nothing_waits_for_the_window(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.failing["pool.create"] = [LOCKED]
    agent.outcomes = [{"commands": REFUSED}]
    before_sending(monkeypatch, "pool.create", lambda: close_window(job))
    run(job)
    Job.objects.filter(pk=job.pk).update(not_before=None)
    run(job)
    assert job.state == State.WAITING and "change window" in job.sentence

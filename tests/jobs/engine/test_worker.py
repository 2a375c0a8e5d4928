"""A real Celery worker, real Redis: a message is enough to get a job done, and none is needed."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from jobs import notify_workers
from jobs.engine import operation, runner
from jobs.hosts import read_inventory
from jobs.models import Job, State
from jobs.queue.reaper import sweep
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from storage.discovery.host_summary import DRIFT
from storage.models import Host, HostOutline, Volume
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.sshd import Sshd

pytestmark = pytest.mark.django_db(transaction=True)
Make = Callable[..., Sshd]
PATIENCE_SECONDS = 20


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Celery:
    """The panel's Celery app again, on keys of its own in Redis."""
    own = Celery("test", set_as_current=False)
    own.config_from_object("django.conf:settings", namespace="CELERY")
    own.conf.broker_transport_options |= {"global_keyprefix": f"{os.getpid()}-{request.node.name}:"}
    monkeypatch.setattr(notify_workers, "current_app", own)
    return own


@pytest.fixture
def worker(app: Celery, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker of this process, with threads as in production."""
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.05))
    app.amqp.queues.select("jobs")
    with start_worker(app, concurrency=4, pool="threads", perform_ping_check=False):
        yield


def queued(sshd: Make, agent: TaggingAgent) -> Job:
    volume = make.volume()
    host = sshd(agent).host()
    make.placement(volume, host, lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    return submit(ChangeRequest("tag-volume", volume, WISH), Requester(None))


def wait(job: Job) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not job.is_over and time.monotonic() < deadline:
        time.sleep(0.05)
        job.refresh_from_db()


def test_submitting_is_enough(worker: None, sshd: Make) -> None:
    agent = TaggingAgent()
    job = queued(sshd, agent)
    wait(job)
    assert (job.state, job.error, agent.runs) == (State.SUCCEEDED, {}, 1)


def test_a_lost_message_is_made_good_by_the_sweeper(
    worker: None, sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = TaggingAgent()
    with monkeypatch.context() as lossy:
        lossy.setattr("jobs.notify_workers.send", lambda *message: False)
        job = queued(sshd, agent)
    Job.objects.filter(pk=job.pk).update(created_at=Now() - timedelta(minutes=1))
    assert sweep() == 1
    wait(job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


def test_repeated_and_forged_messages_are_harmless(app: Celery, worker: None, sshd: Make) -> None:
    agent = TaggingAgent()
    job = queued(sshd, agent)
    for site in [""] * 10 + ["another site", "'; DROP TABLE jobs_job; --", "\0"]:
        app.send_task(notify_workers.RUN_DUE_JOBS, args=(site,), queue="jobs")
    app.send_task(notify_workers.RUN_DUE_JOBS, args=(1, {"of": "another shape"}), queue="jobs")
    wait(job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


def quiet(sshd: Make, monkeypatch: pytest.MonkeyPatch) -> Volume:
    """A volume that is as wished, on a host that a job has just read; no worker hears of jobs."""
    monkeypatch.setattr("jobs.notify_workers.send", lambda *message: False)
    agent = TaggingAgent()
    monkeypatch.setattr(agent, "inventory", Steady(agent))
    for _ in range(2):
        job = queued(sshd, agent) if not Volume.objects.exists() else again()
        runner.run(job.pk)
        job.refresh_from_db()
        assert job.state == State.SUCCEEDED
    return Volume.objects.get()


class Steady:
    """An inventory that changes only with the volume."""

    def __init__(self, agent: TaggingAgent) -> None:
        self._agent, self._facts = agent, make.facts()

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        return make.inventory(dataclasses.replace(self._facts, lvs=(self._agent.lv,)))


def again() -> Job:
    return submit(ChangeRequest("tag-volume", Volume.objects.get(), WISH), Requester(None))


def test_a_job_with_nothing_to_do_costs_few_statements(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = quiet(sshd, monkeypatch)
    with CaptureQueriesContext(connection) as asked:
        job = submit(ChangeRequest("tag-volume", volume, WISH), Requester(None))
    # BEGIN, placement, host's digest, SAVEPOINT, INSERT, host's state, RELEASE, COMMIT.
    assert len(asked) <= 8, [each["sql"] for each in asked]
    with CaptureQueriesContext(connection) as asked:
        runner.run(job.pk)
    # BEGIN, claim, host, COMMIT; clock, contact, inventory; placement; BEGIN, end, COMMIT.
    assert len(asked) <= 11, [each["sql"] for each in asked]
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


def test_after_a_change_the_records_follow_before_the_next_job_reads(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.notify_workers.send", lambda *message: False)
    agent = TaggingAgent()
    monkeypatch.setattr(agent, "inventory", Steady(agent))
    job = queued(sshd, agent)
    runner.run(job.pk)
    job.refresh_from_db()
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)
    recorded: list[Host] = []
    monkeypatch.setattr(read_inventory, "apply_facts", lambda host, *args: recorded.append(host))
    facts = read_inventory.read_facts(job.host)
    assert not recorded
    findings = HostOutline.objects.get().findings
    assert not [each for each in findings if each["code"] in DRIFT]
    assert facts.lvs == (agent.lv,)

"""While Redis is down, workers find jobs in the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest
from celery import Celery
from django.db import InterfaceError, OperationalError
from django.db.models.functions import Now

from jobs.engine import operation
from jobs.models import Job, State
from jobs.queue import reaper
from jobs.queue.submit import submit
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.sshd import Sshd

Make = Callable[..., Sshd]


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that nobody listens for."""
    app = Celery("gone", broker="redis+socket:///nonexistent/redis.sock", set_as_current=False)
    monkeypatch.setattr(reaper, "current_app", app)


def queued(sshd: Make, agent: TaggingAgent) -> Job:
    volume = make.volume()
    make.placement(volume, sshd(agent).host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    job = submit(kind="tag-volume", volume=volume, wish=WISH, actor=None)
    Job.objects.filter(pk=job.pk).update(created_at=Now() - timedelta(minutes=1))
    return job


def watched(seconds: float, job: Job) -> None:
    """Let the thread look until the job has ended, at most so long."""
    stop = threading.Event()
    thread = threading.Thread(target=reaper.watch, args=(stop,))
    thread.start()
    deadline = time.monotonic() + seconds
    while not job.is_over and time.monotonic() < deadline:
        stop.wait(0.05)
        job.refresh_from_db()
    stop.set()
    thread.join()


@pytest.mark.django_db(transaction=True)
def test_a_job_ends_while_the_broker_is_away(
    sshd: Make, gone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))
    agent = TaggingAgent()
    job = queued(sshd, agent)
    watched(20, job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


@pytest.mark.django_db(transaction=True)
def test_with_a_broker_the_database_is_left_to_the_sweeper(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper, "POLL_SECONDS", 0.01)
    looked = []

    def is_there() -> bool:
        looked.append(True)
        return True

    monkeypatch.setattr(reaper, "is_broker_there", is_there)
    job = queued(sshd, TaggingAgent())
    stop = threading.Event()
    thread = threading.Thread(target=reaper.watch, args=(stop,))
    thread.start()
    while len(looked) < 5:
        stop.wait(0.01)
    stop.set()
    thread.join()
    job.refresh_from_db()
    assert job.state == State.QUEUED


def test_a_broker_that_nobody_listens_for_is_not_there(gone: None) -> None:
    assert not reaper.is_broker_there()


def test_the_configured_broker_is_there() -> None:
    assert reaper.is_broker_there()


@pytest.mark.parametrize(("queue", "threads"), [("jobs", 1), ("collect.0", 0)])
def test_only_workers_that_take_jobs_look(
    queue: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))
    queues = SimpleNamespace(consume_from={queue: None})
    reaper.begin(SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues))))
    assert len(started) == threads


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_too_does_not_end_the_thread(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> list[int]:
        raise error("the connection is closed")

    monkeypatch.setattr(reaper, "due", away)
    monkeypatch.setattr(reaper.connections, "close_all", lambda: None)
    assert reaper._due() == []

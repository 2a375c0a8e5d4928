"""Threads of workers take jobs from Redis and, while that is down, find them in the database."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace

import pytest
from celery import Celery, signals
from django.db import InterfaceError, OperationalError
from django.db.models.functions import Now
from redis.exceptions import RedisError

from jobs import notify_workers
from jobs.engine import operation
from jobs.models import Job, State
from jobs.queue import job_threads, reaper
from jobs.queue.submit import submit
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.sshd import Sshd

Make = Callable[..., Sshd]
PATIENCE_SECONDS = 20.0
BROKEN = 13


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that nobody listens for."""
    app = Celery("gone", broker="redis+socket:///nonexistent/redis.sock", set_as_current=False)
    monkeypatch.setattr(job_threads, "current_app", app)


def queued(sshd: Make, agent: TaggingAgent) -> Job:
    volume = make.volume()
    make.placement(volume, sshd(agent).host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    job = submit(kind="tag-volume", volume=volume, wish=WISH, actor=None)
    Job.objects.filter(pk=job.pk).update(created_at=Now() - timedelta(minutes=1))
    return job


def watched(seconds: float, job: Job) -> None:
    """Let the thread look until the job has ended, at most so long."""
    stop = threading.Event()
    thread = threading.Thread(target=job_threads.watch, args=(stop,))
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
    monkeypatch.setattr(job_threads, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))
    agent = TaggingAgent()
    job = queued(sshd, agent)
    watched(20, job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


@pytest.mark.django_db(transaction=True)
def test_with_a_broker_the_database_is_left_to_the_sweeper(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_threads, "POLL_SECONDS", 0.01)
    looked = []

    def is_there() -> bool:
        looked.append(True)
        return True

    monkeypatch.setattr(job_threads, "is_broker_there", is_there)
    job = queued(sshd, TaggingAgent())
    stop = threading.Event()
    thread = threading.Thread(target=job_threads.watch, args=(stop,))
    thread.start()
    while len(looked) < 5:
        stop.wait(0.01)
    stop.set()
    thread.join()
    job.refresh_from_db()
    assert job.state == State.QUEUED


def test_a_broker_that_nobody_listens_for_is_not_there(gone: None) -> None:
    assert not job_threads.is_broker_there()


def test_the_configured_broker_is_there() -> None:
    assert job_threads.is_broker_there()


@pytest.mark.parametrize(("queue", "threads"), [("jobs", 4), ("collect.0", 0)])
def test_only_workers_of_jobs_have_threads_for_them_and_one_that_looks(
    queue: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))
    queues = SimpleNamespace(consume_from={queue: None})
    app = SimpleNamespace(amqp=SimpleNamespace(queues=queues))
    job_threads.begin(SimpleNamespace(app=app, concurrency=3))
    assert len(started) == threads


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_too_does_not_end_the_thread(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> list[int]:
        raise error("the connection is closed")

    monkeypatch.setattr(reaper, "due", away)
    monkeypatch.setattr(job_threads.connections, "close_all", lambda: None)
    assert job_threads._due() == []


@pytest.fixture
def due_jobs(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A list of due jobs of the test's own."""
    name = f"{os.getpid()}-{request.node.name}:due-jobs"
    monkeypatch.setattr(notify_workers, "DUE_JOBS", name)
    monkeypatch.setattr(notify_workers, "WAIT_SECONDS", 0.05)
    return name


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, due_jobs: str) -> Iterator[queue.Queue[int]]:
    """What a thread has run; `BROKEN` breaks it."""
    told: queue.Queue[int] = queue.Queue()

    def run(job_id: int) -> None:
        told.put(job_id)
        if job_id == BROKEN:
            raise OperationalError("the connection is closed")

    monkeypatch.setattr(job_threads, "WORK", {notify_workers.RUN_JOB: run})
    stop = threading.Event()
    thread = threading.Thread(target=job_threads.take_jobs, args=(stop,))
    thread.start()
    yield told
    stop.set()
    thread.join()


def tell(*job_ids: int) -> None:
    for job_id in job_ids:
        assert notify_workers.send(notify_workers.RUN_JOB, job_id)


def test_a_job_that_is_told_of_twice_is_taken_once_and_the_oldest_first(due_jobs: str) -> None:
    tell(12, 5, 12, 5, 100)
    assert [notify_workers.take() for _ in range(4)] == [5, 12, 100, None]


def test_what_somebody_else_wrote_there_is_passed_over(
    due_jobs: str, ran: queue.Queue[int]
) -> None:
    notify_workers._redis().zadd(due_jobs, {"-1": -1, "rm -rf": 0, "": 1})
    tell(7)
    assert ran.get(timeout=PATIENCE_SECONDS) == 7


def test_a_job_that_breaks_does_not_end_the_thread(ran: queue.Queue[int]) -> None:
    tell(BROKEN)
    assert ran.get(timeout=PATIENCE_SECONDS) == BROKEN
    tell(8)
    assert ran.get(timeout=PATIENCE_SECONDS) == 8


def test_a_thread_outlives_redis_being_away(
    ran: queue.Queue[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_threads, "CONNECT_SECONDS", 0.01)
    take, failed = notify_workers.take, threading.Event()

    def away() -> int | None:
        if failed.is_set():
            return take()
        failed.set()
        raise RedisError("nobody listens")

    monkeypatch.setattr(notify_workers, "take", away)
    assert failed.wait(PATIENCE_SECONDS)
    tell(9)
    assert ran.get(timeout=PATIENCE_SECONDS) == 9


def test_a_thread_that_is_to_end_leaves_the_job_to_another_worker(
    due_jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    take = notify_workers.take

    def late() -> int | None:
        found = take()
        stop.set()
        return found

    monkeypatch.setattr(notify_workers, "take", late)
    monkeypatch.setattr(job_threads, "WORK", {})
    tell(6)
    job_threads.take_jobs(stop)
    assert take() == 6


def test_a_worker_that_is_asked_to_end_begins_no_further_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job_threads, "_stop", threading.Event())
    signals.worker_shutting_down.send(sender="worker", sig="SIGTERM", how="warm", exitcode=0)
    assert job_threads._stop.is_set()

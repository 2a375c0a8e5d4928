"""A slot of a worker takes what is due from the database, and needs no message for each job."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, signals
from django.conf import LazySettings
from django.db import InterfaceError, OperationalError
from django.db.models.functions import Now

from jobs import notify_workers, tasks
from jobs.engine import operation, runner
from jobs.engine.transitions import claim_next
from jobs.models import Job, State
from jobs.queue import dispatch, reaper
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from tests import make
from tests.integration.until import until
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.engine.test_transitions import at_once
from tests.jobs.engine.test_transitions import job as made
from tests.jobs.sshd import Sshd

Make = Callable[..., Sshd]


@pytest.fixture(autouse=True)
def at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker of another test has ended here."""
    monkeypatch.setattr(dispatch, "_is_ending", threading.Event())


def accepted(seconds_ago: int, **fields: Any) -> Job:
    job = made(**fields)
    Job.objects.filter(pk=job.pk).update(created_at=Now() - timedelta(seconds=seconds_ago))
    return job


def waiting(seconds_overdue: int) -> Job:
    return accepted(
        3600, state=State.WAITING, not_before=Now() - timedelta(seconds=seconds_overdue)
    )


def taken(*, prefers_previews: bool, site: str = "", dedicated: tuple[str, ...] = ()) -> int | None:
    job = claim_next("w", site, dedicated, prefers_previews=prefers_previews)
    return None if job is None else job.pk


# --- Which job comes next -----------------------------------------------------------------------


@pytest.mark.django_db
def test_the_job_that_was_accepted_first_is_taken_first() -> None:
    young, old = accepted(5), accepted(50)
    assert [taken(prefers_previews=False) for _ in range(3)] == [old.pk, young.pk, None]


@pytest.mark.django_db
def test_a_job_that_waited_queues_from_the_moment_at_which_it_is_due_again() -> None:
    queued, polled = accepted(20), waiting(10)
    assert [taken(prefers_previews=False) for _ in range(2)] == [queued.pk, polled.pk]


@pytest.mark.django_db
def test_a_preview_overtakes_all_that_waited_in_every_second_claim() -> None:
    polled = [waiting(500), waiting(400)]
    preview = accepted(1, dry_run=True)
    assert taken(prefers_previews=False) == polled[0].pk
    assert [taken(prefers_previews=True) for _ in range(2)] == [preview.pk, polled[1].pk]


@pytest.mark.django_db
def test_a_flood_of_previews_stops_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []
    monkeypatch.setattr(runner, "_run_claimed", lambda job: ran.append(job.dry_run))
    for _ in range(10):
        accepted(60, dry_run=True)
    accepted(1)
    tasks.run_due_jobs()
    assert ran.index(False) == 1


@pytest.mark.django_db
def test_what_is_not_due_is_left() -> None:
    made(State.QUEUED, not_before=Now() + timedelta(minutes=1))
    made(State.WAITING, not_before=Now() + timedelta(minutes=1))
    made(State.QUEUED, awaits="the billing system's answer")
    for state in (State.RUNNING, State.NEEDS_ATTENTION, State.SUCCEEDED):
        made(state)
    assert taken(prefers_previews=True) is None


@pytest.mark.django_db(transaction=True)
def test_of_many_slots_no_two_take_one_job_and_none_waits_for_another() -> None:
    jobs = {made().pk for _ in range(20)}
    assert set(at_once(20, lambda n: taken(prefers_previews=bool(n % 2)))) == jobs


@pytest.mark.django_db
def test_a_site_with_workers_of_its_own_has_its_jobs_taken_by_no_other() -> None:
    elsewhere = made()
    there = made(host=make.host(name="fra1", site="fra"))
    dedicated = ("fra", "ams")
    assert taken(prefers_previews=True, dedicated=dedicated) == elsewhere.pk
    assert taken(prefers_previews=True, dedicated=dedicated) is None
    assert taken(prefers_previews=True, dedicated=dedicated, site="ams") is None
    assert taken(prefers_previews=True, dedicated=dedicated, site="fra") == there.pk


@pytest.mark.django_db
def test_each_site_with_workers_of_its_own_is_woken_by_its_own_queue(
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    settings.TIERCEL_DEDICATED_SITES = ["fra"]
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(notify_workers, "send", lambda *message: sent.append(message) or True)
    here, there = accepted(60), accepted(60, host=make.host(name="fra1", site="fra"))
    with django_capture_on_commit_callbacks(execute=True):
        notify_workers.job(here.pk)
        notify_workers.job(there.pk)
    assert [site for _, site in sent] == ["", "fra"]
    assert reaper.sweep() == 2
    assert [site for _, site in sent[2:]] == ["", "fra"]
    assert notify_workers.queue_of("fra") == "jobs.fra"


# --- A slot works until nothing is left ---------------------------------------------------------


@pytest.mark.django_db
def test_one_message_is_enough_for_all_that_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    monkeypatch.setattr(runner, "_run_claimed", lambda job: ran.append(job.pk))
    jobs = [accepted(60 - n).pk for n in range(30)]
    tasks.run_due_jobs()
    assert ran == jobs


@pytest.mark.django_db
def test_a_job_whose_host_cannot_be_read_does_not_keep_the_next_from_being_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, good = accepted(60), accepted(30)
    read, ran = runner.read_host, list[int]()

    def odd(host_id: int) -> Any:
        if host_id == broken.host_id:
            raise ValueError("no one foresaw this row")
        return read(host_id)

    monkeypatch.setattr(runner, "read_host", odd)
    monkeypatch.setattr(runner, "advance", lambda job: ran.append(job.pk))
    tasks.run_due_jobs()
    broken.refresh_from_db()
    assert (broken.state, ran) == (State.FAILED, [good.pk])
    assert "no one foresaw this row" in caplog.text


@pytest.mark.django_db
def test_a_worker_that_is_asked_to_end_begins_no_further_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(job: Job) -> None:
        signals.worker_shutting_down.send(sender="worker", sig="SIGTERM", how="warm", exitcode=0)

    monkeypatch.setattr(runner, "_run_claimed", run)
    first, second = accepted(60), accepted(30)
    tasks.run_due_jobs()
    first.refresh_from_db(), second.refresh_from_db()
    assert (first.state, second.state) == (State.RUNNING, State.QUEUED)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_ends_the_task_with_a_line_in_the_log(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*args: object, **options: object) -> bool:
        raise error("the connection is closed")

    monkeypatch.setattr(runner, "claim_next", away)
    tasks.run_due_jobs()
    assert "no job can be taken: the connection is closed" in caplog.text


# --- Messages -----------------------------------------------------------------------------------


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Celery:
    """The panel's Celery app again, on keys of its own in Redis."""
    own = Celery("test", set_as_current=False)
    own.config_from_object("django.conf:settings", namespace="CELERY")
    own.conf.broker_transport_options |= {"global_keyprefix": f"{os.getpid()}-{request.node.name}:"}
    monkeypatch.setattr(notify_workers, "current_app", own)
    return own


def unread(app: Celery) -> int:
    with app.connection_for_read() as read:
        count: int = read.default_channel.client.llen("jobs")
        return count


def test_no_further_message_is_sent_while_enough_lie_unread(app: Celery) -> None:
    for _ in range(1000):
        assert notify_workers.send(notify_workers.RUN_DUE_JOBS, "")
    assert unread(app) == notify_workers.ENOUGH_UNREAD
    with app.connection_for_write() as emptied:
        emptied.default_channel.client.delete("jobs")
    assert notify_workers.send(notify_workers.RUN_DUE_JOBS, "")
    assert unread(app) == 1


# --- Without Redis ------------------------------------------------------------------------------


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that no one listens for."""
    app = Celery("gone", broker="redis+socket:///nonexistent/redis.sock", set_as_current=False)
    monkeypatch.setattr(dispatch, "current_app", app)


class Pool:
    """As much of Celery's pool as the poll asks for."""

    num_processes = 2

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(self.num_processes)
        self.begun: list[str] = []

    def apply_async(self, act: Callable[..., None], args: tuple[Any, ...]) -> SimpleNamespace:
        self.begun.append(args[0].__name__)
        return SimpleNamespace(f=self._executor.submit(act, *args))

    def join(self) -> None:
        self._executor.shutdown()


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.join()


def poll(*queues: str) -> dispatch.BrokerlessPoll:
    """The step of a worker that serves these queues."""
    served = SimpleNamespace(consume_from=dict.fromkeys(queues))
    return dispatch.BrokerlessPoll(
        SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=served)))
    )


@pytest.mark.django_db(transaction=True)
def test_a_job_ends_while_redis_is_away(
    sshd: Make, gone: None, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))
    agent = TaggingAgent()
    volume = make.volume()
    make.placement(volume, sshd(agent).host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    job = submit(ChangeRequest("tag-volume", volume, WISH), Requester(None))
    Job.objects.filter(pk=job.pk).update(created_at=Now() - timedelta(minutes=1))
    step = poll("jobs")
    step.start(SimpleNamespace(pool=pool))

    def is_over() -> bool:
        job.refresh_from_db()
        return job.is_over

    until("the job has ended", is_over, 20)
    step.stop(SimpleNamespace(pool=pool))
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


@pytest.mark.django_db(transaction=True)
def test_while_redis_is_away_no_more_looks_queue_than_the_pool_has_slots(pool: Pool) -> None:
    held = threading.Event()
    step = poll("jobs")
    step.begun = []
    for _ in range(5):
        accepted(60)

    def hold(site: str) -> None:
        held.wait(20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "run_due", hold)
        for _ in range(3):
            step.begin_due(pool)  # type: ignore[arg-type]
        held.set()
    assert pool.begun == ["hold", "hold"]


def test_with_redis_there_the_database_is_left_to_the_reaper(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "POLL_SECONDS", 0.01)
    step, looked = poll("jobs"), list[bool]()

    def is_there() -> bool:
        looked.append(True)
        if len(looked) == 5:
            step.stopped.set()
        return True

    monkeypatch.setattr(dispatch, "is_broker_there", is_there)
    step.watch(pool)
    assert len(looked) == 5 and not pool.begun


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_too_does_not_end_the_poll(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    def away(site: str) -> list[int]:
        raise error("the connection is closed")

    monkeypatch.setattr(reaper, "due", away)
    monkeypatch.setattr(dispatch.connections, "close_all", lambda: None)
    poll("jobs").begin_due(pool)
    assert not pool.begun


@pytest.mark.parametrize(
    ("queues", "sites"),
    [(("jobs",), [""]), (("jobs.fra",), ["fra"]), (("collect.0", "housekeeping"), [])],
)
def test_only_workers_of_jobs_poll_and_each_for_the_sites_that_it_serves(
    queues: tuple[str, ...], sites: list[str], settings: LazySettings
) -> None:
    settings.TIERCEL_DEDICATED_SITES = ["fra"]
    step = poll(*queues)
    assert (step.sites, step.enabled) == (sites, bool(sites))


def test_a_broker_that_no_one_listens_for_is_not_there(gone: None) -> None:
    assert not dispatch.is_broker_there()


def test_the_configured_broker_is_there() -> None:
    assert dispatch.is_broker_there()

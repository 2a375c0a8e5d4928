"""Jobs are tasks of Celery's: `inspect` sees them, routing divides them, and few messages start
many of them. Workers are the Procfile's, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import redis
from celery import Celery
from django.conf import LazySettings
from django.db import transaction

from jobs import notify_workers
from jobs.models import Job, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from panel.configuration.environment import broker
from panel.operations.local_services import CHECKOUT
from storage.models import Volume
from tests import make
from tests.integration.running import Running
from tests.integration.until import until
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.fixtures import sshd as sshd
from tests.jobs.sshd import Sshd

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 60
SITE = "fra"
PREVIEWS, MOST_MESSAGES = 300, 50


@pytest.fixture(scope="module")
def worker(processes: Running) -> Running:
    """A worker of all sites but one."""
    processes.environment["TIERCEL_DEDICATED_SITES"] = SITE
    processes.start("worker")
    return processes


@pytest.fixture
def panel(worker: Running, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Running:
    """This process wakes its workers as web does."""
    app = Celery("web", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = broker(worker.environment["REDIS_URL"])
    monkeypatch.setattr(notify_workers, "current_app", app)
    settings.TIERCEL_DEDICATED_SITES = [SITE]
    return worker


def placed(server: Sshd, agent: TaggingAgent, vg: str = make.VG_UUID, **host: str) -> Volume:
    volume = make.volume()
    lv = {"lv_name": agent.lv.name, "lv_uuid": agent.lv.uuid}
    make.placement(volume, server.host(**host), vg_uuid=vg, **lv)
    return volume


def unread(panel: Running, site: str) -> int:
    """Wake-ups that no worker has read."""
    count = redis.Redis.from_url(panel.environment["REDIS_URL"]).llen(notify_workers.queue_of(site))
    assert isinstance(count, int)
    return count


def is_in(state: State, *jobs: Job) -> Callable[[], bool]:
    keys = [job.pk for job in jobs]
    return lambda: Job.objects.filter(pk__in=keys, state=state).count() == len(keys)


def celery(panel: Running, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "celery", "--app", "panel", *command],
        cwd=CHECKOUT,
        env=panel.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_inspect_names_the_task_of_a_job_while_it_runs(
    panel: Running, sshd: Callable[..., Sshd]
) -> None:
    agent, asked, goes_on = TaggingAgent(), threading.Event(), threading.Event()

    def wait(request: object) -> None:
        asked.set()
        goes_on.wait(SECONDS)

    agent.before["inventory"] = wait
    volume = placed(sshd(agent), agent)
    job = submit(ChangeRequest("tag-volume", volume, WISH), Requester(None))
    assert asked.wait(SECONDS)
    active = celery(panel, "inspect", "active")
    goes_on.set()
    assert notify_workers.RUN_DUE_JOBS in active and "worker@" in active
    until("the job is done", is_in(State.SUCCEEDED, job), SECONDS)


def test_a_burst_of_jobs_costs_few_messages(panel: Running, sshd: Callable[..., Sshd]) -> None:
    agent = TaggingAgent()
    volume = placed(sshd(agent), agent)
    first = submit(ChangeRequest("tag-volume", volume, WISH, dry_run=True), Requester(None))
    until("the worker works", is_in(State.SUCCEEDED, first), SECONDS)
    client = redis.Redis.from_url(panel.environment["REDIS_URL"])
    before = pushed(client)
    # One commit, or a machine on which accepting a job takes as long as running it measures itself.
    with transaction.atomic():
        jobs = [
            submit(ChangeRequest("tag-volume", volume, WISH, dry_run=True), Requester(None))
            for _ in range(PREVIEWS)
        ]
    until("all are done", is_in(State.SUCCEEDED, *jobs), 2 * SECONDS)
    assert 0 < pushed(client) - before <= MOST_MESSAGES


def pushed(client: redis.Redis) -> int:
    """Messages since Redis began."""
    return int(client.info("commandstats").get("cmdstat_lpush", {}).get("calls", 0))


def test_heat_is_read_by_a_worker_that_has_the_keys_of_hosts(
    panel: Running, sshd: Callable[..., Sshd]
) -> None:
    agent, observed = TaggingAgent(), threading.Event()
    agent.before["heat.observe"] = lambda request: observed.set()
    host = sshd(agent).host()
    panel.start("housekeeping")
    assert notify_workers.send("jobs.tasks.read_heat", host.pk)
    assert observed.wait(SECONDS)
    host.refresh_from_db()
    assert host.error.get("code") != "key_sealed"


def test_a_worker_of_a_site_runs_the_jobs_of_its_hosts_and_no_others(
    panel: Running, sshd: Callable[..., Sshd]
) -> None:
    agent = TaggingAgent()
    there = placed(sshd(agent), agent, name="fra1", site=SITE)
    # A host that answers nothing: its previews fail once a worker takes them.
    elsewhere = placed(sshd(), TaggingAgent(), make.lvm_uuid(), name="ams1", site="ams")

    def ask(volume: Volume, *, dry_run: bool) -> Job:
        return submit(ChangeRequest("tag-volume", volume, WISH, dry_run=dry_run), Requester(None))

    job = ask(there, dry_run=False)
    until("the other is taken", is_in(State.FAILED, ask(elsewhere, dry_run=True)), SECONDS)
    assert is_in(State.QUEUED, job)() and unread(panel, SITE) == 1
    panel.start("worker:fra", TIERCEL_JOB_QUEUES=notify_workers.queue_of(SITE))
    until("its worker takes it", is_in(State.SUCCEEDED, job), SECONDS)
    panel.stop("worker")
    preview = ask(elsewhere, dry_run=True)
    until("its worker takes the next", is_in(State.SUCCEEDED, ask(there, dry_run=False)), SECONDS)
    assert is_in(State.QUEUED, preview)() and unread(panel, "") == 1

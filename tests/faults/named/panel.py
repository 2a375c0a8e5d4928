"""PostgreSQL and Redis that die, and the panel's own processes being replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import redis
from celery import Celery
from django.db import connection

from jobs import notify_workers, standstill
from jobs.models import Job, Kind, LifeSign, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from panel.configuration.environment import broker
from panel.operations.local_services.postgres import Postgres, disguise, installed
from tests.faults.fault import Fault, NotReached, Play, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.sweep import finished
from tests.faults.workers import Workers
from tests.integration.running import REDIS, Running
from tests.integration.until import until

COMMITS = ("claim", "intend", "follow", "arrive", "move")
REAL, PREVIEWS = 20, 180
RESTARTED = 50
SEND = notify_workers.send
NOTICED_SECONDS = standstill.UNTAKEN.total_seconds() + 15
BACKLOG_SECONDS = 400.0
REDIS_DOWN_SECONDS = 60.0


def faults(postgres: Postgres | None) -> Iterator[Fault]:
    if postgres is not None:
        for point in COMMITS:
            yield Fault(f"add lvmcache: PostgreSQL is killed at the commit of {point}",
                        "connects again; what the host did is asked for",
                        _crash(postgres, f"{point}.commit"), "F14", alone=True)  # fmt: skip
    yield Fault(f"Redis loses the wake-ups of {REAL + PREVIEWS} jobs (FLUSHALL)",
                "the reaper sends them again; all done, each once", _flushed, "F10",
                alone=True)  # fmt: skip
    yield Fault("Redis is killed while jobs are announced, and comes back empty",
                "all accepted jobs are done, each once", _redis_killed, "F11",
                alone=True)  # fmt: skip
    yield Fault(f"Redis is down for {REDIS_DOWN_SECONDS:.0f} s",
                "workers ask PostgreSQL; jobs are done meanwhile", _redis_down, "F12",
                alone=True)  # fmt: skip
    yield Fault(f"the worker is replaced twice (SIGTERM) under {RESTARTED} jobs",
                "none fails, none runs twice", _replaced, "F47", alone=True)  # fmt: skip
    yield Fault("every slot of a worker dies",
                f"said within {NOTICED_SECONDS:.0f} s; another worker takes over, each job once",
                _slots_die, "F56", alone=True)  # fmt: skip


def _crash(postgres: Postgres, point: str) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME["add lvmcache"]) as stage:
            job = stage.submit()
            first = stage.start(job, arm=f"{point}:1:pause")
            if not first.acted.wait(20):
                raise NotReached
            program = [*disguise(), str(installed() / "pg_ctl")]
            subprocess.run(
                [*program, "stop", "-m", "immediate", "-w", "-s", "-D", str(postgres.data)],
                check=True,
            )
            connection.close()
            postgres.start()
            since = time.time()
            second = stage.start(job)
            return finished(stage, since, job, waits=(first, second))

    return play


@contextmanager
def at_work(**settings: str) -> Iterator[tuple[Running, redis.Redis]]:
    """Redis, beat and housekeeping as in production, and a client of that Redis; `settings` are
    more of the environment."""
    with tempfile.TemporaryDirectory(prefix="tiercel-faults-") as folder:
        panel = Running({**os.environ, **settings}, Path(folder))
        try:
            panel.start(REDIS)
            panel.start("beat")
            panel.start("housekeeping")
            yield panel, redis.Redis.from_url(panel.environment["REDIS_URL"])
        finally:
            panel.stop_all()


def _ask(stage: Stage, count: int) -> list[Job]:
    """So many volumes are to be made."""
    jobs = []
    for _ in range(count):
        volume, wish = stage.another()
        jobs.append(submit(ChangeRequest(Kind.CREATE_VOLUME, volume, wish), Requester(None)))
    return jobs


def _announce(panel: Running, jobs: list[Job]) -> None:
    """Wake workers of that panel as its own processes do; here `stage.quicken` has ended it."""
    app = Celery("faults", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = broker(panel.environment["REDIS_URL"])
    with patch.object(notify_workers, "current_app", app):
        for _ in jobs:
            if not SEND(notify_workers.RUN_DUE_JOBS, ""):
                return


def _all_done(stage: Stage, since: float, jobs: list[Job]) -> Played:
    stage.rest(*jobs, seconds=BACKLOG_SECONDS)
    played = finished(stage, since, *jobs)
    bad = [job for job in jobs if job.state != State.SUCCEEDED]
    if bad:
        played.problems.append(f"{len(bad)} of {len(jobs)} jobs did not succeed: {bad[0].error}")
    # Until the last of the backlog is done, not until the panel has recovered.
    happened = f"{len(jobs)} {played.happened}"
    return Played(happened, played.problems, played.recovery_s, BACKLOG_SECONDS)


def _flushed(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["create"]) as stage, at_work() as (panel, client):
        stage.bring(stage.volume, stage.wish)
        stage.fake.accepted.clear()
        jobs = _ask(stage, REAL)
        for _ in range(PREVIEWS):
            preview = ChangeRequest(Kind.SET_CACHE, stage.volume, stage.wish, dry_run=True)
            jobs.append(submit(preview, Requester(None)))
        _announce(panel, jobs)
        client.flushall()
        since = time.time()
        panel.start("worker")
        return _all_done(stage, since, jobs)


def _redis_killed(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["create"]) as stage, at_work() as (panel, _):
        panel.start("worker")
        jobs = _ask(stage, REAL)
        _announce(panel, jobs[: REAL // 2])
        panel.kill(REDIS)
        since = time.time()
        panel.start(REDIS)
        _announce(panel, jobs[REAL // 2 :])
        return _all_done(stage, since, jobs)


def _redis_down(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["create"]) as stage, at_work() as (panel, _):
        panel.start("worker")
        # One job by message shows that the worker is up.
        first = _ask(stage, 1)
        _announce(panel, first)
        stage.rest(*first)
        panel.kill(REDIS)
        since = time.time()
        jobs = _ask(stage, 3)
        done = stage.rest(*jobs, seconds=REDIS_DOWN_SECONDS)
        took = time.time() - since
        time.sleep(max(0.0, REDIS_DOWN_SECONDS - took))
        panel.start(REDIS)
        played = _all_done(stage, since, [*first, *jobs])
        if not done:
            played.problems.append("nothing was done while Redis was away")
        return Played(played.happened, played.problems, took)


def _replaced(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["create"]) as stage, at_work() as (panel, _):
        panel.start("worker")
        jobs = _ask(stage, RESTARTED)
        _announce(panel, jobs)
        since = time.time()
        for _ in range(2):
            time.sleep(4)
            panel.stop("worker")
            panel.start("worker")
        return _all_done(stage, since, jobs)


def _slots_die(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["create"]) as stage, at_work() as (panel, _):
        panel.start("worker", prefix=(sys.executable, "-m", "tests.faults.hanging_worker"))
        until("the worker signs", lambda: LifeSign.objects.filter(kind="worker").exists())
        jobs = _ask(stage, REAL)
        since = time.time()
        _announce(panel, jobs)
        until("it is noticed", _is_noticed, NOTICED_SECONDS)
        noticed = f"noticed after {time.time() - since:.0f} s"
        panel.start("worker:another")
        played = _all_done(stage, time.time(), jobs)
        until("it is over", lambda: not _is_noticed())
        panel.kill("worker")
        return replace(played, happened=f"{played.happened}, {noticed}")


def _is_noticed() -> bool:
    return any(each.code == "jobs_untaken" for each in standstill.standstills_now())

"""Two panels and one host, a panel that was put back from yesterday, and a host whose clock is
wrong when a volume is retired."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.db import connection

from jobs.hosts.refresh import refresh
from jobs.models import Kind, State, VgFence
from jobs.queue.submit import ChangeRequest, cancel, submit
from jobs.requester import Requester
from panel.operations import local_services
from storage.agent.state import owner
from tests.fake.host import FakeHost
from tests.faults.fault import Fault, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.sweep import finished
from tests.faults.workers import Workers

RIVAL = "0a1b2c3d-0000-4000-8000-00000000abcd"
TRIES = 5
DAY_SECONDS = 24 * 3600
RESTORE_SECONDS = 300.0


def faults() -> Iterator[Fault]:
    yield Fault("add lvmcache: another panel sends steps with higher turns all the while",
                "each is refused, the host tells of it, and the job ends as if alone", _rival,
                "P01")  # fmt: skip
    yield Fault("add lvmcache: root gives the host to another panel before the job begins",
                "the job fails and says whose host it is; nothing is changed, no turn is taken in "
                "vain", _adopted, "P02")  # fmt: skip
    yield Fault("retire: the clock of the host is a day behind, and is set right a moment later",
                "it is not retired by a wrong clock", _clock, "P03")  # fmt: skip
    yield Fault("destroy: queued at the backup, cancelled since; the panel is restored, the old one"
                " is still up",
                "nothing is destroyed; the restored panel waits for a person, and the old one is "
                "refused once it has changed something", _restored, "P04")  # fmt: skip


def _rival(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        job = stage.submit()
        since = time.time()
        worker = stage.start(job)
        codes = set()
        while not (stage.rest(job, seconds=0.05) and len(codes)):
            codes.add(_as_rival(stage))
        played = finished(stage, since, job, waits=(worker,), also=f"; the other: {codes}")
        if codes != {"other_panel"}:
            played.problems.append(f"the other panel was answered {codes}")
        if job.state != State.SUCCEEDED:
            played.problems.append(f"the job is {job.state}: {job.error}")
        return _reported(stage, played, "rival_panel")


def _adopted(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        owner.adopt_host(stage.fake, RIVAL)
        before = _turn(stage)
        since = time.time()
        job = stage.submit()
        played = finished(stage, since, job, waits=(stage.start(job),))
        if (job.state, job.error.get("code")) != (State.FAILED, "other_panel"):
            played.problems.append(f"the job is {job.state}: {job.error}")
        if stage.ledger().ran or _turn(stage) > before + 1:
            played.problems.append(f"it changed something, or tried again: turn {_turn(stage)}")
        return _reported(stage, played, "other_panel")


def _clock(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["retire"]) as stage:
        stage.fake.clock.step(-DAY_SECONDS)
        since = time.time()
        job = stage.submit()
        played = finished(stage, since, job, waits=(stage.start(job),))
        if (job.state, job.error.get("code")) != (State.FAILED, "clock_off"):
            played.problems.append(f"the job is {job.state}: {job.error}")
        if stage.ledger().ran:
            played.problems.append("something was changed")
        stage.fake.clock.step(DAY_SECONDS)
        again = stage.submit()
        last = finished(stage, since, again, waits=(stage.start(again),))
        if again.state != State.SUCCEEDED:
            last.problems.append(f"with the clock set right it is {again.state}: {again.error}")
        return Played(f"{played.happened}, clock_off; set right: {last.happened}",
                      [*played.problems, *last.problems], last.recovery_s)  # fmt: skip


def _restored(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["destroy"]) as stage, tempfile.TemporaryDirectory() as folder:
        spare, wish = stage.another()
        late, _ = stage.another()
        queued = stage.submit()
        file = str(Path(folder) / "yesterday")
        _manage(settings.DATABASES["default"]["NAME"], "backup", file)
        # What the backup knows nothing of.
        cancel(queued, None)
        later = stage.new_volume("plain")
        stage.bring(later, wish)
        since = time.time()
        problems = []
        with _another_database() as copy:
            _manage(copy, "restore", file)
            report = _manage(copy, "after_restore")
            if "that no job here knows" not in report:
                problems.append(f"the report says nothing of the later job: {report[-500:]}")
            said = _in_copy(copy, f"runner.run({queued.pk})", queued.pk)
            if said != State.NEEDS_ATTENTION or stage.lv() is None:
                problems.append(f"what was cancelled is {said}; the volume: {stage.lv()}")
            made = (
                f"holds.resume_all(); volume = Volume.objects.get(pk={spare.pk}); "
                "job = submit(kind=Kind.CREATE_VOLUME, volume=volume, "
                f"wish=Wish.from_json({wish.to_json()!r}), actor=None); drive(job)"
            )
            if (said := _in_copy(copy, made, 0)) != State.SUCCEEDED:
                problems.append(f"the restored panel cannot work: {said}")
            # The restored panel keeps a trail of its own.
            stage.ledger()
            stage.forget()
            old = submit(ChangeRequest(Kind.CREATE_VOLUME, late, wish), Requester(None))
            played = finished(stage, since, old, waits=(stage.start(old),))
            if (old.state, old.error.get("code")) != (State.FAILED, "other_panel"):
                problems.append(f"the old panel's job is {old.state}: {old.error}")
        played.problems += problems
        played.bound_s = RESTORE_SECONDS
        return _reported(stage, played, "other_panel")


def _reported(stage: Stage, played: Played, code: str) -> Played:
    """The panel's page of the host says it too."""
    refresh(stage.host)
    stage.host.refresh_from_db()
    if code not in [problem["code"] for problem in stage.host.problems]:
        played.problems.append(f"the host's page does not tell of {code}")
    return played


def _turn(stage: Stage) -> int:
    group = VgFence.objects.filter(vg_uuid=stage.placement.vg_uuid)
    return group.values_list("fence", flat=True).first() or 0


def _as_rival(stage: Stage) -> str:
    """A request of the other panel that would change something; the code of the answer."""
    vg = stage.fake.machine.vgs[0]
    args = {"vg": vg.name, "lv": "stranger-hdd", "volume_key": "abcdefgh"}
    lv = stage.fake.root.lv("stranger-hdd")
    expect = {"vg_uuid": vg.uuid, "lv_uuid": lv.uuid, "lv_name": lv.name}
    request: dict[str, Any] = {"v": 1, "id": str(uuid.uuid4()), "verb": "volume.tag", "args": args}
    request |= {"expect": expect | {"size_bytes": lv.size_bytes}}
    request |= {"panel": {"id": RIVAL}, "fence": 1 << 40}
    answer = json.loads(FakeHost.answer(stage.fake, json.dumps(request).encode()))
    return "" if answer["ok"] else str(answer["error"]["code"])


PROGRAM = """
import sys, time
from jobs.engine import holds, runner
from jobs.models import Job, Kind
from jobs.queue.submit import submit
from storage import row_security as wall
from storage.models import Volume
from storage.planner.wish import Wish
def drive(job):
    end = time.monotonic() + 60
    while not job.is_over and job.state != "needs_attention" and time.monotonic() < end:
        Job.objects.filter(pk=job.pk).update(not_before=None)
        runner.run(job.pk)
        job.refresh_from_db()
    print(job.state, job.error, file=sys.stderr)
job = None
"""


def _in_copy(database: str, statement: str, job_id: int) -> str:
    """Run it in the restored panel; the state of the job afterwards."""
    last = f"print((job or Job.objects.get(pk={job_id})).state)"
    return _manage(database, "shell", "-v", "0", "-c", f"{PROGRAM}\n{statement}\n{last}").strip()


def _manage(database: str, *words: str) -> str:
    """A management command on a database of the tests' server; what it says."""
    urls = {"DATABASE_URL": _url("app", database), "DATABASE_OWNER_URL": _url("owner", database)}
    done = subprocess.run(
        [sys.executable, str(local_services.CHECKOUT / "manage.py"), *words],
        env={**os.environ, **urls, "DJANGO_SETTINGS_MODULE": "panel.settings"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{words[0]}: {done.stderr[-2000:]}")
    return done.stdout


def _url(role: str, database: str) -> str:
    url = settings.DATABASE_OWNER_URL if role == "owner" else settings.DATABASE_URL
    return urlsplit(url or settings.DATABASE_URL)._replace(path=f"/{database}").geturl()


@contextmanager
def _another_database() -> Iterator[str]:
    name = f"{connection.settings_dict['NAME']}_copy"
    with psycopg.connect(_url("owner", "postgres"), autocommit=True) as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE template1')
        try:
            yield name
        finally:
            server.execute(f'DROP DATABASE "{name}"')

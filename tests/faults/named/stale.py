"""What was decided on an older state of a volume, by a person's preview or by a program."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

from django.test import Client

from jobs.models import Job, Kind, State
from jobs.queue.submit import ChangeRequest, confirm, submit
from jobs.requester import Requester
from panel.accounts import api_tokens
from storage.planner.wish import Wish
from tests import make
from tests.faults.fault import Fault, Played
from tests.faults.operations import BY_NAME, PLAIN
from tests.faults.stage import Stage
from tests.faults.sweep import finished
from tests.faults.workers import Workers

NO_PERSON = Requester(None, None)
CHANGED = 412
ACCEPTED = 202


def faults() -> Iterator[Fault]:
    yield Fault("set lvmcache mode: a preview from before another job is made real",
                "refused as stale: nothing is run; a new preview serves", _preview,
                "F21")  # fmt: skip
    yield Fault("add lvmcache: a program wishes by what it read before another job (If-Match)",
                "412 and no job; read again, it is accepted", _program, "F21")  # fmt: skip


def _preview(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["set lvmcache mode"]) as stage:
        old = _previewed(stage, stage.wish)
        _done(stage, submit(ChangeRequest(Kind.REMOVE_CACHE, stage.volume, PLAIN), Requester(None)))
        job = confirm(old, NO_PERSON)
        since = time.time()
        worker = stage.start(job)
        # The other job has changed what this one would go back to.
        played = finished(stage, since, waits=(worker,))
        stage.rest(job)
        job.refresh_from_db()
        if (job.state, job.error.get("code")) != (State.FAILED, "stale"):
            played.problems.append(f"an old preview ended {job.state}: {job.error}")
        if job.step_set.exists() or stage.ledger().ran:
            played.problems.append("an old preview changed something")
        again = confirm(_previewed(stage, stage.names.lvmcache("writeback")), NO_PERSON)
        last = finished(stage, since, again, waits=(stage.start(again),))
        if again.state != State.SUCCEEDED:
            played.problems.append(f"a new preview ended {again.state}: {again.error}")
        return Played(f"{job.state}, stale; a new one {last.happened}",
                      [*played.problems, *last.problems], played.recovery_s)  # fmt: skip


def _program(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        token, text = api_tokens.issue(
            make.staff_user(staff_role="operator"), name="F21", scopes=["read", "volumes:write"],
            days=1,
        )  # fmt: skip
        program = Client(headers={"Authorization": f"Bearer {text}"}, SERVER_NAME="localhost")
        path = f"/api/v1/volumes/{stage.volume.key}/wish"
        read = program.get(path)["ETag"]
        _done(stage, stage.submit())
        since = time.time()
        refused = _put(program, path, read)
        problems = []
        if refused.status_code != CHANGED or _asked_by(token.key):
            problems.append(f"a wish of before was answered {refused.status_code}")
        accepted = _put(program, path, program.get(path)["ETag"])
        if accepted.status_code != ACCEPTED:
            problems.append(f"a wish of now was answered {accepted.status_code}")
        jobs = _asked_by(token.key)
        played = finished(stage, since, *jobs, waits=(stage.start(*jobs),))
        return Played(f"{refused.status_code}; read again, {played.happened}",
                      [*problems, *played.problems], played.recovery_s)  # fmt: skip


def _put(program: Client, path: str, version: str) -> Any:
    """A wish for no cache."""
    headers = {"If-Match": version, "Idempotency-Key": uuid.uuid4().hex}
    return program.put(path, {"cache": None}, content_type="application/json", headers=headers)


def _asked_by(token: str) -> list[Job]:
    return list(Job.objects.filter(token=token))


def _previewed(stage: Stage, wish: Wish) -> Job:
    kind = stage.operation.kind
    made = submit(ChangeRequest(kind, stage.volume, wish, dry_run=True), Requester(None))
    _done(stage, made)
    return made


def _done(stage: Stage, job: Job) -> None:
    """Let a worker finish it: it belongs to the scene."""
    stage.start(job).wait(20)
    job.refresh_from_db()
    if job.state != State.SUCCEEDED:
        raise AssertionError(f"the scene could not be set: {job.kind} {job.state} {job.error}")
    stage.forget()

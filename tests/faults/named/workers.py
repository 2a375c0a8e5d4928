"""Workers that die, sleep, crowd or never get through."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

from jobs.models import State
from tests.faults.fault import Fault, NotReached, Play, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.sweep import finished, worker_fault
from tests.faults.workers import Workers

OPERATIONS = ("add lvmcache", "remove lvmcache", "add bcache")
CROWD = 10
CLAIMS = 8
FORGED = (10**9, -1, 0)


def faults() -> Iterator[Fault]:
    for name in OPERATIONS:
        operation = BY_NAME[name]
        yield worker_fault(operation, "read.before", 2, "kill", "F01")
        yield worker_fault(operation, "intend.after", 1, "kill", "F02")
        yield Fault(f"{name}: worker killed while the agent executes",
                    "the operation finishes on the host and its result is found", _killed(name),
                    "F03")  # fmt: skip
        yield worker_fault(operation, "follow.commit", 1, "kill", "F04")
        yield Fault(f"{name}: worker stopped before it sends, another takes over, it goes on",
                    "the late request is refused by its number; nothing runs twice", _stopped(name),
                    "F05")  # fmt: skip
    yield Fault(f"{CROWD} workers get one job's message again and again, and those of unknown jobs",
                "one claim at a time; each step once", _crowd, "F13")  # fmt: skip
    yield Fault("every worker that takes the job dies",
                "after a few it is put before a person; another job goes through", _poison,
                "F54")  # fmt: skip


def _killed(name: str) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            pause = stage.fake.pause_step()
            job = stage.submit()
            first = stage.start(job)
            if not pause.reached.wait(20):
                raise NotReached
            first.signal(signal.SIGKILL)
            since = time.time()
            second = stage.start(job)
            pause.resume()
            return finished(stage, since, job, waits=(first, second))

    return play


def _stopped(name: str) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            job = stage.submit()
            first = stage.start(job, arm="send.before:1:stop")
            if not first.acted.wait(20):
                raise NotReached
            second = stage.start(job)
            stage.rest(job)
            asked = len(stage.fake.requests)
            first.go_on()
            first.wait(20)
            played = finished(stage, first.fired or 0.0, job, waits=(second,))
            late = [each for each in stage.fake.requests[asked:] if each.get("fence")]
            if not late:
                played.problems.append("the stopped worker never sent its late request")
            return played

    return play


def _crowd(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        job = stage.submit()
        since = time.time()
        crowd = [workers.start([job.pk, *FORGED]) for _ in range(CROWD)]
        return finished(stage, since, job, waits=crowd)


def _poison(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        job = stage.submit()
        volume, wish = stage.another()
        healthy = stage.submit(volume, wish)
        stage.start(healthy)
        since = time.time()
        deaths = 0
        for _ in range(CLAIMS):
            worker = stage.start(job, arm="read.before:1:kill")
            worker.wait(20)
            deaths += worker.status == -signal.SIGKILL
            job.refresh_from_db()
            if job.state == State.NEEDS_ATTENTION or job.is_over:
                break
        played = finished(stage, since, job, healthy, also=f" after {deaths} dead workers")
        if job.state != State.NEEDS_ATTENTION:
            played.problems.append(f"the poisonous job is {job.state}")
        if healthy.state != State.SUCCEEDED:
            played.problems.append(f"the other job is {healthy.state}")
        return played

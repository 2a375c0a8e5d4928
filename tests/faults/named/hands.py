"""What people do at the wrong moment: on the host by hand, or in the panel."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from django.db import connection

from jobs.models import Job, State
from jobs.queue import submit as submission
from storage.models import Placement
from tests.faults.fault import Fault, NotReached, Play, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.sweep import finished
from tests.faults.workers import Workers

CANCELLED = ("create", "add lvmcache", "remove lvmcache", "add bcache", "remove bcache")
BOUNDARIES = (1, 2, 3)
LOCKED_SECONDS = 2.0


def faults() -> Iterator[Fault]:
    yield Fault("add lvmcache: two operators ask in the same moment",
                "one job; the other one reads which job holds the volume", _two, "F20")  # fmt: skip
    for name, at in (("set lvmcache mode", 1), ("add lvmcache", 2), ("add bcache", 3)):
        yield Fault(f"{name}: the volume is removed by hand before step {at} is sent",
                    "refused: the volume expected is not there", _removed(name, at, False),
                    "F22")  # fmt: skip
        yield Fault(f"{name}: the volume is replaced by another one of its name before step {at}",
                    "refused: another uuid; the new volume is not touched",
                    _removed(name, at, True), "F23")  # fmt: skip
    for name in ("create", "add lvmcache", "remove lvmcache"):
        yield Fault(f"{name}: LVM's lock on the group is held by hand for a while",
                    "waits without executing; then goes on", _locked(name), "F25")  # fmt: skip
    for name in CANCELLED:
        for n in BOUNDARIES:
            yield Fault(f"{name}: cancelled at boundary {n}",
                        "undone, or finished where there is no way back",
                        _cancelled(name, n), "F45")  # fmt: skip
        yield Fault(f"{name}: cancelled in the middle of a step",
                    "the step ends; then undone, or finished where there is no way back",
                    _cancelled_in_step(name), "F45")  # fmt: skip


def _two(workers: Workers) -> Played:
    with Stage(workers, BY_NAME["add lvmcache"]) as stage:
        jobs: list[Job] = []
        busy: list[submission.Busy] = []
        start = threading.Barrier(2)

        def ask() -> None:
            try:
                start.wait()
                jobs.append(stage.submit())
            except submission.Busy as error:
                busy.append(error)
            finally:
                connection.close()

        people = [threading.Thread(target=ask) for _ in range(2)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        since = time.time()
        worker = stage.start(*jobs)
        played = finished(stage, since, *jobs, waits=(worker,))
        if len(jobs) != 1 or [error.job.pk for error in busy] != [job.pk for job in jobs]:
            played.problems.append(f"{len(jobs)} jobs, refused with {busy}")
        return played


def _removed(name: str, at: int, replaced: bool) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            job = stage.submit()
            worker = stage.start(job, arm=f"send.before:{at}:stop")
            if not worker.acted.wait(20):
                raise NotReached
            lv_name = Placement.objects.get(volume=stage.volume, until=None).lv_name
            stage.remove_by_hand(lv_name)
            del stage.strangers["guest data"]
            if replaced:
                stage.fake.root.add_lv(lv_name, 64 << 20, signature="ext4")
                stage.watch(lv_name)
            worker.go_on()
            played = finished(stage, time.time(), job, waits=(worker,))
            if job.state == State.SUCCEEDED:
                played.problems.append("a job on a volume that is gone succeeded")
            return played

    return play


def _locked(name: str) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            job = stage.submit()
            with stage.fake.vg_lock("vg0"):
                worker = stage.start(job)
                time.sleep(LOCKED_SECONDS)
                ran = len(stage.fake.ran)
            played = finished(stage, time.time(), job, waits=(worker,))
            if ran:
                played.problems.append("a command ran under another program's lock")
            if job.state != State.SUCCEEDED:
                played.problems.append(f"a lock held for a moment ended the job: {job.error}")
            return played

    return play


def _cancelled(name: str, n: int) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            job = stage.submit()
            worker = stage.start(job, arm=f"intend.before:{n}:stop")
            while not worker.acted.wait(0.05):
                if worker.ended.is_set():
                    raise NotReached
            since = time.time()
            submission.cancel(job, None)
            worker.go_on()
            return _judged(stage, since, job, worker)

    return play


def _cancelled_in_step(name: str) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME[name]) as stage:
            pause = stage.fake.pause_step()
            job = stage.submit()
            worker = stage.start(job)
            if not pause.reached.wait(20):
                raise NotReached
            since = time.time()
            submission.cancel(job, None)
            pause.resume()
            return _judged(stage, since, job, worker)

    return play


def _judged(stage: Stage, since: float, job: Job, worker: object) -> Played:
    """A cancelled job has left the volume as it was, or has finished. A new volume has nothing
    to go back to: what was made of it stays."""
    played = finished(stage, since, job)
    goes_back = job.state == State.CANCELLED and job.fallback is not None
    if goes_back and (left := stage.left_of_fallback()):
        played.problems.append(f"cancelled, but not undone: {left}")
    if job.state not in (State.CANCELLED, State.SUCCEEDED):
        played.problems.append(f"a cancellation ended as {job.state}: {job.error}")
    return played

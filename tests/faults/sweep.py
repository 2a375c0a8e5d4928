"""Every operation, broken at every point it passes, in every way.

The points are not a list: each operation runs once unharmed and tells which it passed and how
often. The first passage of each is broken, and the second one of those that belong to a step; of
the host's commands also the last ones of operations that end with the removal of a cache set.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from jobs.models import Job, State
from tests.faults import oracle
from tests.faults.fault import Fault, NotReached, Played
from tests.faults.operations import Operation
from tests.faults.scenery import Scenery
from tests.faults.stage import Stage
from tests.faults.workers import Worker, Workers

OF_A_STEP = frozenset(
    {"intend.commit", "send.before", "send.after", "follow.commit", "exec.before", "exec.after"}
)
ENDS_WITH_CSET_REMOVE = frozenset({"replace bcache", "remove bcache"})
LAST_COMMANDS = 2
"""wipefs and lvremove, between which and `unregister` the old cache set has lost its name."""
HEARTBEAT = "renew."
"""Commits of nothing but a lease; they are passed inside most others too."""
WORKER_MODES = ("kill", "raise", "pause")
HOST_MODES: Mapping[str, tuple[str, ...]] = {
    "accept": ("kill", "raise", "pause"),
    "start": ("kill", "pause"),
    "save": ("kill", "raise", "pause"),
    "exec": ("kill", "raise", "pause"),
    "reply": ("kill", "pause"),
}
EXPECTED = {
    "kill": "another worker takes the job over once the lease has lapsed, and finishes it",
    "raise": "the job ends: done, undone or before a person",
    "pause": "another worker takes the job over; the first one then finds that it lost it",
    "drop": "the worker connects again; what the host did is asked for",
    "host kill": "the operation is found interrupted, and what is left is planned anew",
    "host raise": "the operation fails with its reason; planned anew or undone",
    "host pause": "the job waits for the host",
}


def unharmed(operation: Operation, workers: Workers) -> tuple[dict[str, int], dict[str, int]]:
    """How often a run without faults passes each point of the worker, and of the host."""
    with Stage(workers, operation) as stage:
        stage.fake.reached.clear()
        job = stage.submit()
        worker = stage.start(job, arm="none:1:trace")
        worker.wait(Scenery.patience_seconds)
        wrong = oracle.problems(stage, job)
        if job.state != State.SUCCEEDED or wrong:
            raise AssertionError(f"{operation.name} fails without faults: {job.error} {wrong}")
        return dict(worker.reached), dict(stage.fake.reached)


def faults(
    operation: Operation, at_worker: Mapping[str, int], at_host: Mapping[str, int]
) -> list[Fault]:
    """Each point x passage x mode of an operation."""
    found = []
    for point, n in _passages(at_worker):
        for mode in WORKER_MODES:
            found.append(worker_fault(operation, point, n, mode))
        if point.endswith(".commit"):
            found.append(worker_fault(operation, point, n, "drop"))
    for point, n in (*_passages(at_host), *_last_commands(operation, at_host)):
        for mode in HOST_MODES.get(point.partition(".")[0], ()):
            found.append(host_fault(operation, point, n, mode))
    return found


def _passages(reached: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    for point in sorted(reached):
        if not point.startswith(HEARTBEAT):
            yield point, 1
            if point in OF_A_STEP and reached[point] > 1:
                yield point, 2


def _last_commands(operation: Operation, at_host: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    if operation.name in ENDS_WITH_CSET_REMOVE:
        every = at_host["exec.before"]
        for n in range(max(3, every - LAST_COMMANDS + 1), every + 1):
            yield "exec.before", n


def worker_fault(operation: Operation, point: str, n: int, mode: str, id: str = "") -> Fault:
    """A worker ends, fails, stands still or loses its database at a point."""

    def play(workers: Workers) -> Played:
        with Stage(workers, operation) as stage:
            job = stage.submit()
            first = stage.start(job, arm=f"{point}:{n}:{mode}")
            if not _fired(first, job):
                raise NotReached
            second = stage.start(job)
            return finished(stage, first.fired or 0.0, job, waits=(first, second))

    name = f"{operation.name}: {mode} at {point} #{n}"
    return Fault(name, EXPECTED[mode], play, id)


def host_fault(operation: Operation, point: str, n: int, mode: str, id: str = "") -> Fault:
    """The agent ends, fails or stands still at a point."""

    def play(workers: Workers) -> Played:
        with Stage(workers, operation) as stage:
            stage.fake.arm(point, n, mode)
            job = stage.submit()
            worker = stage.start(job)
            while not stage.fake.fired.wait(0.05):
                if worker.ended.is_set():
                    raise NotReached
            return finished(stage, stage.fake.fired_at or 0.0, job, waits=(worker,))

    name = f"{operation.name}: agent {mode} at {point} #{n}"
    return Fault(name, EXPECTED[f"host {mode}"], play, id)


def finished(
    stage: Stage, since: float, *jobs: Job, waits: Iterable[Worker] = (), also: str = ""
) -> Played:
    """Wait until the jobs are at rest, then look at everything."""
    stage.rest(*jobs)
    recovery = time.time() - since
    for worker in waits:
        worker.wait(10)
    found = oracle.problems(stage, *jobs)
    states = ", ".join(sorted({str(job.state).replace("_", " ") for job in jobs}))
    return Played(f"{states}{also}", found, max(0.0, recovery))


def _fired(worker: Worker, job: Job) -> bool:
    """Wait until the failpoint acts; False where the worker ended without passing it."""
    while not worker.acted.wait(0.02):
        if worker.ended.is_set():
            return worker.acted.is_set()
    return True

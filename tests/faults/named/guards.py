"""Each guard taken out in turn: the suite must notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jobs.models import Job
from tests.faults import oracle
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.workers import Worker, Workers


def mutations(workers: Workers) -> dict[str, list[str]]:
    """Name of the guard -> what broke without it; [] if it was not noticed. Each scene also runs
    with the guard in place, and then nothing may break."""
    found = {}
    for name, scene in SCENES.items():
        sound = scene(workers, "")
        if sound:
            raise AssertionError(f"{name}: broken even with the guard in place: {sound}")
        found[name] = noticed(name, scene(workers, name))
    return found


def noticed(guard: str, problems: list[str]) -> list[str]:
    """Of these problems what comes of the lack of that guard, and of nothing else."""
    return [problem for problem in problems if MARKS[guard] in problem]


def _fence(workers: Workers, mutation: str) -> list[str]:
    """A worker sleeps past its turn, and another job in the group has had the next one. No worker
    took over its own job: one that does asks for the late request first, which bars it."""
    with Stage(workers, BY_NAME["create"], mutation=mutation) as stage:
        job = stage.submit()
        first = stage.start(job, arm="send.before:1:stop")
        first.acted.wait(20)
        other = stage.submit(*stage.another())
        second = stage.start(other)
        stage.rest(other)
        first.go_on()
        return _judged(stage, [job, other], first, second)


def _dedup(workers: Workers, mutation: str) -> list[str]:
    """The agent dies after it has started an operation; the request reaches the next one again."""
    with Stage(workers, BY_NAME["add bcache"], mutation=mutation) as stage:
        stage.fake.arm("start.after", 1, "kill")
        job = stage.submit()
        worker = stage.start(job)
        return _judged(stage, [job], worker)


def _postcondition(workers: Workers, mutation: str) -> list[str]:
    """A command says that all went well, and did nothing."""
    with Stage(workers, BY_NAME["set lvmcache mode"], mutation=mutation) as stage:
        stage.fake.lie_next("lvchange")
        job = stage.submit()
        worker = stage.start(job)
        return _judged(stage, [job], worker)


def _judged(stage: Stage, jobs: Sequence[Job], *workers: Worker) -> list[str]:
    stage.rest(*jobs)
    for worker in workers:
        worker.wait(20)
    return oracle.problems(stage, *jobs)


SCENES: dict[str, Callable[[Workers, str], list[str]]] = {
    "fence": _fence,
    "dedup": _dedup,
    "postcondition": _postcondition,
}
MARKS = {
    "fence": "was accepted with turn",
    "dedup": "was accepted 2 times",
    "postcondition": "succeeded without",
}

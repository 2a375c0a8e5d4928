"""A part of the fault suite with every run of the tests; `make faults` plays all of it.

Each worker is a process that is really killed, PostgreSQL is real, and so is SSH.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from jobs import notify_workers
from jobs.engine import operation
from storage.agent.operations import execute
from tests.conftest import this_run, url_of
from tests.faults import mutation, named, sweep
from tests.faults.fault import Fault, endure
from tests.faults.named import guards
from tests.faults.operations import BY_NAME
from tests.faults.stage import quicken
from tests.faults.workers import Workers

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("faults"),
]

SWEPT = (
    ("add lvmcache", "intend.commit", 1, "kill"),
    ("add lvmcache", "send.after", 1, "kill"),
    ("create", "arrive.commit", 1, "drop"),
    ("remove lvmcache", "follow.commit", 1, "pause"),
    ("set bcache mode", "send.before", 1, "raise"),
)
NAMED = (
    "set lvmcache mode: the volume is removed by hand before step 1 is sent",
    "add lvmcache: worker stopped before it sends, another takes over, it goes on",
    "add lvmcache: two operators ask in the same moment",
    "set lvmcache mode: a preview from before another job is made real",
    "add lvmcache: a program wishes by what it read before another job (If-Match)",
    "add lvmcache: cancelled at boundary 2",
    "add lvmcache: nothing comes through any more while a command runs",
    "add lvmcache: the agent answers pool.create with half of its reply",
    "add lvmcache: agent kill at exec.after #1",
    "add lvmcache: another panel sends steps with higher turns all the while",
    "add lvmcache: root gives the host to another panel before the job begins",
    "benchmark of lvmcache: worker killed while fio runs",
    "benchmark of bcache: agent killed while fio runs",
    "benchmark of lvmcache: host loses its power while fio runs",
    "retire: the clock of the host is a day behind, and is set right a moment later",
)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """What forks workers, on the tests' database."""
    environment = os.environ | {"DATABASE_URL": url_of("app", this_run())}
    with Workers(environment, tmp_path_factory.mktemp("faults") / "workers.log") as made:
        yield made


@pytest.fixture
def workers(started: Workers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """Workers that end with the test; what `quicken` and `mutate_agent` set is put back."""
    monkeypatch.setattr(notify_workers, "send", notify_workers.send)
    monkeypatch.setattr(operation, "POLL_SECONDS", operation.POLL_SECONDS)
    monkeypatch.setattr(execute, "settled", execute.settled)
    quicken()
    mutation.mutate_agent()
    yield started
    started.kill()
    connection.close()


def chosen() -> list[Fault]:
    swept = [sweep.worker_fault(BY_NAME[name], *where) for name, *where in SWEPT]
    by_name = {fault.name: fault for fault in named.faults()}
    return [*swept, *(by_name[name] for name in NAMED)]


def test_a_representative_part_of_all_faults_is_survived(workers: Workers) -> None:
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda fault: endure(fault, workers), chosen()))
    assert [each.fault.name for each in outcomes if not each.reached] == []
    assert {each.fault.name: each.problems for each in outcomes if each.problems} == {}


@pytest.mark.parametrize("guard", mutation.MUTATIONS)
def test_the_suite_notices_when_a_guard_is_taken_out(workers: Workers, guard: str) -> None:
    scene = guards.SCENES[guard]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(scene, workers, "").result() == []
        assert guards.noticed(guard, pool.submit(scene, workers, guard).result()) != []

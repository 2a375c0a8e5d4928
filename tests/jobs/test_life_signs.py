"""Signs of life: what is written, and what is not."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs import life_signs
from jobs.engine import runner
from jobs.life_signs import Pool, Signer
from jobs.models import LifeSign
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


def signer() -> Signer:
    return Signer("worker", "worker@here", 2, ["jobs"])


@pytest.fixture
def working(monkeypatch: pytest.MonkeyPatch) -> Iterator[Signer]:
    """The signs of this process, as a worker's."""
    made = signer()
    monkeypatch.setattr(life_signs, "_signer", made)
    yield made


def test_a_process_signs_for_all_its_slots_in_one_statement(working: Signer) -> None:
    with CaptureQueriesContext(connection) as asked:
        working.sign()
    assert len(asked) == 1
    working.sign()
    signs = list(LifeSign.objects.order_by("slot"))
    assert [(each.slot, each.doing, each.busy_since) for each in signs] == [
        (0, "", None),
        (1, "", None),
    ]
    assert {(each.kind, each.node, each.queues) for each in signs} == {
        ("worker", "worker@here", "jobs")
    }


def test_a_task_and_the_job_in_it_are_what_its_slot_does(working: Signer) -> None:
    working.begin_task("jobs.tasks.run_due_jobs")
    with life_signs.at_job("a-job"):
        working.sign()
        first = LifeSign.objects.get(slot=0)
    assert first.doing == "a-job"
    assert first.busy_since is not None and first.took_at is not None
    working.sign()
    assert LifeSign.objects.get(slot=0).doing == "jobs.tasks.run_due_jobs"
    life_signs.end_task()
    working.sign()
    again = LifeSign.objects.get(slot=0)
    assert (again.doing, again.busy_since) == ("", None)
    assert again.took_at is not None


def test_a_thread_that_executes_no_tasks_is_no_slot_but_takes_jobs(working: Signer) -> None:
    with life_signs.at_job("a-job"):
        working.sign()
    assert not LifeSign.objects.exclude(doing="").exists()
    assert LifeSign.objects.filter(took_at=None).count() == 0


def test_a_job_that_is_run_is_signed(working: Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    def look(job: object) -> None:
        working.sign()
        done.append(LifeSign.objects.get(slot=0).doing)

    monkeypatch.setattr(runner, "advance", look)
    working.begin_task("a task")
    queued = job(scene())
    runner.run(queued.pk)
    assert done == [queued.key]


def test_an_idle_slot_that_nothing_reaches_does_not_sign(working: Signer) -> None:
    working.sign()
    before = dict(LifeSign.objects.values_list("slot", "seen_at"))
    working.turned = -math.inf
    working.begin_task("a task")
    working.sign()
    after = dict(LifeSign.objects.values_list("slot", "seen_at"))
    assert after[0] > before[0], "a busy one does"
    assert after[1] == before[1]
    life_signs.turn()
    working.sign()
    assert LifeSign.objects.get(slot=1).seen_at > before[1]


def test_a_pool_answers_while_one_of_its_threads_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        pool = Pool(executor)
        executor.submit(hold.wait)
        assert pool.answers()
        monkeypatch.setattr(life_signs, "HEARD_SECONDS", 0.0)
        assert not pool.answers()
        hold.set()
        executor.submit(time.monotonic).result()
        monkeypatch.setattr(life_signs, "HEARD_SECONDS", 60.0)
        assert pool.answers()
    assert not pool.answers() or not Pool(executor).answers()


def old(**fields: Any) -> LifeSign:
    given = {"kind": "worker", "node": "worker@there", "slot": 0, "seen_at": timezone.now()}
    return LifeSign.objects.create(**{**given, **fields})


def test_signs_of_processes_that_are_gone_are_removed() -> None:
    hours = timezone.now() - timedelta(hours=2)
    kept = {
        old(process="alive"),
        old(process="of another kind", kind="beat", seen_at=hours),
    }
    old(process="lost", seen_at=hours)
    old(process="stopped", is_stopped=True)
    replaced = old(process="before", node="worker@here")
    made = signer()
    made._execute(life_signs.PRUNE, is_first=False)
    assert set(LifeSign.objects.all()) == {*kept, replaced}
    made._execute(life_signs.PRUNE, is_first=True)
    assert set(LifeSign.objects.all()) == kept


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_stopped_says_so() -> None:
    made = signer()
    made.sign()
    made.stop()
    assert set(LifeSign.objects.values_list("is_stopped", flat=True)) == {True}


@pytest.mark.django_db(transaction=True)
def test_without_a_database_nothing_is_signed_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = signer()
    connection.close()
    with monkeypatch.context() as away:
        away.setitem(connection.settings_dict, "HOST", "/nowhere")
        made.sign()
        made.sign()
    assert caplog.text.count("no sign of life can be left") == 1
    made.sign()
    assert LifeSign.objects.count() == 2

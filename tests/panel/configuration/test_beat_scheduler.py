"""Celery's clock."""

import gc
import math
import socket
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import redis
import time_machine
from celery.beat import ScheduleEntry
from django.db import connection
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobs import standstill
from jobs.models import LifeSign
from panel.celery import app
from panel.configuration.beat_scheduler import REST_SECONDS, Scheduler, due_at


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler(app=app)


def test_everything_is_due_at_start(scheduler: Scheduler) -> None:
    assert scheduler.schedule
    assert all(entry.is_due().is_due for entry in scheduler.schedule.values())


def test_every_message_is_dropped_when_the_next_is_due(scheduler: Scheduler) -> None:
    for entry in scheduler.schedule.values():
        assert entry.options["expires"] == entry.schedule.seconds, entry.name


def test_every_shard_is_collected_on_its_own_queue(scheduler: Scheduler) -> None:
    entry = scheduler.schedule["collect-0"]
    assert (entry.task, entry.args, entry.options["queue"]) == (
        "jobs.tasks.collect_shard",
        (0,),
        "collect.0",
    )


def test_every_scheduled_task_exists(scheduler: Scheduler) -> None:
    app.loader.import_default_modules()
    assert {entry.task for entry in scheduler.schedule.values()} <= set(app.tasks)


@pytest.mark.django_db
def test_beat_signs_while_it_ticks(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(scheduler, "apply_entry", lambda entry, producer=None: sent.append(entry))
    scheduler.signer.turned = -math.inf
    scheduler.signer.sign()
    assert not standstill.work_record().is_living("beat")
    scheduler.tick()
    scheduler.signer.sign()
    assert standstill.work_record().is_living("beat")
    sign = LifeSign.objects.get()
    assert (sign.kind, sign.node) == ("beat", f"beat@{socket.gethostname()}")
    assert len(sent) == 1


@pytest.mark.django_db(transaction=True)
def test_beat_ticks_while_postgresql_is_away(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(scheduler, "apply_entry", lambda entry, producer=None: sent.append(entry))
    connection.close()
    with monkeypatch.context() as away:
        away.setitem(connection.settings_dict, "HOST", "/nowhere")
        scheduler.signer.sign()
        scheduler.tick()
    assert len(sent) == 1


def test_a_clock_that_is_set_back_puts_nothing_off(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(scheduler, "apply_entry", lambda entry, producer=None: sent.append(entry))
    every_entry = len(scheduler.schedule)
    with time_machine.travel(timezone.now() + timedelta(hours=5), tick=True):
        for _ in range(every_entry):
            scheduler.tick()
        assert len(sent) == every_entry
    for _ in range(every_entry):
        scheduler.tick()
    assert len(sent) == 2 * every_entry, "the clock is right again: each is due at once"


@pytest.mark.parametrize(
    ("late_seconds", "next_seconds"),
    [(0.0, 10.0), (0.3, 9.7), (6.0, 4.0), (9.9, 0.1), (12.0, 10.0)],
)
def test_a_task_that_is_late_puts_off_none_of_those_after_it(
    late_seconds: float, next_seconds: float
) -> None:
    every, last = timedelta(seconds=10), timezone.now()
    now = last + every + timedelta(seconds=late_seconds)
    due = due_at(last, now, every)
    assert (due + every - now).total_seconds() == pytest.approx(next_seconds)


def test_beat_that_stalls_sends_as_many_rounds_as_one_that_does_not(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[datetime] = []

    def note(entry: ScheduleEntry, producer: object = None) -> None:
        if entry.name == "collect-0":
            sent.append(timezone.now())

    monkeypatch.setattr(scheduler, "apply_entry", note)
    interval = scheduler.schedule["collect-0"].schedule.seconds
    began, stalls = timezone.now(), {3, 6}
    with time_machine.travel(began, tick=False) as clock:
        while timezone.now() < began + timedelta(seconds=10.5 * interval):
            clock.shift(max(scheduler.tick(), 0.004))
            if len(sent) in stalls:
                stalls.remove(len(sent))
                clock.shift(1.6 * interval)
    assert not stalls
    assert len(sent) == 11


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_while_redis_is_away_nothing_is_sent_and_nothing_lost(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(scheduler, "apply_entry", lambda entry, producer=None: sent.append(entry))
    here = scheduler.redis
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    scheduler.redis = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))
    before = descriptors()
    for _ in range(50):
        assert scheduler.tick() == REST_SECONDS
    assert sent == []
    assert descriptors() <= before
    assert len([line for line in caplog.messages if "Redis is unavailable" in line]) == 1
    scheduler.redis = here
    scheduler.tick()
    assert len(sent) == 1


def test_each_time_redis_comes_back_beat_connects_anew_and_keeps_no_old_connection(
    scheduler: Scheduler,
) -> None:
    def lose_and_find_again() -> None:
        scheduler.is_away = True
        scheduler.tick()
        gc.collect()

    for _ in range(3):
        lose_and_find_again()
    first, before = scheduler.producer, descriptors()
    rounds = 10
    for _ in range(rounds):
        lose_and_find_again()
    assert scheduler.producer is not first
    # An old connection that stays is a descriptor for each round; threads of earlier tests in this
    # process may open one of their own.
    assert descriptors() < before + rounds

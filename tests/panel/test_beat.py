"""Celery's clock."""

import pytest

from panel import broker
from panel.beat import MARK, Scheduler
from panel.celery import app


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


def test_a_tick_leaves_a_mark(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(scheduler, "apply_entry", lambda entry, producer=None: sent.append(entry))
    with broker.client() as client:
        client.delete(MARK)
        scheduler.tick()
        assert client.ttl(MARK) > 0
    assert len(sent) == 1

"""What becomes of an order when its job is over."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, connections
from django.utils import timezone
from pytest_django import Settings

from jobs.engine import runner, transitions
from jobs.models import Job, State
from panel import tasks
from panel.models import Order, OrderState
from panel.orders import due_orders, events
from storage.state_machine import IllegalTransition
from tests.panel.orders.till import buy, finish
from tests.panel.portal.shop import clean, plan, shop
from tests.scene import end, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def notified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events, as they come."""
    names: list[str] = []
    for name in ("completed", "failed"):
        monkeypatch.setattr(
            getattr(events, name), "send", lambda sender, order, name=name: names.append(name)
        )
    return names


def job_of(order: Order) -> Job:
    assert order.job is not None
    return Job.objects.get(pk=order.job.pk)


def test_while_the_job_works_or_needs_a_person_the_order_runs(notified: list[str]) -> None:
    made = buy(shop(), plan())
    for state in (State.RUNNING, State.WAITING, State.NEEDS_ATTENTION):
        lease = {"lease_owner": "w", "lease_until": timezone.now()}
        Job.objects.update(state=state, **(lease if state == State.RUNNING else {}))
        due_orders.sweep_orders()
        made.refresh_from_db()
        assert made.state == OrderState.RUNNING
    assert notified == []


def test_a_job_that_succeeded_completes_it_once_however_often_it_is_looked_at(
    settings: Settings, notified: list[str]
) -> None:
    settings.TIERCEL_REVERT_DAYS = 14
    made = buy(shop(), plan())
    stale = Order.objects.get(pk=made.pk)
    end(job_of(made))
    due_orders.sweep_orders()
    assert not due_orders.settle_order(stale)
    due_orders.sweep_orders()
    made.refresh_from_db()
    assert made.state == OrderState.COMPLETED
    assert made.ended_at is not None
    assert made.revert_until is not None
    assert made.revert_until - made.ended_at == timedelta(days=14)
    assert notified == ["completed"]


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELLED])
def test_a_job_that_did_not_succeed_fails_it_in_the_customers_words(
    state: State, notified: list[str]
) -> None:
    acme = shop()
    made = buy(acme, plan())
    end(job_of(made), state, error={"code": "x", "message": "lvcreate failed on vg0"})
    due_orders.sweep_orders()
    due_orders.sweep_orders()
    made.refresh_from_db()
    assert made.state == OrderState.FAILED
    assert clean(made.reason)
    assert made.revert_until is None
    assert acme.volume.cache_plan is None
    assert notified == ["failed"]


def test_a_failed_order_is_out_of_the_way_of_the_next() -> None:
    acme, fast = shop(), plan()
    finish(buy(acme, fast), State.FAILED)
    assert buy(acme, fast).state == OrderState.RUNNING


def test_an_order_whose_worker_died_ends_with_the_worker_that_takes_over(
    notified: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = shop()
    made = buy(acme, plan())
    dead = transitions.claim(job_of(made).pk, "dead")
    assert dead is not None
    step(dead, state="running", op_id=uuid.uuid4(), started_at=timezone.now())
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    due_orders.sweep_orders()
    made.refresh_from_db()
    assert made.state == OrderState.RUNNING

    def over(job: Job) -> None:
        job.step_set.update(state="done")
        runner.finish_job(job, State.SUCCEEDED)

    monkeypatch.setattr(runner, "advance", over)
    runner.run(dead.pk)
    due_orders.sweep_orders()
    made.refresh_from_db()
    assert made.state == OrderState.COMPLETED
    assert notified == ["completed"]


@pytest.mark.parametrize("error", [ValueError, IntegrityError, OperationalError])
def test_one_order_that_breaks_the_program_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    acme, zebra, fast = shop(), shop("Zebra"), plan()
    first, second = buy(acme, fast), buy(zebra, fast)
    end(job_of(first))
    end(job_of(second))
    said = due_orders.settle_order

    def broken(order: Order) -> bool:
        if order.pk == first.pk:
            raise error
        return said(order)

    monkeypatch.setattr(due_orders, "settle_order", broken)
    due_orders.sweep_orders()
    second.refresh_from_db()
    assert second.state == OrderState.COMPLETED


def test_without_a_database_the_round_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    end(job_of(buy(shop(), plan())))

    def gone(order: Order) -> bool:
        raise OperationalError

    monkeypatch.setattr(due_orders, "settle_order", gone)
    monkeypatch.setattr(connections["default"], "is_usable", lambda: False)
    with pytest.raises(OperationalError):
        due_orders.sweep_orders()


def test_a_move_that_no_order_makes_is_an_error_and_a_late_one_is_none() -> None:
    made = buy(shop(), plan())
    with pytest.raises(IllegalTransition):
        made.transition(OrderState.COMPLETED, OrderState.RUNNING)
    assert not made.transition(OrderState.PENDING, OrderState.RUNNING)
    assert made.transition(OrderState.RUNNING, OrderState.FAILED, reason="x")
    assert made.ended_at is not None


def test_the_task_of_the_clock_sweeps(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    swept: list[int] = []
    monkeypatch.setattr(due_orders, "sweep_orders", lambda: swept.append(1))
    names = [entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()]
    assert tasks.sweep_orders.name in names
    tasks.sweep_orders()
    assert swept == [1]

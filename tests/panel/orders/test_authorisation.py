"""The word an order waits for is taken once, no matter who says it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobs.engine.transitions import claim
from jobs.models import Job, State
from jobs.queue import submit as submission
from jobs.requester import Requester
from panel.models import Order, OrderState
from panel.orders import authorisation, due_orders, events
from panel.orders.order_request import OrderRefused
from storage.models import Customer
from tests.panel.orders.till import buy, finish, mandate
from tests.panel.portal.shop import plan, shop

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(settings: Settings) -> Order:
    """An order that the billing system is being asked about."""
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    return buy(shop(), plan())


@pytest.fixture
def notified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the events, as they come."""
    names: list[str] = []
    for name in ("completed", "failed", "refused", "cancelled"):
        signal = getattr(events, name)
        monkeypatch.setattr(
            signal, "send", lambda sender, order, name=name: names.append(f"{name} {order.state}")
        )
    return names


def job_of(order: Order) -> Job:
    assert order.job is not None
    return Job.objects.get(pk=order.job.pk)


def test_approved_the_work_begins_and_only_then(asked: Order, sent: list[int]) -> None:
    assert claim(job_of(asked).pk, "worker") is None
    assert authorisation.approve(asked)
    assert asked.state == OrderState.RUNNING
    assert sent == [job_of(asked).pk]
    assert claim(job_of(asked).pk, "worker") is not None


def test_approved_twice_it_begins_once(asked: Order, sent: list[int]) -> None:
    again = Order.objects.get(pk=asked.pk)
    assert authorisation.approve(asked)
    assert not authorisation.approve(again)
    assert not authorisation.refuse(again, "No.")
    assert not authorisation.hold_order(again)
    assert len(sent) == 1


def test_refused_the_reason_is_the_customers_and_nothing_is_charged(
    asked: Order, notified: list[str]
) -> None:
    assert authorisation.refuse(asked, " Your card has expired. ")
    assert (asked.state, asked.reason_code) == (OrderState.REFUSED, "refused")
    assert asked.reason == "Your card has expired."
    assert asked.ended_at is not None
    assert job_of(asked).state == State.CANCELLED
    assert asked.volume.cache_plan is None
    assert notified == ["refused refused"]
    assert not authorisation.approve(asked)
    assert job_of(asked).state == State.CANCELLED


def test_refused_without_a_reason_there_is_one(asked: Order) -> None:
    authorisation.refuse(asked, " ")
    assert asked.reason == authorisation.DECLINED


def test_after_pending_either_word_counts(asked: Order) -> None:
    assert authorisation.hold_order(asked)
    assert asked.state == OrderState.PENDING
    assert not authorisation.hold_order(asked)
    assert authorisation.approve(asked)


def test_without_an_answer_in_time_the_order_is_refused(asked: Order, notified: list[str]) -> None:
    due_orders.sweep_orders()
    asked.refresh_from_db()
    assert asked.state == OrderState.AUTHORISING
    Order.objects.update(authorise_by=timezone.now() - timedelta(seconds=1))
    due_orders.sweep_orders()
    due_orders.sweep_orders()
    asked.refresh_from_db()
    assert (asked.state, asked.reason_code) == (OrderState.REFUSED, "billing_timeout")
    assert "Nothing was charged" in asked.reason
    assert job_of(asked).state == State.CANCELLED
    assert notified == ["refused refused"]


def test_a_provider_who_trusts_lets_it_begin_then(asked: Order, settings: Settings) -> None:
    settings.TIERCEL_BILLING_TIMEOUT = "approve"
    authorisation.hold_order(asked)
    Order.objects.update(authorise_by=timezone.now() - timedelta(seconds=1))
    due_orders.sweep_orders()
    asked.refresh_from_db()
    assert asked.state == OrderState.RUNNING
    assert job_of(asked).awaits == ""


@pytest.mark.parametrize("code", ["suspended", "over_cap"])
def test_what_was_forbidden_meanwhile_does_not_begin_for_want_of_an_answer(
    asked: Order, settings: Settings, code: str
) -> None:
    settings.TIERCEL_BILLING_TIMEOUT = "approve"
    authorisation.hold_order(asked)
    if code == "suspended":
        Customer.objects.update(suspended_at=timezone.now())
    else:
        mandate(asked.customer, cap_charge_minor=100)
    Order.objects.update(authorise_by=timezone.now() - timedelta(seconds=1))
    due_orders.sweep_orders()
    asked.refresh_from_db()
    assert (asked.state, asked.reason_code) == (OrderState.REFUSED, code)


def test_a_mandate_that_covers_the_order_itself_and_no_more_lets_it_begin(
    asked: Order, settings: Settings
) -> None:
    settings.TIERCEL_BILLING_TIMEOUT = "approve"
    mandate(asked.customer, cap_charge_minor=490, cap_period_minor=490)
    Order.objects.update(authorise_by=timezone.now() - timedelta(seconds=1))
    due_orders.sweep_orders()
    asked.refresh_from_db()
    assert asked.state == OrderState.RUNNING


@pytest.mark.parametrize("is_pending", [False, True])
def test_a_customer_thinks_better_of_it(
    asked: Order, notified: list[str], is_pending: bool
) -> None:
    if is_pending:
        authorisation.hold_order(asked)
    authorisation.cancel_order(asked, Requester(asked.actor, None))
    assert asked.state == OrderState.CANCELLED
    assert job_of(asked).state == State.CANCELLED
    assert notified == ["cancelled cancelled"]


def test_once_it_runs_or_is_over_it_is_too_late() -> None:
    running = buy(shop(), plan())
    for _ in range(2):
        with pytest.raises(OrderRefused) as refused:
            authorisation.cancel_order(running, Requester(running.actor, None))
        assert refused.value.code == "too_late"
        assert job_of(running).state in (State.QUEUED, State.SUCCEEDED)
        if running.is_open:
            finish(running)


def test_staff_who_cancel_the_waiting_job_end_the_order(asked: Order, notified: list[str]) -> None:
    submission.cancel(job_of(asked), None)
    due_orders.sweep_orders()
    asked.refresh_from_db()
    assert (asked.state, asked.reason_code) == (OrderState.FAILED, "stopped")
    assert "stopped by your provider" in asked.reason
    assert not authorisation.approve(asked)
    assert notified == ["failed failed"]

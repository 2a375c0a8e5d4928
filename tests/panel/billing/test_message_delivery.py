"""Messages to the billing system, and what becomes of orders by its answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from jobs import notify_workers
from jobs.models import Job, State
from panel.billing import outbox
from panel.billing.message_delivery import send_due_messages
from panel.deliveries import delivery_queue
from panel.deliveries.http_post import Answer
from panel.models import Endpoint, Message, MessageType, Order, OrderState, UsageLine
from panel.orders import authorisation
from panel.orders.due_orders import sweep_orders
from tests.panel.billing.desk import SECRET, Desk
from tests.panel.orders.till import buy, finish
from tests.panel.portal.shop import buyer, plan, shop

pytestmark = pytest.mark.django_db
APPROVE, PENDING = {"decision": "approve"}, {"decision": "pending"}
REFUSE = {"decision": "refuse", "reason": "Your card was declined."}


@pytest.fixture(autouse=True)
def billing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """There is one; the tasks that workers were notified of."""
    settings.TIERCEL_BILLING_URL = "http://localhost:9/hook"
    settings.TIERCEL_BILLING_SECRETS = [SECRET]
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    sent_tasks: list[Any] = []
    monkeypatch.setattr(notify_workers, "send", lambda *args: sent_tasks.append(args) or True)
    return sent_tasks


@pytest.fixture
def order() -> Order:
    """One that costs something and waits for the billing system."""
    made = buy(shop(), plan())
    assert made.state == OrderState.AUTHORISING
    return made


def again_at_once() -> None:
    """Let the time until the next try have passed."""
    Message.objects.unsent().update(next_at=Now() - timedelta(seconds=1))


def end_of(order: Order) -> tuple[str, str, bool]:
    """The order's state, its job's, and whether that still awaits a word."""
    order.refresh_from_db()
    job = Job.objects.get(pk=order.job_id)
    return order.state, job.state, bool(job.awaits)


def test_an_order_asks_before_any_worker_may_begin(order: Order) -> None:
    [message] = Message.objects.all()
    assert (message.type, message.order) == (MessageType.AUTHORISE, order)
    data = message.payload["data"]
    assert (data["order"], data["charge_minor"]) == (order.key, order.charge_minor)
    assert data["to_plan"]["name"] == "Fast"
    assert end_of(order) == ("authorising", State.QUEUED, True)


def test_a_worker_is_notified_once_the_order_is_stored(
    billing: list[Any], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        buy(shop(), plan())
    assert (outbox.TASK,) in billing


def test_an_approved_order_runs(order: Order) -> None:
    assert send_due_messages(Desk(APPROVE)) == 1
    assert end_of(order) == ("running", State.QUEUED, False)
    assert Message.objects.get().delivered_at is not None
    assert send_due_messages(Desk(REFUSE)) == 0


def test_a_refused_order_charges_and_changes_nothing(order: Order) -> None:
    desk = Desk(REFUSE, 200)
    send_due_messages(desk)
    assert end_of(order) == ("refused", State.CANCELLED, True)
    assert order.reason == "Your card was declined."
    assert desk.types == ["order.authorise", "order.refused"]
    assert not UsageLine.objects.exists()


def test_a_pending_order_waits_and_is_asked_no_more(order: Order) -> None:
    desk = Desk(PENDING)
    send_due_messages(desk)
    again_at_once()
    send_due_messages(desk)
    assert len(desk.got) == 1
    assert end_of(order) == ("pending", State.QUEUED, True)
    assert authorisation.approve(order)
    assert end_of(order) == ("running", State.QUEUED, False)


@pytest.mark.parametrize("silence", [None, 500, 503, 302, 404, 200, {"decision": "maybe"}])
def test_whatever_is_no_decision_is_asked_again_under_the_same_name(
    order: Order, silence: Any
) -> None:
    desk = Desk(silence, APPROVE)
    send_due_messages(desk)
    message = Message.objects.get()
    assert (message.attempts, message.delivered_at) == (1, None)
    assert message.last_error
    assert message.next_at > timezone.now()
    assert end_of(order) == ("authorising", State.QUEUED, True)
    again_at_once()
    send_due_messages(desk)
    assert [each.name for each in desk.got] == [message.name] * 2
    assert end_of(order) == ("running", State.QUEUED, False)


@pytest.mark.parametrize(
    ("policy", "end"),
    [
        ("refuse", ("refused", State.CANCELLED, True)),
        ("approve", ("running", State.QUEUED, False)),
    ],
)
def test_no_answer_comes_in_time(order: Order, settings: Settings, policy: str, end: Any) -> None:
    settings.TIERCEL_BILLING_TIMEOUT = policy
    send_due_messages(Desk(None))
    Order.objects.update(authorise_by=timezone.now() - timedelta(seconds=1))
    sweep_orders()
    assert end_of(order) == end
    again_at_once()
    desk = Desk(200)
    send_due_messages(desk)
    assert "order.authorise" not in desk.types
    asked = Message.objects.get(type=MessageType.AUTHORISE)
    assert (asked.delivered_at, asked.given_up_at is not None) == (None, True)
    assert not UsageLine.objects.exists()


def test_an_answer_that_comes_too_late_changes_nothing(order: Order) -> None:
    class Slow(Desk):
        def __call__(self, message: Message) -> Any:
            if message.type == MessageType.AUTHORISE:
                authorisation.refuse(order, "Too late.")
            return super().__call__(message)

    desk = Slow(APPROVE)
    send_due_messages(desk)
    assert end_of(order) == ("refused", State.CANCELLED, True)
    assert desk.types == ["order.authorise", "order.refused"]


def test_a_completed_order_is_reported_and_charged_once(order: Order) -> None:
    desk = Desk(APPROVE)
    send_due_messages(desk)
    finish(order)
    send_due_messages(desk)
    assert desk.types == ["order.authorise", "order.completed", "usage.line"]
    line = desk.got[2].payload["data"]
    assert line["id"] == f"{order.key}-charge"
    assert (line["amount_minor"], line["currency"]) == (order.charge_minor, "EUR")
    sweep_orders()
    assert send_due_messages(desk) == 0


def test_a_job_that_fails_after_its_approval_is_reported_and_charges_nothing(order: Order) -> None:
    desk = Desk(APPROVE)
    send_due_messages(desk)
    order.refresh_from_db()
    finish(order, State.FAILED)
    send_due_messages(desk)
    assert desk.types == ["order.authorise", "order.failed"]
    assert desk.got[1].payload["data"]["reason"] == order.reason
    assert not UsageLine.objects.exists()


def test_without_answers_nothing_is_lost_and_then_nothing_comes_twice(order: Order) -> None:
    send_due_messages(Desk(APPROVE))
    finish(order)
    down = Desk(None)
    assert send_due_messages(down) == 1
    again_at_once()
    assert send_due_messages(down) == 1
    again_at_once()
    up = Desk(200)
    assert send_due_messages(up) == 2
    assert sorted(up.types) == ["order.completed", "usage.line"]
    again_at_once()
    assert send_due_messages(up) == 0


@pytest.mark.parametrize(("asked", "least", "most"), [(600.0, 600, 720), (86400.0, 3600, 4320)])
def test_a_billing_system_that_asks_for_a_pause_gets_it_within_an_hour(
    order: Order, asked: float, least: int, most: int
) -> None:
    before = timezone.now()
    assert send_due_messages(Desk(Answer(429, b"", asked))) == 1
    after = timezone.now()
    tried = Message.objects.get()
    assert (tried.last_status, tried.attempts) == (429, 1)
    assert before + timedelta(seconds=least) <= tried.next_at <= after + timedelta(seconds=most)


def test_a_message_whose_sender_died_is_sent_again(order: Order) -> None:
    claimed = delivery_queue.claim(Message.objects.due())
    assert claimed is not None
    assert delivery_queue.claim(Message.objects.due()) is None
    again_at_once()
    assert send_due_messages(Desk(APPROVE)) == 1
    assert end_of(order) == ("running", State.QUEUED, False)


def test_a_gone_address_gets_nothing_more_until_it_is_enabled(order: Order) -> None:
    send_due_messages(Desk(410))
    assert Endpoint.objects.get().disabled_at is not None
    again_at_once()
    desk = Desk(APPROVE)
    assert send_due_messages(desk) == 0
    Endpoint.objects.update(disabled_at=None)
    assert send_due_messages(desk) == 1


def test_after_days_in_vain_a_message_is_given_up_and_can_be_sent_again(order: Order) -> None:
    authorisation.cancel_order(order, None)
    Message.objects.filter(type=MessageType.CANCELLED).update(attempts=9)
    send_due_messages(Desk(500))
    cancelled = Message.objects.get(type=MessageType.CANCELLED)
    assert cancelled.given_up_at is not None
    assert cancelled.last_status == 500
    outbox.send_message_again(cancelled)
    desk = Desk(200)
    send_due_messages(desk)
    assert desk.types == ["order.cancelled"]
    assert desk.got[0].name == cancelled.name


def test_a_slow_billing_system_holds_up_a_few_workers_and_no_more(order: Order) -> None:
    busy = connection.copy()
    try:
        with busy.cursor() as cursor:
            every = "SELECT pg_advisory_lock(hashtext(%s), n) FROM generate_series(1, %s) AS n"
            cursor.execute(every, [outbox.TASK, outbox.SENDERS])
            assert send_due_messages(Desk(APPROVE)) == 0
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s), 1)", [outbox.TASK])
            assert send_due_messages(Desk(APPROVE)) == 1
            cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s), 1)", [outbox.TASK])
            assert cursor.fetchone() == (True,)
    finally:
        busy.close()


def test_questions_without_a_waiting_order_are_forgotten_and_what_was_given_up_is_not(
    order: Order,
) -> None:
    authorisation.cancel_order(order, None)
    Message.objects.update(given_up_at=timezone.now() - timedelta(days=91))
    outbox.prune_billing_messages(timezone.now())
    assert Message.objects.get().type == MessageType.CANCELLED


def test_questions_go_first() -> None:
    first = buy(shop(), plan())
    authorisation.cancel_order(first, None)
    buy(shop("Zebra"), plan("Faster", price_minor=990))
    desk = Desk(APPROVE)
    send_due_messages(desk)
    assert desk.types == ["order.authorise", "order.cancelled"]


def test_no_message_names_a_host_or_is_large(order: Order) -> None:
    text = str(Message.objects.get().payload)
    assert shop("Zebra").there.host.name[:-1] not in text
    assert len(text) < 20_000


def test_without_a_billing_system_nothing_is_written(settings: Settings) -> None:
    settings.TIERCEL_BILLING_URL = ""
    order = buy(shop(), plan())
    assert order.state == OrderState.RUNNING
    finish(order)
    assert not Message.objects.exists() and not UsageLine.objects.exists()
    assert send_due_messages(Desk(APPROVE)) == 0


def test_nothing_is_sent_unsigned(order: Order, settings: Settings) -> None:
    settings.TIERCEL_BILLING_SECRETS = []
    assert send_due_messages() == 1
    assert "nothing is sent unsigned" in Message.objects.get().last_error


def test_a_pending_question_that_staff_send_again_is_answered_again(order: Order) -> None:
    send_due_messages(Desk(PENDING))
    outbox.send_message_again(Message.objects.get())
    send_due_messages(Desk(APPROVE))
    assert end_of(order) == ("running", State.QUEUED, False)


def test_a_customers_own_request_asks_through_the_second_wall() -> None:
    acme, fast = shop(), plan()
    path = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    answer = buyer(acme.owner).post(path, {"price_minor": 490, "currency": "EUR"})
    assert answer.status_code == 302
    assert Message.objects.get().type == MessageType.AUTHORISE
    assert Order.objects.get().state == OrderState.AUTHORISING

"""A lower price begins with the next period, unless the customer wants it at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job, Kind, State
from jobs.requester import Requester
from panel.models import Intent, Order, OrderState
from panel.orders import authorisation, due_orders, events
from panel.orders.pricing.quote import period
from storage.models import CachePlan, Customer, Host, Volume
from storage.volumes.plan_offers import NOT_NOW
from tests.panel.orders.till import buy, finish, has_cache, refusal
from tests.panel.portal.shop import Shop, plan, shop
from tests.scene import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def fast() -> CachePlan:
    return plan()


@pytest.fixture
def acme(fast: CachePlan) -> Shop:
    """A customer who bought a cache."""
    acme = shop()
    finish(buy(acme, fast))
    has_cache(acme)
    return acme


def leave(acme: Shop, **fields: str) -> Order:
    """The customer wants no cache any more."""
    return buy(acme, None, **{"when": None, **fields})


def come(order: Order, ago: timedelta = timedelta(seconds=1)) -> Order:
    """Its time has come, and the panel looks; the pause after the last look is over."""
    Order.objects.filter(pk=order.pk).update(due_at=timezone.now() - ago, again_at=None)
    due_orders.sweep_orders()
    order.refresh_from_db()
    return order


def test_it_waits_for_the_end_of_the_period_without_a_job(acme: Shop) -> None:
    made = leave(acme)
    assert (made.state, made.intent, made.job) == (OrderState.SCHEDULED, Intent.DOWNGRADE, None)
    assert made.due_at == period(made.created_at)[1] == made.next_invoice_at
    assert (made.charge_minor, made.credit_minor, made.next_invoice_minor) == (0, 0, 0)
    due_orders.sweep_orders()
    made.refresh_from_db()
    assert made.state == OrderState.SCHEDULED


def test_at_once_the_rest_of_the_month_is_a_credit(acme: Shop) -> None:
    made = leave(acme, when="now")
    assert (made.state, made.due_at, made.charge_minor) == (OrderState.RUNNING, None, 0)
    assert made.next_invoice_minor == -made.credit_minor


def test_a_smaller_plan_waits_too_and_a_dearer_one_cannot(acme: Shop) -> None:
    assert buy(acme, plan("Small", price_minor=290), when=None).state == OrderState.SCHEDULED
    assert refusal(acme, plan("Big", price_minor=990), when="period_end").code == "unavailable"


def test_when_its_time_has_come_it_begins(acme: Shop, sent: list[int]) -> None:
    made = come(leave(acme))
    assert made.state == OrderState.RUNNING
    assert made.job is not None
    assert (made.job.kind, made.job.price_minor) == (Kind.REMOVE_CACHE, 0)
    assert sent[-1] == made.job.pk
    finish(made)
    assert (made.state, acme.volume.cache_plan) == (OrderState.COMPLETED, None)


def test_looked_at_twice_it_begins_once(acme: Shop) -> None:
    made = come(leave(acme))
    jobs = Job.objects.count()
    come(made)
    assert Job.objects.count() == jobs


def test_until_then_the_customer_may_cancel_it(acme: Shop) -> None:
    made = leave(acme)
    authorisation.cancel_order(made, Requester(acme.owner, None))
    assert made.state == OrderState.CANCELLED
    assert come(made).job is None


def test_a_new_order_takes_its_place(acme: Shop) -> None:
    first, second = leave(acme), buy(acme, plan("Big", price_minor=990, size_bytes=3 * 2**30))
    first.refresh_from_db()
    assert (first.state, first.reason_code) == (OrderState.CANCELLED, "replaced")
    assert second.state == OrderState.RUNNING


def test_a_refused_order_leaves_it_as_it_is(acme: Shop) -> None:
    first = leave(acme)
    refusal(acme, plan("Gone", on_offer=False))
    first.refresh_from_db()
    assert first.state == OrderState.SCHEDULED


def test_a_job_in_the_way_is_waited_for(acme: Shop) -> None:
    by_staff = job(acme.there)
    assert come(leave_despite(acme, by_staff)).state == OrderState.SCHEDULED
    Job.objects.filter(pk=by_staff.pk).update(state=State.CANCELLED, ended_at=timezone.now())
    assert come(Order.objects.get(state=OrderState.SCHEDULED)).state == OrderState.RUNNING


def leave_despite(acme: Shop, by_staff: Job) -> Order:
    """Ordered before the provider's job was there."""
    Job.objects.filter(pk=by_staff.pk).update(state=State.CANCELLED, ended_at=timezone.now())
    made = leave(acme)
    Job.objects.filter(pk=by_staff.pk).update(state=State.QUEUED, ended_at=None)
    return made


def test_a_suspended_customer_still_gets_out(acme: Shop) -> None:
    made = leave(acme)
    Customer.objects.update(suspended_at=timezone.now())
    assert come(made).state == OrderState.RUNNING


@pytest.mark.parametrize(
    ("since", "code"),
    [
        ({"retired_at": timezone.now(), "cache_plan": None}, "not_allowed"),
        ({"destroyed_at": timezone.now()}, "not_allowed"),
        ({"cache_plan": None}, "changed_since"),
    ],
)
def test_a_volume_that_was_switched_off_since_is_not_switched_on_by_it(
    acme: Shop, since: dict[str, Any], code: str
) -> None:
    made, jobs = buy(acme, plan("Small", price_minor=290), when=None), Job.objects.count()
    Volume.objects.filter(pk=acme.volume.pk).update(**since)
    made = come(made)
    assert (made.state, made.reason_code) == (OrderState.CANCELLED, code)
    assert Job.objects.count() == jobs


def test_a_plan_retired_since_is_still_the_one_agreed_on(acme: Shop) -> None:
    small = plan("Small", price_minor=290, size_bytes=3 * 2**30)
    made = buy(acme, small, when=None)
    CachePlan.objects.filter(pk=small.pk).update(on_offer=False, price_minor=390)
    made = come(made)
    assert (made.state, made.price_minor) == (OrderState.RUNNING, 290)


def test_a_host_out_of_reach_is_waited_for_a_day_and_then_it_has_failed(
    acme: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[Order] = []
    monkeypatch.setattr(events.failed, "send", lambda sender, order: failed.append(order))
    made = leave(acme)
    Host.objects.update(state="quarantined")
    assert come(made).state == OrderState.SCHEDULED
    made = come(made, timedelta(days=1, seconds=1))
    assert (made.state, made.reason_code) == (OrderState.FAILED, "unavailable")
    assert made.reason == NOT_NOW
    assert failed == [made]

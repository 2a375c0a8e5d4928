"""A free trial: once, from no cache, and back by itself unless it is ordered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job, Kind, State
from panel.models import Intent, Order, OrderState
from panel.orders import due_orders
from storage.models import CachePlan, Volume
from tests.panel.orders.till import buy, finish, has_cache, refusal, take_back
from tests.panel.portal.shop import Shop, buyer, plan, seen, shop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _seven_days(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7.0


@pytest.fixture
def fast() -> CachePlan:
    return plan()


@pytest.fixture
def acme() -> Shop:
    return shop()


@pytest.fixture
def tried(acme: Shop, fast: CachePlan) -> Order:
    """A trial that is on."""
    made = buy(acme, fast, trial=True)
    finish(made)
    has_cache(acme)
    return made


def pass_by(tried: Order) -> None:
    """Its time is over, and the panel looks."""
    Order.objects.filter(pk=tried.pk).update(trial_until=timezone.now() - timedelta(seconds=1))
    due_orders.sweep_orders()


def test_it_costs_nothing_and_asks_for_no_authorisation(
    acme: Shop, fast: CachePlan, settings: Settings
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = True
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    made = buy(acme, fast, trial=True)
    assert (made.intent, made.state) == (Intent.TRIAL, OrderState.RUNNING)
    assert (made.price_minor, made.charge_minor, made.next_invoice_minor) == (0, 0, 0)


def test_its_time_runs_from_when_the_cache_is_on(tried: Order) -> None:
    assert tried.ended_at is not None
    assert tried.trial_until == tried.revert_until == tried.ended_at + timedelta(days=7)


def test_a_promised_trial_lasts_though_none_is_offered_any_more(
    acme: Shop, fast: CachePlan, settings: Settings
) -> None:
    made = buy(acme, fast, trial=True)
    settings.TIERCEL_TRIAL_DAYS = 0
    finish(made)
    assert made.ended_at is not None
    assert made.trial_until is not None
    assert made.trial_until - made.ended_at > timedelta(days=6.9)


def test_a_volume_that_is_switched_off_is_left_alone(acme: Shop, tried: Order) -> None:
    Volume.objects.filter(pk=acme.volume.pk).update(retired_at=timezone.now())
    pass_by(tried)
    assert Order.objects.count() == 1


def test_where_none_is_offered_none_is_had(acme: Shop, fast: CachePlan, settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 0
    assert refusal(acme, fast, trial=True).code == "trial"


def test_a_volume_with_a_cache_has_nothing_to_try(acme: Shop, fast: CachePlan) -> None:
    has_cache(acme)
    assert refusal(acme, fast, trial=True).code == "trial"


def test_it_is_had_once_but_one_that_failed_is_none(acme: Shop, fast: CachePlan) -> None:
    finish(buy(acme, fast, trial=True), State.FAILED)
    finish(buy(acme, fast, trial=True))
    finish(buy(acme, None))
    assert refusal(acme, fast, trial=True).code == "trial"


def test_when_its_time_is_over_it_is_taken_back_by_itself(acme: Shop, tried: Order) -> None:
    due_orders.sweep_orders()
    assert Order.objects.count() == 1
    pass_by(tried)
    due_orders.sweep_orders()
    back = Order.objects.exclude(pk=tried.pk).get()
    assert (back.intent, back.reverts, back.to_plan) == (Intent.REVERT, tried, None)
    assert (back.state, back.actor, back.charge_minor) == (OrderState.RUNNING, None, 0)
    assert back.job is not None
    assert back.job.kind == Kind.REMOVE_CACHE
    finish(back)
    due_orders.sweep_orders()
    assert Order.objects.count() == 2
    assert acme.volume.cache_plan is None


def test_a_way_back_that_failed_is_tried_again_after_a_while(tried: Order) -> None:
    pass_by(tried)
    finish(Order.objects.exclude(pk=tried.pk).get(), State.FAILED)
    due_orders.sweep_orders()
    assert Order.objects.count() == 2
    Order.objects.filter(reverts=tried).update(ended_at=timezone.now() - timedelta(minutes=11))
    due_orders.sweep_orders()
    assert Order.objects.filter(reverts=tried).count() == 2


def test_ordered_for_money_it_stays_and_the_host_is_asked_for_nothing_new(
    acme: Shop, tried: Order, fast: CachePlan
) -> None:
    kept = buy(acme, fast)
    assert (kept.intent, kept.price_minor, kept.from_plan) == (Intent.UPGRADE, 490, fast)
    assert kept.job is not None
    assert kept.job.kind == Kind.SET_CACHE
    assert kept.job.fallback is None, "the wish is what the volume is already"
    pass_by(tried)
    assert Order.objects.count() == 2
    finish(kept)
    due_orders.sweep_orders()
    assert Order.objects.count() == 2
    assert refusal(acme, fast).code == "same_plan"


def test_a_trial_that_was_kept_is_taken_back_to_no_cache_for_a_credit(
    acme: Shop, tried: Order, fast: CachePlan
) -> None:
    kept = buy(acme, fast)
    finish(kept)
    page = seen(buyer(acme.owner), "my-order-revert", kept.key)
    assert "Remove the cache?" in page
    back = take_back(kept, acme.owner)
    assert (back.intent, back.to_plan, back.price_minor) == (Intent.REVERT, None, 0)
    assert back.charge_minor == 0
    finish(back)
    assert acme.volume.cache_plan is None


def test_who_orders_another_plan_on_a_trial_goes_back_to_no_cache(
    acme: Shop, tried: Order, settings: Settings
) -> None:
    """The trial is over then: its plan would have to be paid for, without end."""
    settings.TIERCEL_MANDATE_REQUIRED = False
    bigger = buy(acme, plan("Big", price_minor=990, size_bytes=4 * 2**30))
    finish(bigger)
    page = seen(buyer(acme.owner), "my-order-revert", bigger.key)
    assert "no cache" in page and "4.90" not in page
    back = take_back(bigger, acme.owner)
    assert (back.to_plan, back.price_minor, back.charge_minor) == (None, 0, 0)
    finish(back)
    assert acme.volume.cache_plan is None


def test_the_page_that_orders_on_a_trial_says_where_the_way_back_leads(
    acme: Shop, tried: Order
) -> None:
    bigger = plan("Big", price_minor=990, size_bytes=4 * 2**30)
    page = seen(buyer(acme.owner), "my-plan-confirm", acme.volume.key, bigger.key)
    assert "Your volume then returns to no cache." in page
    assert "returns to the plan" not in page


def test_a_keeping_order_that_fails_does_not_keep_it(
    acme: Shop, tried: Order, fast: CachePlan
) -> None:
    finish(buy(acme, fast), State.FAILED)
    pass_by(tried)
    assert Order.objects.filter(reverts=tried, state=OrderState.RUNNING).exists()


def test_when_its_time_is_over_no_order_holds_it_open(
    acme: Shop, tried: Order, fast: CachePlan, settings: Settings
) -> None:
    """One that is refused for want of money again and again would make it last for ever."""
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    Order.objects.filter(pk=tried.pk).update(trial_until=timezone.now() - timedelta(seconds=1))
    for wanted in (fast, plan("Big", price_minor=990, size_bytes=3 * 2**30)):
        refused = refusal(acme, wanted)
        assert (refused.code, "has ended" in refused.message) == ("trial", True)
    assert buy(acme, None).state == OrderState.RUNNING


def test_a_trial_is_ended_early_without_a_credit(acme: Shop, tried: Order) -> None:
    made = buy(acme, None, when=None)
    assert (made.state, made.credit_minor) == (OrderState.RUNNING, 0)
    finish(made)
    pass_by(tried)
    assert Order.objects.count() == 2
    assert Job.objects.count() == 2

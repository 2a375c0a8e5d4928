"""What is in the way of an order is waited for less and less impatiently, and reported once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from panel.models import Intent, Order, OrderState
from panel.orders import due_orders
from panel.orders.due_orders import LEAST, MOST, SHARE
from storage.models import Host
from tests.panel.orders.till import buy, finish, has_cache
from tests.panel.portal.shop import Shop, plan, shop

pytestmark = pytest.mark.django_db


def swept(order: Order, ago: timedelta) -> tuple[timedelta, timedelta]:
    """An order that has waited so long is looked at: how long it is left alone from then on, at
    least and at most, as the look is between two readings of the clock."""
    due_since(order, ago)
    before = timezone.now()
    due_orders.sweep_orders()
    after = timezone.now()
    order.refresh_from_db()
    assert order.again_at is not None
    return order.again_at - after, order.again_at - before


def due_since(order: Order, ago: timedelta) -> datetime:
    at = timezone.now() - ago
    Order.objects.filter(pk=order.pk).update(due_at=at, trial_until=at, again_at=None)
    return at


@pytest.fixture
def acme() -> Shop:
    return shop()


@pytest.fixture
def leaving(acme: Shop) -> Order:
    """The customer wants no cache from the next period on."""
    finish(buy(acme, plan()))
    has_cache(acme)
    return buy(acme, None, when=None)


@pytest.fixture
def tried(acme: Shop, settings: Settings) -> Order:
    settings.TIERCEL_TRIAL_DAYS = 7
    made = buy(acme, plan(), trial=True)
    finish(made)
    has_cache(acme)
    return made


@pytest.mark.parametrize(
    ("ago", "pause"),
    [
        (timedelta(seconds=1), LEAST),
        (timedelta(minutes=4), timedelta(minutes=1)),
        (timedelta(hours=3), MOST),
    ],
)
def test_the_longer_it_lasts_the_longer_is_the_pause(
    leaving: Order, ago: timedelta, pause: timedelta
) -> None:
    Host.objects.update(state="quarantined")
    at_least, at_most = swept(leaving, ago)
    # The longer the look took, the longer the pause too.
    assert at_least <= pause + (at_most - at_least) / SHARE and pause <= at_most
    assert due_orders.due_at_period_end(timezone.now()) == []
    assert due_orders.due_at_period_end(timezone.now() + pause + LEAST) == [leaving]


def test_an_obstacle_is_reported_when_it_changes_and_not_each_time(
    leaving: Order, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="panel.orders")
    Host.objects.update(state="quarantined")
    for _ in range(3):
        due_since(leaving, timedelta(minutes=1))
        due_orders.sweep_orders()
    assert [leaving.key in line for line in caplog.messages] == [True]
    Host.objects.update(state="active")
    due_since(leaving, timedelta(minutes=1))
    due_orders.sweep_orders()
    leaving.refresh_from_db()
    assert (leaving.state, leaving.again_at, leaving.obstacle) == (OrderState.RUNNING, None, "")


def test_a_trial_that_cannot_be_taken_back_yet_waits_too(
    tried: Order, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="panel.orders")
    Host.objects.update(state="quarantined")
    for _ in range(2):
        at_least, at_most = swept(tried, timedelta(hours=3))
    assert due_orders.due_trials(timezone.now()) == []
    assert at_least <= MOST <= at_most
    Host.objects.update(state="active")
    due_since(tried, timedelta(hours=3))
    due_orders.sweep_orders()
    assert Order.objects.filter(intent=Intent.REVERT, reverts=tried).exists()
    tried.refresh_from_db()
    assert (tried.again_at, tried.obstacle) == (None, "")
    lines = [line for line in caplog.messages if tried.key in line]
    assert len(lines) == 2

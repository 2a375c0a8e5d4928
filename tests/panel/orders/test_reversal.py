"""One order takes back the last one, for some days."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job, Kind
from panel.models import Intent, Order, OrderState
from panel.orders.order_request import OrderRefused
from panel.orders.place_order import preview
from panel.orders.reversal import reversal_of
from storage.models import CachePlan, Volume
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.one_line import on_one_line
from tests.panel.orders.till import buy, finish, has_cache, has_no_cache, take_back
from tests.panel.portal.shop import Shop, browser, plan, shop
from tests.scene import end, job

pytestmark = pytest.mark.django_db


@pytest.fixture
def fast() -> CachePlan:
    return plan()


@pytest.fixture
def acme() -> Shop:
    return shop()


@pytest.fixture
def bought(acme: Shop, fast: CachePlan) -> Order:
    made = buy(acme, fast)
    finish(made)
    has_cache(acme)
    return made


def refused(order: Order, acme: Shop) -> str:
    before = (Order.objects.count(), Job.objects.count())
    with pytest.raises(OrderRefused) as refusal:
        take_back(order, acme.owner)
    assert (Order.objects.count(), Job.objects.count()) == before
    return refusal.value.code


def order_page(acme: Shop, order: Order) -> str:
    page = browser(acme.owner).get(reverse("my-order", args=[order.key]))
    return on_one_line(page.content.decode())


def test_it_goes_back_at_once_and_what_is_left_of_the_month_is_a_credit(
    acme: Shop, bought: Order
) -> None:
    seen = preview(reversal_of(bought, acme.owner))
    assert seen.refusal is None
    assert seen.quote is not None
    back = take_back(bought, acme.owner)
    assert (back.intent, back.reverts, back.state) == (Intent.REVERT, bought, OrderState.RUNNING)
    assert (back.from_plan, back.to_plan, back.price_minor) == (bought.to_plan, None, 0)
    assert back.charge_minor == 0
    assert 0 <= bought.charge_minor - back.credit_minor <= 1
    assert back.credit_minor == seen.quote.credit_minor
    assert back.job is not None
    assert back.job.kind == Kind.REMOVE_CACHE
    finish(back)
    assert acme.volume.cache_plan is None


def test_after_its_days_or_before_its_end_it_is_too_late(
    acme: Shop, fast: CachePlan, settings: Settings
) -> None:
    made = buy(acme, fast)
    assert refused(made, acme) == "order_running"
    finish(made)
    Order.objects.update(revert_until=timezone.now() - timedelta(seconds=1))
    made.refresh_from_db()
    assert refused(made, acme) == "too_late"


def test_a_revert_is_not_taken_back_and_the_first_order_not_twice(
    acme: Shop, bought: Order
) -> None:
    back = take_back(bought, acme.owner)
    finish(back)
    assert back.revert_until is None
    assert refused(back, acme) == "too_late"
    assert refused(bought, acme) == "changed_since"


def test_only_the_last_order_is_taken_back(acme: Shop, bought: Order) -> None:
    finish(buy(acme, plan("Big", price_minor=990, size_bytes=4 * 2**30)))
    assert refused(bought, acme) == "changed_since"


def test_a_plan_that_the_provider_changed_since_is_left_alone(acme: Shop, bought: Order) -> None:
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=plan("Other"))
    assert refused(bought, acme) == "changed_since"


def test_back_to_a_plan_sold_no_more_at_the_price_it_had(
    acme: Shop, bought: Order, fast: CachePlan
) -> None:
    CachePlan.objects.filter(pk=fast.pk).update(on_offer=False, price_minor=1990)
    bigger = buy(acme, plan("Big", price_minor=990, size_bytes=4 * 2**30))
    finish(bigger)
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=bigger.to_plan)
    back = take_back(bigger, acme.owner)
    assert (back.to_plan, back.price_minor) == (fast, 490)
    assert back.credit_minor >= 0


def test_back_to_what_was_sold_before_there_were_orders_at_the_price_it_had(
    acme: Shop, fast: CachePlan
) -> None:
    end(job(acme.there, cache_plan=fast, price_minor=390, currency="EUR", origin="portal"))
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=fast)
    has_cache(acme)
    bigger = buy(acme, plan("Big", price_minor=990, size_bytes=4 * 2**30))
    finish(bigger)
    assert take_back(bigger, acme.owner).price_minor == 390


def test_back_to_a_dearer_plan_needs_a_mandate(
    acme: Shop, bought: Order, settings: Settings
) -> None:
    left = buy(acme, None)
    finish(left)
    has_no_cache(acme)
    settings.TIERCEL_MANDATE_REQUIRED = True
    assert refused(left, acme) == "cap_unknown"


def test_who_may_not_order_takes_nothing_back(acme: Shop, bought: Order) -> None:
    viewer = make.user()
    acme.customer.members.create(user=viewer, role="viewer")
    with pytest.raises(OrderRefused) as refusal:
        take_back(bought, viewer)
    assert refusal.value.code == "not_allowed"
    seen = preview(reversal_of(bought, viewer)).refusal
    assert seen is not None
    assert seen.code == "not_allowed"


# What the provider had set up without a plan


def wished(order: Order) -> Wish:
    assert order.job is not None
    return Wish.from_json(order.job.wish)


def test_a_cache_of_the_provider_comes_back_as_it_was_and_costs_nothing(acme: Shop) -> None:
    has_cache(acme, mode="writeback", migration_threshold_sectors=2048)
    left = buy(acme, None)
    finish(left)
    has_no_cache(acme)
    back = take_back(left, acme.owner)
    assert (back.intent, back.to_plan, back.price_minor) == (Intent.REVERT, None, 0)
    assert (back.charge_minor, back.credit_minor) == (0, 0)
    assert back.job is not None
    assert back.job.kind == Kind.ADD_CACHE
    cache = wished(back).cache
    assert isinstance(cache, LvmCache)
    assert (cache.size_bytes, cache.mode) == (2 * 2**30, "writeback")
    assert cache.migration_threshold_sectors == 2048
    finish(back)
    assert acme.volume.cache_plan is None


def test_a_plan_that_replaced_the_providers_cache_makes_room_for_it_again(acme: Shop) -> None:
    has_cache(acme)
    made = buy(acme, plan("Big", price_minor=990, size_bytes=4 * 2**30))
    finish(made)
    has_cache(acme, size_bytes=4 * 2**30)
    back = take_back(made, acme.owner)
    assert (back.to_plan, back.price_minor) == (None, 0)
    assert back.credit_minor > 0
    assert back.job is not None
    assert back.job.kind == Kind.REPLACE_CACHE
    cache = wished(back).cache
    assert cache is not None
    assert cache.size_bytes == 2 * 2**30


def test_the_way_back_to_a_plan_has_the_size_that_the_volume_had_on_it(
    acme: Shop, bought: Order
) -> None:
    has_cache(acme, size_bytes=3 * 2**30)
    left = buy(acme, None)
    finish(left)
    has_no_cache(acme)
    back = take_back(left, acme.owner)
    cache = wished(back).cache
    assert cache is not None
    assert (back.to_plan, cache.size_bytes) == (bought.to_plan, 3 * 2**30)


def test_where_its_space_was_sold_meanwhile_it_does_not_come_back(acme: Shop) -> None:
    has_cache(acme)
    left = buy(acme, None)
    finish(left)
    has_no_cache(acme, pvs=(make.pv(), make.fast_pv(free_bytes=2**30)))
    assert refused(left, acme) == "no_capacity"


def test_an_order_that_was_undone_keeps_the_way_back_to_the_providers_cache_open(
    acme: Shop,
) -> None:
    """Remove the provider's cache, order a plan, undo that: the cache is still promised."""
    has_cache(acme, mode="writeback")
    left = buy(acme, None)
    finish(left)
    has_no_cache(acme)
    bigger = buy(acme, plan("Big", price_minor=990, size_bytes=4 * 2**30))
    finish(bigger)
    has_cache(acme, size_bytes=4 * 2**30)
    assert refused(left, acme) == "changed_since"
    first = order_page(acme, left)
    assert reverse("my-order", args=[bigger.key]) in first and "once you have undone" in first
    finish(take_back(bigger, acme.owner))
    has_no_cache(acme)
    assert "gets back the cache that your provider set up" in order_page(acme, left)
    left.refresh_from_db()
    back = take_back(left, acme.owner)
    cache = wished(back).cache
    assert isinstance(cache, LvmCache)
    assert (cache.size_bytes, cache.mode, back.price_minor) == (2 * 2**30, "writeback", 0)
    finish(back)
    left.refresh_from_db()
    assert refused(left, acme) == "changed_since"


def test_what_the_provider_has_set_up_since_is_left_alone(acme: Shop, bought: Order) -> None:
    left = buy(acme, None)
    finish(left)
    assert refused(left, acme) == "changed_since"

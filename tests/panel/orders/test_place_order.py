"""An order is taken whole, or nothing is written at all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job, Kind, Origin, State
from panel.models import Intent, Order, OrderState
from panel.orders import events
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.place_order import preview
from panel.orders.pricing.quote import quote
from storage.byte_sizes import GIB
from storage.models import Customer, Volume
from tests import make
from tests.panel.orders.month import priced_at
from tests.panel.orders.till import buy, finish, has_cache, mandate, refusal
from tests.panel.portal.shop import Shop, plan, shop
from tests.scene import job

pytestmark = pytest.mark.django_db


def test_an_order_has_its_job_its_price_and_its_charge(sent: list[int]) -> None:
    acme, fast = shop(), plan()
    made = buy(acme, fast, agreed=(490, "EUR"), address="192.0.2.7", expected={"hit_rate": 0.8})
    assert (made.state, made.intent) == (OrderState.RUNNING, Intent.UPGRADE)
    assert (made.from_plan, made.to_plan, made.price_minor) == (None, fast, 490)
    assert made.charge_minor == quote(priced_at(made.created_at), 0, 490, "EUR").charge_minor > 0
    assert made.expected == {"hit_rate": 0.8}
    work = Job.objects.get()
    assert made.job == work
    assert (work.kind, work.origin, work.actor) == (Kind.ADD_CACHE, Origin.PORTAL, acme.owner)
    assert (work.cache_plan, work.price_minor, work.awaits) == (fast, 490, "")
    assert sent == [work.pk]
    assert acme.volume.cache_plan is None


def test_the_same_key_again_is_the_same_order_also_when_it_is_over() -> None:
    acme, fast = shop(), plan()
    first = buy(acme, fast, idempotency_key="k1")
    assert buy(acme, fast, idempotency_key="k1") == first
    finish(first)
    assert buy(acme, fast, idempotency_key="k1") == first
    assert Job.objects.count() == 1
    refused = refusal(acme, plan("Faster", price_minor=990), idempotency_key="k1")
    assert (refused.code, refused.order) == ("idempotency", first)


def test_the_key_of_another_customer_is_another_key() -> None:
    acme, zebra, fast = shop(), shop("Zebra"), plan()
    assert buy(acme, fast, idempotency_key="k") != buy(zebra, fast, idempotency_key="k")


@pytest.mark.parametrize("role", ["viewer", "", None])
def test_who_has_no_right_orders_nothing(role: str | None) -> None:
    acme, fast = shop(), plan()
    person = make.user() if role is not None else None
    if role and person:
        acme.customer.members.create(user=person, role=role)
    assert refusal(acme, fast, actor=person).code == "not_allowed"


def test_staff_order_nothing_in_a_customers_name() -> None:
    acme, fast = shop(), plan()
    assert refusal(acme, fast, actor=make.staff_user()).code == "not_allowed"


def test_where_the_provider_sells_elsewhere_no_one_orders(settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = False
    assert refusal(shop(), plan()).code == "not_allowed"


def test_a_suspended_customer_orders_nothing_and_learns_what_is_kept() -> None:
    acme, fast = shop(), plan()
    Customer.objects.filter(pk=acme.customer.pk).update(suspended_at=timezone.now())
    refused = refusal(acme, fast)
    assert refused.code == "suspended"
    assert "data and your cache are kept" in refused.message
    assert refusal(acme, fast, by="billing").code == "suspended"


def test_the_plan_of_a_suspended_customer_can_be_ended_by_the_billing_system() -> None:
    acme, fast = shop(), plan()
    finish(buy(acme, fast))
    has_cache(acme)
    Customer.objects.filter(pk=acme.customer.pk).update(suspended_at=timezone.now())
    assert buy(acme, None, by="billing").state == OrderState.RUNNING


def test_nothing_is_ordered_for_a_volume_that_is_switched_off() -> None:
    acme = shop()
    Volume.objects.filter(pk=acme.volume.pk).update(retired_at=timezone.now())
    assert refusal(acme, plan()).code == "not_allowed"


def test_a_plan_that_is_sold_no_more_is_refused() -> None:
    assert refusal(shop(), plan(on_offer=False)).code == "plan_retired"


def test_a_plan_of_other_hosts_is_refused() -> None:
    fast = plan()
    fast.hosts.add(make.host())
    assert refusal(shop(), fast).code == "plan_retired"


def test_ones_own_plan_is_not_bought_twice() -> None:
    acme, fast = shop(), plan()
    finish(buy(acme, fast))
    has_cache(acme)
    assert refusal(acme, fast).code == "same_plan"


@pytest.mark.parametrize("agreed", [(390, "EUR"), (490, "USD")])
def test_another_price_than_the_one_seen_is_asked_about_again(agreed: tuple[int, str]) -> None:
    assert refusal(shop(), plan(), agreed=agreed).code == "price_changed"


def test_a_plan_in_another_currency_than_the_present_one_is_refused() -> None:
    acme = shop()
    finish(buy(acme, plan()))
    has_cache(acme)
    assert refusal(acme, plan("Dollar", currency="USD", price_minor=900)).code == "currency"


def test_without_space_on_ssd_it_is_sold_out() -> None:
    acme = shop(pvs=(make.pv(), make.fast_pv(free_bytes=GIB)))
    refused = refusal(acme, plan())
    assert refused.code == "no_capacity"
    assert "Sold out" in refused.message


def test_space_that_went_while_the_order_was_weighed_is_refused_under_the_hosts_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme, fast = shop(pvs=(make.pv(), make.fast_pv(free_bytes=3 * GIB))), plan()

    def full(*args: Any, **kwargs: Any) -> dict[str, int]:
        return {make.VG_UUID: 3 * GIB}

    monkeypatch.setattr("jobs.queue.submit.reserved", full)
    assert refusal(acme, fast).code == "no_capacity"


def test_what_a_volume_cannot_have_is_refused_in_the_customers_words() -> None:
    acme = shop(host={"state": "quarantined"})
    assert refusal(acme, plan()).code == "unavailable"


def test_an_order_that_runs_is_named_and_bars_the_next() -> None:
    acme, fast = shop(), plan()
    first = buy(acme, fast)
    refused = refusal(acme, plan("Faster", price_minor=990))
    assert (refused.code, refused.order) == ("order_running", first)
    assert "Another change is running: Fast" in refused.message


def test_work_of_the_provider_bars_an_order_without_being_shown() -> None:
    acme = shop()
    by_staff = job(acme.there)
    refused = refusal(acme, plan())
    assert refused.code == "order_running"
    assert by_staff.key not in refused.message


def test_an_order_whose_job_has_just_ended_blocks_nothing() -> None:
    acme, fast = shop(), plan()
    first = buy(acme, fast)
    Job.objects.update(state=State.FAILED, ended_at=timezone.now())
    second = buy(acme, fast)
    first.refresh_from_db()
    assert (first.state, second.state) == (OrderState.FAILED, OrderState.RUNNING)


def test_a_volume_taken_from_the_customer_meanwhile_is_not_theirs_to_change() -> None:
    acme, fast = shop(), plan()
    volume = acme.volume
    Volume.objects.filter(pk=volume.pk).update(customer=make.customer())
    assert refusal(acme, fast, volume=volume).code == "not_allowed"


def test_a_receiver_that_fails_undoes_the_whole_order() -> None:
    acme, fast = shop(), plan()

    def broken(**sent: Any) -> None:
        raise ValueError

    events.placed.connect(broken)
    try:
        with pytest.raises(ValueError):
            buy(acme, fast)
    finally:
        events.placed.disconnect(broken)
    assert not Order.objects.exists()
    assert not Job.objects.exists()


def test_with_a_billing_system_no_worker_is_notified_before_its_answer(
    settings: Settings, sent: list[int]
) -> None:
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    settings.TIERCEL_AUTHORISE_SECONDS = 60
    made = buy(shop(), plan())
    assert made.state == OrderState.AUTHORISING
    assert made.job is not None
    assert made.job.awaits
    assert made.authorise_by is not None
    assert made.authorise_by - made.created_at < timedelta(seconds=90)
    assert sent == []


def test_what_the_billing_system_orders_itself_it_is_not_asked_about(settings: Settings) -> None:
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    settings.TIERCEL_MANDATE_REQUIRED = True
    acme, fast = shop(), plan()
    made = buy(acme, fast, actor=None, by="billing", origin=Origin.API)
    assert (made.state, made.origin, made.actor) == (OrderState.RUNNING, Origin.API, None)


def test_a_preview_says_the_price_or_the_refusal_and_writes_nothing(settings: Settings) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = True
    acme, fast = shop(), plan()
    assert _refusal(acme, fast) == "cap_unknown"
    mandate(acme.customer)
    found = preview(OrderRequest(acme.volume, fast, acme.owner))
    assert found.refusal is None
    assert found.quote is not None
    assert found.quote.price_minor == 490
    assert _refusal(acme, fast, actor=None) == "not_allowed"
    buy(acme, fast)
    assert _refusal(acme, fast) == "order_running"
    assert Order.objects.count() == 1


def _refusal(acme: Shop, fast: Any, **fields: Any) -> str:
    refused = preview(OrderRequest(acme.volume, fast, fields.get("actor", acme.owner))).refusal
    assert isinstance(refused, OrderRefused)
    return refused.code

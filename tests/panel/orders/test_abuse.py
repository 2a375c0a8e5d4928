"""What a person would try who wants a cache for nothing, or another's."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job
from panel.models import Intent, Order, OrderState, UsageLine
from panel.orders import due_orders
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.place_order import place_order
from panel.orders.pricing import mandate_limits
from panel.orders.pricing.prices import paid
from panel.orders.pricing.quote import period
from storage import row_security
from storage.models import Volume
from storage.volumes import ownership
from tests import make
from tests.panel.billing.desk import SECRET, call, ok
from tests.panel.orders.till import buy, finish, has_cache, mandate, take_back
from tests.panel.portal.shop import plan, shop

pytestmark = pytest.mark.django_db


def test_taking_back_an_order_made_in_a_trial_gives_no_plan_for_nothing(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7
    faster = plan("Faster", price_minor=990, size_bytes=4 * 2**30)
    acme, fast = shop(), plan()
    finish(buy(acme, fast, trial=True, when=None))
    has_cache(acme)
    bought = buy(acme, faster)
    finish(bought)
    try:
        finish(take_back(bought, acme.owner))
    except OrderRefused:
        return
    price = paid(acme.volume)
    assert acme.volume.cache_plan is None or (price is not None and price.minor == 490)


def test_an_order_that_waits_for_the_end_of_the_month_binds_no_later_customer() -> None:
    acme, zebra, fast = shop(), shop("Zebra"), plan()
    finish(buy(acme, fast))
    has_cache(acme)
    waiting = buy(acme, None, when="period_end")
    assert waiting.state == OrderState.SCHEDULED
    ownership.disown(acme.volume)
    ownership.give(acme.volume, zebra.customer, timezone.now())
    Order.objects.filter(pk=waiting.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    waiting.refresh_from_db()
    before = Job.objects.count()
    due_orders.begin_scheduled(waiting)
    assert Job.objects.count() == before


def test_a_trial_of_a_former_customer_is_not_taken_back_from_the_next(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7
    acme, zebra, fast = shop(), shop("Zebra"), plan()
    tried = buy(acme, fast, trial=True, when=None)
    finish(tried)
    later = timezone.now() + timedelta(days=8)
    assert due_orders.due_trials(later) == [tried]
    ownership.disown(acme.volume)
    ownership.give(acme.volume, zebra.customer, timezone.now())
    assert due_orders.due_trials(later) == []


def test_the_months_invoice_counts_against_the_months_cap() -> None:
    acme = shop()
    now = timezone.now()
    allowed = mandate(acme.customer, cap_period_minor=2000)
    begin, end = period(now)
    lines = {"currency": "EUR", "amount_minor": 1800, "period_start": begin, "period_end": end}
    UsageLine.objects.create(
        customer=acme.customer, volume=acme.volume, kind="recurring", name="m", **lines
    )
    assert mandate_limits.left_minor(allowed, now) == 200


def test_a_volume_that_left_its_customer_amid_the_order_is_not_theirs() -> None:
    """As the second wall shows it to them: not there at all."""
    acme, fast = shop(), plan()
    asked = acme.volume
    ownership.disown(acme.volume)
    with row_security.scope(str(acme.owner.pk)), pytest.raises(OrderRefused) as refused:
        place_order(OrderRequest(volume=asked, plan=fast, actor=acme.owner))
    assert refused.value.code == "not_allowed"
    assert not Order.objects.exists()


@pytest.mark.parametrize("state", ["cancelled", "failed"])
def test_ten_orders_that_came_to_nothing_leave_no_second_trial_beside_the_first(
    settings: Settings, state: str
) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7
    acme, fast = shop(), plan()
    finish(buy(acme, fast, trial=True, when=None), state)  # type: ignore[arg-type]
    finish(buy(acme, fast, trial=True, when=None))
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=None)
    with pytest.raises(OrderRefused, match="had its free trial"):
        buy(acme, fast, trial=True, when=None)
    assert Order.objects.filter(intent=Intent.TRIAL, state=OrderState.COMPLETED).count() == 1


def test_back_and_forth_within_a_month_earns_nothing() -> None:
    acme, fast = shop(), plan(price_minor=499)
    for _ in range(4):
        up = buy(acme, fast)
        finish(up)
        has_cache(acme)
        back = take_back(up, acme.owner)
        finish(back)
        no_cache(acme)
    done = Order.objects.filter(state=OrderState.COMPLETED)
    charged = sum(each.charge_minor for each in done)
    assert sum(each.credit_minor for each in done) <= charged


def no_cache(acme: object) -> None:
    """The host says that the volume has no cache any more."""
    volume = acme.volume  # type: ignore[attr-defined]
    placement = volume.placed
    lv = make.lv("vm-101-disk-0", uuid=placement.lv_uuid, tags=make.tags(volume.key))
    placement.host.facts = make.inventory(make.facts(lv))
    placement.host.save(update_fields=["facts"])


def test_a_customer_cannot_stand_in_the_way_of_the_billing_system(settings: Settings) -> None:
    """By ordering under the name that its next call will have."""
    settings.TIERCEL_BILLING_IN_SECRETS = [SECRET]
    acme, fast = shop(), plan()
    finish(buy(acme, fast, idempotency_key="call_77"))
    has_cache(acme)
    said = {"volume": acme.volume.key, "plan": None, "when": "now"}
    ok(call("change-plan", said, id="call_77"), 202)
    assert Order.objects.open().get().to_plan is None

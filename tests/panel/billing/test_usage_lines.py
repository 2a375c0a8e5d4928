"""Lines for invoices: each once, for what was agreed on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import Settings

from jobs import notify_workers
from panel.billing import usage_lines
from panel.models import Endpoint, LineKind, Message, Order, OrderState, UsageLine
from panel.orders.pricing import prices
from panel.orders.pricing.quote import period
from storage.models import CachePlan, Volume
from tests.panel.orders.till import buy, finish
from tests.panel.portal.shop import Shop, plan, shop
from tests.scene import end, job

pytestmark = pytest.mark.django_db
MAY = datetime(2026, 5, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def billing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_BILLING_URL = "http://localhost:9/hook"
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    monkeypatch.setattr(notify_workers, "send", lambda *args: True)
    Endpoint.objects.create(url=settings.TIERCEL_BILLING_URL, created_at=MAY - timedelta(days=40))


def bought(acme: Shop, to_plan: CachePlan | None, at: datetime, **fields: Any) -> Order:
    """An order that was placed and completed then."""
    order = Order.objects.create(
        customer=acme.customer,
        volume=acme.volume,
        from_plan=acme.volume.cache_plan,
        to_plan=to_plan,
        intent=fields.pop("intent", "upgrade"),
        state=OrderState.COMPLETED,
        currency="EUR",
        from_price_minor=paid.minor if (paid := prices.paid(acme.volume)) is not None else 0,
        price_minor=fields.pop("price_minor", to_plan.price_minor if to_plan else 0),
        charge_minor=0,
        next_invoice_minor=0,
        next_invoice_at=at,
        created_at=at,
        ended_at=at,
        **fields,
    )
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=to_plan)
    return order


def months(at: datetime = JUNE + timedelta(seconds=65)) -> list[tuple[str, int]]:
    """The lines of the month, once it was gone over twice."""
    usage_lines.write_months(at)
    assert usage_lines.write_months(at) == 0
    lines = UsageLine.objects.filter(kind=LineKind.RECURRING, period_start=JUNE)
    return [(line.description.split()[0], line.amount_minor) for line in lines]


def test_each_month_of_a_plan_has_one_line_under_a_name_that_says_so() -> None:
    acme = shop()
    bought(acme, plan(), MAY)
    assert months() == [("Fast", 490)]
    line = UsageLine.objects.get()
    assert line.name == f"{acme.volume.key}-2026-06"
    assert (line.period_start, line.period_end) == (JUNE, datetime(2026, 7, 1, tzinfo=UTC))
    message = Message.objects.get()
    assert message.payload["data"]["id"] == line.name


def test_the_price_is_the_one_that_was_agreed_on() -> None:
    bought(shop(), plan(), MAY, price_minor=390)
    assert months() == [("Fast", 390)]


def test_a_plan_that_staff_gave_costs_what_it_costs() -> None:
    Volume.objects.filter(pk=shop().volume.pk).update(cache_plan=plan())
    assert months() == [("Fast", 490)]


def test_what_was_sold_before_there_were_orders_keeps_its_price() -> None:
    acme, fast = shop(), plan()
    sold = job(acme.there, cache_plan=fast, price_minor=390, currency="EUR", origin="portal")
    end(sold)
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=fast)
    assert months() == [("Fast", 390)]


def test_what_was_bought_within_the_month_is_not_charged_for_all_of_it() -> None:
    bought(shop(), plan(), JUNE + timedelta(seconds=1))
    assert months() == []


def test_who_changes_within_the_month_began_it_with_the_old_plan() -> None:
    acme = shop()
    bought(acme, plan(), MAY, price_minor=390)
    bought(acme, plan("Faster", price_minor=990), JUNE + timedelta(seconds=1))
    assert months() == [("Fast", 390)]


def test_who_ends_a_plan_within_the_month_began_it_with_one() -> None:
    acme = shop()
    bought(acme, plan(), MAY)
    bought(acme, None, JUNE + timedelta(seconds=1), intent="downgrade")
    assert months() == [("Fast", 490)]


def test_a_dearer_plan_is_charged_from_its_delivery_on_and_not_for_the_wait() -> None:
    acme = shop()
    order = buy(acme, plan("Fast", price_minor=100_000), by="billing")
    begin, end = period(order.created_at)
    Order.objects.filter(pk=order.pk).update(created_at=begin, charge_minor=100_000)
    order.refresh_from_db()
    finish(order)
    assert order.ended_at is not None
    share = (end - order.ended_at) / (end - begin)
    assert order.charge_minor == pytest.approx(100_000 * share, abs=1)
    line = UsageLine.objects.get()
    assert (line.amount_minor, line.period_start) == (order.charge_minor, order.ended_at)
    assert line.period_end == end


def test_a_dearer_plan_that_is_delivered_next_month_costs_nothing_in_this_one() -> None:
    """Of the new month its beginning is on the old plan, and the rest on the new one."""
    acme = shop()
    order = buy(acme, plan("Fast", price_minor=100_000), by="billing")
    begin, end = period(order.created_at)
    before = period(begin - timedelta(days=1))[0]
    Order.objects.filter(pk=order.pk).update(
        created_at=before, charge_minor=100_000, next_invoice_at=begin
    )
    order.refresh_from_db()
    finish(order)
    assert order.ended_at is not None
    share = (end - order.ended_at) / (end - begin)
    assert order.charge_minor == pytest.approx(100_000 * share, abs=1)
    assert (order.next_invoice_minor, order.next_invoice_at) == (100_000, end)
    usage_lines.write_months(order.ended_at)
    assert not UsageLine.objects.filter(kind=LineKind.RECURRING).exists()


def test_a_dearer_order_at_work_over_the_turn_of_the_month_pays_for_the_old_plan() -> None:
    acme = shop()
    bought(acme, plan(), MAY)
    order = buy(acme, plan("Faster", price_minor=990), by="billing")
    Order.objects.filter(pk=order.pk).update(created_at=JUNE - timedelta(seconds=9))
    # Its job is done, and no task has looked at the order yet.
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=order.to_plan)
    assert months() == [("Fast", 490)]
    order.refresh_from_db()
    finish(order)
    assert months() == [("Fast", 490)]


def test_a_cheaper_order_at_work_over_the_turn_of_the_month_is_waited_for() -> None:
    acme = shop()
    bought(acme, plan("Faster", price_minor=990), MAY)
    order = buy(acme, plan(), by="billing")
    Order.objects.filter(pk=order.pk).update(created_at=JUNE - timedelta(seconds=9))
    assert months() == []
    order.refresh_from_db()
    finish(order)
    assert months() == [("Fast", 490)]


def test_a_month_that_an_order_was_waited_for_is_made_up_for_however_long_it_took() -> None:
    """Other volumes have their lines meanwhile."""
    acme, zebra, faster = shop(), shop("Zebra"), plan("Faster", price_minor=990)
    bought(acme, faster, MAY)
    bought(zebra, faster, MAY)
    order = buy(acme, plan(price_minor=390), by="billing")
    # The books of this test are written today, and tell nothing of what comes.
    this, _ = period(datetime.now(UTC))
    Order.objects.filter(pk=order.pk).update(created_at=this + timedelta(days=9))
    later = [period(this + timedelta(days=32 * n))[0] for n in range(1, 5)]
    for begin in later:
        usage_lines.write_months(begin + timedelta(hours=1))
    lines = UsageLine.objects.filter(period_start__gt=this, kind=LineKind.RECURRING)
    assert set(lines.values_list("volume", flat=True)) == {zebra.volume.pk}
    order.refresh_from_db()
    CachePlan.objects.update(price_minor=1)
    finish(order)
    Order.objects.filter(pk=order.pk).update(ended_at=later[-1] + timedelta(days=21))
    usage_lines.write_months(later[-1] + timedelta(days=22))
    written = lines.filter(volume=acme.volume).order_by("period_start")
    written = written.values_list("period_start", "amount_minor")
    assert list(written) == [(begin, 390) for begin in later]


def test_in_the_first_minute_of_a_month_an_order_of_the_old_one_may_still_come() -> None:
    bought(shop(), plan(), MAY)
    assert months(JUNE + timedelta(seconds=59)) == []
    assert months(JUNE + timedelta(seconds=60)) == [("Fast", 490)]


def test_another_address_of_the_billing_system_loses_no_month(settings: Settings) -> None:
    bought(shop(), plan(), MAY)
    settings.TIERCEL_BILLING_URL = "http://localhost:9/hook/v2"
    assert months() == [("Fast", 490)]


def test_a_downgrade_at_the_turn_of_the_month_is_waited_for() -> None:
    acme = shop()
    bought(acme, plan("Faster", price_minor=990), MAY)
    order = bought(acme, plan(), MAY, intent="downgrade", due_at=JUNE)
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=order.from_plan)
    Order.objects.filter(pk=order.pk).update(state=OrderState.SCHEDULED, ended_at=None)
    assert months() == []
    Order.objects.filter(pk=order.pk).update(state=OrderState.COMPLETED)
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=order.to_plan)
    assert months() == [("Fast", 490)]


def test_a_trial_over_the_turn_of_the_month_costs_nothing() -> None:
    bought(shop(), plan(), MAY, intent="trial")
    assert months() == []


def test_a_month_that_began_before_the_billing_system_is_not_charged() -> None:
    bought(shop(), plan(), MAY)
    Endpoint.objects.update(created_at=JUNE + timedelta(seconds=1))
    assert months() == []


def test_months_in_which_nothing_ran_are_made_up_for_once_something_does() -> None:
    bought(shop(), plan(), MAY)
    assert months() == [("Fast", 490)]
    # The books of this test are written today, and tell nothing of what comes.
    this, _ = period(datetime.now(UTC))
    after = [period(this + timedelta(days=32 * n))[0] for n in range(1, 4)]
    UsageLine.objects.update(period_start=this, name="this month's")
    assert usage_lines.write_months(after[-1] + timedelta(minutes=1)) == 3
    assert usage_lines.write_months(after[-1] + timedelta(minutes=1)) == 0
    recurring = UsageLine.objects.filter(period_start__gt=this).order_by("period_start")
    assert list(recurring.values_list("period_start", flat=True)) == after


def test_a_month_that_is_over_is_charged_for_what_was_there_then() -> None:
    now, fast = datetime.now(UTC), plan()
    this, _ = period(now)
    last, _ = period(this - timedelta(days=1))
    ended, given = shop(), shop("Given")
    bought(ended, fast, last - timedelta(days=3), price_minor=390)
    was(ended.volume, last + timedelta(days=1))
    Volume.objects.filter(pk=ended.volume.pk).update(cache_plan=None)
    was(given.volume, last + timedelta(days=1))
    Volume.objects.filter(pk=given.volume.pk).update(cache_plan=fast)
    usage_lines.write_months(now)
    line = UsageLine.objects.get(period_start=last)
    assert (line.volume, line.customer, line.amount_minor) == (ended.volume, ended.customer, 390)


def was(volume: Volume, until: datetime) -> None:
    """The books have the volume as it is now, changed then."""
    events: Any = Volume.pgh_event_model  # type: ignore[attr-defined]
    noted = {each.attname for each in events._meta.concrete_fields}
    fields = [each.attname for each in Volume._meta.concrete_fields if each.attname in noted]
    values = {name: getattr(volume, name) for name in fields}
    with time_machine.travel(until):
        events.objects.create(pgh_label="update", pgh_obj=volume, **values)


def test_a_volume_without_a_customer_or_a_plan_costs_nothing() -> None:
    bought(shop(), None, MAY)
    Volume.objects.filter(pk=shop("Zebra").volume.pk).update(cache_plan=plan(), customer=None)
    assert months() == []


def test_a_credit_is_a_line_of_its_own_that_is_never_negative() -> None:
    acme = shop()
    bought(acme, plan("Faster", price_minor=99_000), datetime.now(UTC) - timedelta(days=40))
    order = buy(acme, None, by="billing")
    assert order.credit_minor > 0
    usage_lines.write_of(order)
    usage_lines.write_of(order)
    line = UsageLine.objects.get()
    assert (line.name, line.kind) == (f"{order.key}-credit", LineKind.CREDIT)
    assert line.amount_minor == order.credit_minor

"""A charge keeps within what the customer authorised, or nothing happens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from jobs.models import State
from panel.models import Mandate, Order
from panel.orders import place_order
from panel.orders.pricing import mandate_limits
from storage.models import CachePlan
from tests.panel.orders.till import buy, finish, has_cache, mandate, refusal
from tests.panel.portal.shop import plan, shop

pytestmark = pytest.mark.django_db

FIRST = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
def _first_of_the_month(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge is the whole price of the month."""
    settings.TIERCEL_MANDATE_REQUIRED = True
    settings.TIERCEL_REAUTHORISE_URL = "https://shop.example/authorise"
    monkeypatch.setattr(place_order, "database_now", lambda: FIRST)


def test_within_its_caps_an_order_is_taken() -> None:
    acme = shop()
    mandate(acme.customer, cap_charge_minor=490, cap_period_minor=490, earliest_next_at=FIRST)
    assert buy(acme, plan()).charge_minor == 490


def test_one_charge_over_its_cap_is_refused_and_by_how_much_is_said() -> None:
    acme = shop()
    mandate(acme.customer, cap_charge_minor=370, earliest_next_at=FIRST)
    refused = refusal(acme, plan())
    assert refused.code == "over_cap"
    assert "by 1.20 EUR: it allows 3.70 EUR for one charge" in refused.message
    assert refused.url == "https://shop.example/authorise"


def test_what_was_charged_and_what_runs_counts_against_the_month() -> None:
    acme = shop()
    caps = {"cap_charge_minor": 1400, "cap_period_minor": 1400}
    allowed = mandate(acme.customer, **caps, earliest_next_at=FIRST)
    done = buy(acme, plan())
    assert mandate_limits.left_minor(allowed, FIRST) == 910
    finish(done)
    Order.objects.update(ended_at=FIRST, charge_minor=490)
    assert mandate_limits.left_minor(allowed, FIRST) == 910
    has_cache(acme)
    refused = refusal(acme, plan("Huge", price_minor=1490, size_bytes=3 * 2**30))
    assert refused.code == "over_cap"
    assert "by 0.90 EUR: 9.10 EUR are left this month" in refused.message
    Order.objects.update(ended_at=FIRST - timedelta(seconds=1))
    assert mandate_limits.left_minor(allowed, FIRST) == 1400
    assert buy(acme, plan("Vast", price_minor=1390, size_bytes=3 * 2**30)).charge_minor == 900


@pytest.mark.parametrize(
    ("caps", "which"),
    [
        ({"cap_charge_minor": 400}, "by 0.90 EUR: it allows 4.00 EUR for one charge"),
        ({"cap_period_minor": 400}, "by 0.90 EUR: 4.00 EUR are the limit per month"),
    ],
)
def test_on_the_months_last_day_the_next_invoice_has_to_fit_too(
    monkeypatch: pytest.MonkeyPatch, caps: dict[str, int], which: str
) -> None:
    last_day = FIRST - timedelta(days=1)
    monkeypatch.setattr(place_order, "database_now", lambda: last_day)
    acme = shop()
    mandate(acme.customer, **caps, earliest_next_at=last_day)
    refused = refusal(acme, plan())
    assert refused.code == "over_cap"
    assert f"4.90 EUR a month exceed your payment authorisation {which}" in refused.message


def test_two_volumes_of_a_customer_share_the_months_cap() -> None:
    acme, zebra = shop(), shop("Zebra")
    volume = zebra.volume
    volume.customer = acme.customer
    volume.save()
    mandate(acme.customer, cap_period_minor=900, earliest_next_at=FIRST)
    fast = plan()
    buy(acme, fast)
    assert refusal(acme, fast, volume=volume).code == "over_cap"


@pytest.mark.parametrize("is_over", [False, True])
def test_the_months_of_all_volumes_have_to_fit_too_however_little_is_due_today(
    monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    last_day = (FIRST + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    monkeypatch.setattr(place_order, "database_now", lambda: last_day)
    acme, zebra, fast = shop(), shop("Zebra"), plan()
    volume = zebra.volume
    volume.customer = acme.customer
    volume.save()
    mandate(acme.customer, cap_period_minor=900, earliest_next_at=FIRST)
    first = buy(acme, fast)
    if is_over:
        finish(first)
    refused = refusal(acme, fast, volume=volume)
    assert refused.code == "over_cap"
    assert "by 0.80 EUR: 4.10 EUR are left per month" in refused.message
    Mandate.objects.update(cap_period_minor=980)
    assert buy(acme, fast, volume=volume).charge_minor < 20


def test_what_was_agreed_on_counts_and_not_what_the_plan_costs_by_now() -> None:
    acme, zebra, fast = shop(), shop("Zebra"), plan(price_minor=100)
    volume = zebra.volume
    volume.customer = acme.customer
    volume.save()
    mandate(acme.customer, cap_period_minor=700, earliest_next_at=FIRST)
    finish(buy(acme, fast))
    CachePlan.objects.filter(pk=fast.pk).update(price_minor=690)
    assert buy(acme, plan("Faster"), volume=volume).charge_minor == 490


def test_what_runs_since_last_month_counts_with_what_is_left_of_this_one() -> None:
    acme = shop()
    allowed = mandate(acme.customer, cap_period_minor=1400, earliest_next_at=FIRST)
    running = buy(acme, plan())
    Order.objects.filter(pk=running.pk).update(
        created_at=FIRST - timedelta(seconds=9), charge_minor=0, next_invoice_at=FIRST
    )
    assert mandate_limits.left_minor(allowed, FIRST) == 910


def test_an_order_that_failed_counts_nothing() -> None:
    acme, fast = shop(), plan()
    mandate(acme.customer, cap_period_minor=500, earliest_next_at=FIRST)
    finish(buy(acme, fast), State.FAILED)
    assert buy(acme, fast).charge_minor == 490


def test_before_its_earliest_charge_it_is_too_soon_and_until_when_is_said() -> None:
    acme = shop()
    mandate(acme.customer, earliest_next_at=FIRST + timedelta(days=2))
    refused = refusal(acme, plan())
    assert refused.code == "too_soon"
    assert f"until {FIRST + timedelta(days=2):%-d %B %Y}, 00:00 UTC" in refused.message


@pytest.mark.parametrize(
    "unknown",
    [
        {"cap_charge_minor": None},
        {"cap_period_minor": None},
        {"earliest_next_at": None},
        {"currency": "USD"},
        None,
    ],
)
def test_what_is_not_known_is_no_leave_to_charge(unknown: dict[str, Any] | None) -> None:
    acme = shop()
    if unknown is not None:
        mandate(acme.customer, **{"earliest_next_at": FIRST, **unknown})
    refused = refusal(acme, plan())
    assert refused.code == "cap_unknown"
    assert refused.url == "https://shop.example/authorise"


def test_who_sends_invoices_needs_no_mandate_but_one_that_is_there_binds(
    settings: Settings,
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = False
    acme, fast = shop(), plan()
    mandate(acme.customer, cap_charge_minor=100, earliest_next_at=FIRST)
    assert refusal(acme, fast).code == "over_cap"
    Mandate.objects.all().delete()
    assert buy(acme, fast).charge_minor == 490


def test_what_costs_less_needs_no_mandate(settings: Settings) -> None:
    acme = shop()
    settings.TIERCEL_MANDATE_REQUIRED = False
    finish(buy(acme, plan()))
    has_cache(acme)
    settings.TIERCEL_MANDATE_REQUIRED = True
    assert buy(acme, None).charge_minor == 0


def test_a_higher_price_without_a_charge_today_needs_one_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = (FIRST + timedelta(days=32)).replace(day=1) - timedelta(microseconds=1)
    monkeypatch.setattr(place_order, "database_now", lambda: last)
    assert refusal(shop(), plan()).code == "cap_unknown"

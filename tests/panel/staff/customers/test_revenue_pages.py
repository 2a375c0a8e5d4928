"""Revenue: sums that a plain reckoning gives too."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.models import Intent, LineKind, Order, UsageLine
from panel.orders.pricing import prices
from panel.staff.customers import revenue
from storage.byte_sizes import GIB
from storage.models import Volume
from storage.naming import new_key
from tests import make
from tests.panel.staff.customers.sales import NOW, host, plan, sold

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def line(volume: Volume, kind: LineKind, minor: int, begin: datetime, currency: str) -> None:
    UsageLine.objects.create(
        name=f"{volume.key}-{kind}-{begin:%Y-%m}",
        kind=kind,
        customer=volume.customer,
        volume=volume,
        description="x",
        currency=currency,
        amount_minor=minor,
        period_start=begin,
        period_end=begin + timedelta(days=28),
    )


def test_a_month_earns_what_was_agreed_each_currency_apart_and_a_trial_nothing() -> None:
    one, fast, dollars = host("s1"), plan("Fast", 490), plan("Dollar", 700, "USD", gib=4)
    agreed_less = sold(one, fast, price_minor=400)
    sold(one, fast)
    sold(one, dollars)
    sold(one, fast, intent=Intent.TRIAL, trial_until=NOW)
    staff = make.staff_user()
    caches = revenue.sold_caches(staff)
    total = revenue.in_all(caches)
    assert dict(total.minor) == {"EUR": 890, "USD": 700}
    assert (total.paying, total.trials, total.free) == (3, 1, 0)
    assert total.sold_bytes == 28 * GIB
    rows = {row.name: row for row in revenue.by_plan(caches)}
    assert [(each.minor, each.currency) for each in rows["Fast"].per_gib] == [(56, "EUR")]
    fast_row = rows["Fast"]
    assert (fast_row.paid_bytes, fast_row.trial_bytes, fast_row.free_bytes) == (
        16 * GIB,
        8 * GIB,
        0,
    )
    assert fast_row.sold_bytes == 24 * GIB
    known = prices.agreed(Volume.objects.all())
    for volume in Volume.objects.all():
        assert known[volume.pk].price == prices.paid(volume)
    assert known[agreed_less.pk].price.minor == 400


def test_the_price_of_a_former_customer_is_not_that_of_the_new_one() -> None:
    volume = sold(host("s1"), plan("Fast", 490), price_minor=100)
    volume.customer = make.customer()
    volume.save()
    assert prices.agreed(Volume.objects.all())[volume.pk].price.minor == 490
    assert prices.paid(volume) == prices.agreed(Volume.objects.all())[volume.pk].price


def test_a_month_is_invoiced_less_its_credits() -> None:
    volume = sold(host("s1"), plan("Fast", 490))
    october, november = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    line(volume, LineKind.RECURRING, 490, october, "EUR")
    line(volume, LineKind.RECURRING, 490, november, "EUR")
    line(volume, LineKind.CREDIT, 90, november + timedelta(days=3), "EUR")
    line(volume, LineKind.CHARGE, 500, datetime(2025, 1, 1, tzinfo=UTC), "EUR")
    months = revenue.invoiced(make.staff_user(), NOW)["EUR"]
    assert [(f"{month.begin:%Y-%m}", month.minor) for month in months] == [
        ("2026-10", 490),
        ("2026-11", 400),
    ]


def test_the_page_shows_its_figures_and_the_file_has_every_volume(admin: Client) -> None:
    one = host("s1")
    volume = sold(one, plan("Fast", 490), price_minor=480)
    volume.label = "=web"
    volume.save()
    text = admin.get(reverse("revenue")).content.decode()
    assert "4.80 EUR" in text
    assert reverse("host", args=[one.key]) in text
    rows = list(csv.DictReader(io.StringIO(admin.get(reverse("revenue-csv")).content.decode())))
    assert [(row["label"], row["price_minor"], row["host"]) for row in rows] == [
        ("'=web", "480", "s1")
    ]


def test_the_number_of_queries_does_not_depend_on_that_of_volumes(
    admin: Client, django_assert_max_num_queries: Any
) -> None:
    one, fast = host("s1"), plan("Fast", 490)
    for _ in range(12):
        sold(one, fast, price_minor=480)
    for name in ("revenue", "capacity", "cache-plans"):
        with django_assert_max_num_queries(24):
            assert admin.get(reverse(name)).status_code == 200


def test_an_empty_panel_says_what_comes_next(admin: Client) -> None:
    assert reverse("cache-plans") in admin.get(reverse("revenue")).content.decode()


def test_what_sales_added_and_took_is_told_apart_with_trials_that_were_kept(admin: Client) -> None:
    one, fast = host("s1"), plan("Fast", 490)
    sold(one, fast, price_minor=490)
    sold(one, fast, price_minor=290, from_price_minor=490)
    gone = sold(one, fast, price_minor=0, from_price_minor=490)
    Order.objects.filter(volume=gone).update(to_plan=None)
    now = timezone.now()
    trial: dict[str, Any] = {"intent": Intent.TRIAL, "price_minor": 0}
    kept = sold(one, fast, **trial, trial_until=now - timedelta(days=1))
    sold(one, fast, **trial, trial_until=now - timedelta(days=2))
    sold(one, fast, **trial, trial_until=now + timedelta(days=2))
    order = Order.objects.get(volume=kept)
    order.pk, order.key = None, new_key()
    order.intent, order.price_minor, order.trial_until = Intent.UPGRADE, 490, None
    order.save(force_insert=True)
    lately = revenue.sales_lately(make.staff_user("owner@example.org"), now)
    assert lately.gained == [revenue.Money(980, "EUR")]
    assert lately.lost == [revenue.Money(-690, "EUR")]
    assert (lately.cancelled, lately.trials_over, lately.trials_kept) == (1, 2, 1)
    text = admin.get(reverse("revenue")).content.decode()
    assert "1 of 2" in text and "1 plan cancelled in 30 days" in text
    assert "+9.80 EUR" in text and "-6.90 EUR" in text

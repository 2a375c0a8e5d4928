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
from panel.staff.customers.revenue_chart import revenue_charts
from panel.staff.customers.sales_history import SalesHistory, sales_history
from storage.analysis.sales.retention import Share
from storage.analysis.sales.revenue_months import RevenueMonth
from storage.byte_sizes import GIB
from storage.models import Volume
from storage.naming import new_key
from tests import make
from tests.one_line import on_one_line
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
    assert "4.80\xa0EUR" in text
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


def history(at: datetime | None = None) -> SalesHistory:
    user = make.staff_user(f"{new_key()}@example.org")
    return sales_history(user, revenue.sold_caches(user), at or timezone.now())


def again(volume: Volume, **fields: Any) -> Order:
    """Another completed order of the volume."""
    order = Order.objects.filter(volume=volume).latest("pk")
    order.pk, order.key, order.trial_until = None, new_key(), None
    for name, value in fields.items():
        setattr(order, name, value)
    order.save(force_insert=True)
    return order


def days_ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def test_what_sales_added_and_took_is_distinguished_with_trials_that_were_kept(
    admin: Client,
) -> None:
    """A new plan of 4.90, one that went from 4.90 to 2.90 and one of 4.90 that was cancelled in 30
    days: +4.90 and -6.90. Two trials ended, one of which was kept for 4.90: 1 of 2, +4.90."""
    one, fast = host("s1"), plan("Fast", 490)
    sold(one, fast, price_minor=490)
    cheaper = sold(one, fast, price_minor=490, ended_at=days_ago(50))
    again(cheaper, price_minor=290, ended_at=days_ago(5))
    gone = sold(one, fast, price_minor=490, ended_at=days_ago(50))
    again(gone, to_plan=None, price_minor=0, ended_at=days_ago(5))
    Volume.objects.filter(pk=gone.pk).update(cache_plan=None)
    trial: dict[str, Any] = {"intent": Intent.TRIAL, "price_minor": 0, "ended_at": days_ago(9)}
    kept = sold(one, fast, **trial, trial_until=days_ago(2))
    again(kept, intent=Intent.UPGRADE, price_minor=490, ended_at=days_ago(3))
    lost = sold(one, fast, **trial, trial_until=days_ago(2))
    again(lost, intent=Intent.REVERT, reverts=Order.objects.get(volume=lost), to_plan=None)
    Volume.objects.filter(pk=lost.pk).update(cache_plan=None)
    sold(one, fast, **trial, trial_until=days_ago(-2))
    found = history()
    assert found.gained == [revenue.Money(980, "EUR")]
    assert found.lost == [revenue.Money(-690, "EUR")]
    assert (found.trials, found.churn, found.undated) == (Share(1, 2), Share(1, 2), 0)
    text = on_one_line(admin.get(reverse("revenue")).content.decode())
    assert "+9.80\xa0EUR" in text and "-6.90\xa0EUR" in text
    assert text.count('<div class="big-figure"> 1 of 2 </div>') == 2


def test_a_percentage_is_said_from_five_cases_on(admin: Client) -> None:
    """One of five who paid 30 days ago left: 20 %."""
    one, fast = host("s1"), plan("Fast", 490)
    volumes = [sold(one, fast, price_minor=490, ended_at=days_ago(50)) for _ in range(5)]
    again(volumes[0], to_plan=None, price_minor=0, ended_at=days_ago(5))
    Volume.objects.filter(pk=volumes[0].pk).update(cache_plan=None)
    assert "1 of 5 (20\xa0%)" in on_one_line(admin.get(reverse("revenue")).content.decode())


def test_the_present_month_is_what_is_sold_now_and_the_others_are_of_orders(admin: Client) -> None:
    """Fast for 4.90 since 70 days and Dollar for 7.00 since 40; a third volume got Fast from staff:
    4.90 EUR and 7.00 USD in the last month, 9.80 EUR and 7.00 USD now."""
    one, fast, dollars = host("s1"), plan("Fast", 490), plan("Dollar", 700, "USD", gib=4)
    sold(one, fast, price_minor=490, ended_at=days_ago(70))
    sold(one, dollars, price_minor=700, ended_at=days_ago(40))
    sold(one, fast)
    found = history()
    euros, others = found.months["EUR"], found.months["USD"]
    assert [row.total for row in euros[-2:]] == [490, 980]
    assert [row.total for row in others[-2:]] == [700, 700]
    assert found.undated == 1
    text = on_one_line(admin.get(reverse("revenue")).content.decode())
    assert "Monthly revenue by plan in EUR" in text and "Monthly revenue by plan in USD" in text
    assert "1 volume got a plan without an order: counted in this month only." in text


def test_a_plan_that_staff_took_away_or_a_volume_that_retired_ends_then() -> None:
    one, fast = host("s1"), plan("Fast", 490)
    taken = sold(one, fast, price_minor=490, ended_at=days_ago(50))
    taken.cache_plan = None
    taken.save()
    assert history().churn == Share(1, 1)
    assert history().months["EUR"][-2].total == 490


def test_a_plan_that_is_sold_no_more_and_orders_of_no_known_plan_are_drawn(admin: Client) -> None:
    """Old is retired, Gone is deleted: both have their part of the bars."""
    months = {"EUR": [RevenueMonth(NOW, {1: 490, 2: 290})]}
    (chart,) = revenue_charts(months, {1: "Old"}, {})
    assert [each.name for each in chart.plans] == ["Old", "Deleted plan"]
    parts = [(each.minor, each.share) for each in chart.bars[0].segments]
    assert parts == [(490, 61.25), (290, 36.25)]
    old = plan("Old", 490)
    sold(host("s1"), old, price_minor=490, ended_at=days_ago(40))
    old.on_offer = False
    old.save()
    assert ">Old</li>" in admin.get(reverse("revenue")).content.decode()


def test_the_seventh_plan_shares_a_colour_with_those_after_it() -> None:
    """Eight plans: five have their own, the other three (100 + 100 + 100) are one part."""
    minor = {n: 200 if n <= 5 else 100 for n in range(1, 9)}
    (chart,) = revenue_charts({"EUR": [RevenueMonth(NOW, minor)]}, {}, {})
    assert [each.colour for each in chart.plans] == [1, 2, 3, 4, 5, 6]
    assert chart.plans[-1].name == "Other plans"
    assert chart.bars[0].cells == [200, 200, 200, 200, 200, 300]
    assert chart.bars[0].segments[-1].top == 100 - 100 * 1300 / chart.most


@pytest.mark.parametrize(
    ("minor", "most"), [(1, 1), (9, 10), (290, 300), (410, 500), (20_500, 24_000), (34_120, 40_000)]
)
def test_at_least_three_quarters_of_the_axis_are_filled(minor: int, most: int) -> None:
    (chart,) = revenue_charts({"EUR": [RevenueMonth(NOW, {1: minor})]}, {}, {})
    assert chart.most == most


def test_orders_from_the_future_change_nothing_today() -> None:
    one, fast = host("s1"), plan("Fast", 490)
    sold(one, fast, price_minor=490, ended_at=days_ago(40))
    sold(one, fast, price_minor=490, ended_at=days_ago(-400))
    found = history()
    assert found.gained == []
    assert found.months["EUR"][-2].total == 490

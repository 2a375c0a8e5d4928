"""Revenue and capacity: sums that a plain reckoning gives too."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Kind, State
from panel.models import Intent, LineKind, Order, OrderState, UsageLine
from panel.orders.pricing import prices
from panel.staff.customers import revenue
from storage.byte_sizes import GIB
from storage.models import CachePlan, Host, Volume
from storage.models.outline import HostOutline
from tests import make
from tests.scene import job, scene

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def plan(name: str, minor: int, currency: str = "EUR", gib: int = 8) -> CachePlan:
    fields = {"size_bytes": gib * GIB, "price_minor": minor, "currency": currency}
    return CachePlan.objects.create(name=name, **fields)


def host(name: str, total_gib: int = 100, free_gib: int = 60) -> Host:
    host = make.host(name=name)
    sizes = {"fast_total_bytes": total_gib * GIB, "fast_free_bytes": free_gib * GIB}
    HostOutline.objects.update_or_create(host=host, defaults=sizes)
    return host


def sold(on: Host, of: CachePlan, **order: Any) -> Volume:
    """A volume with that plan, by an order where fields of one are given."""
    volume = make.volume(customer=make.customer(), cache_plan=of)
    make.placement(volume, on, cache_technology="lvmcache", cache_bytes=of.size_bytes)
    if order:
        fields = {
            "intent": Intent.UPGRADE,
            "state": OrderState.COMPLETED,
            "currency": of.currency,
            "price_minor": of.price_minor,
            "charge_minor": 0,
            "next_invoice_minor": 0,
            "next_invoice_at": NOW,
            "ended_at": timezone.now(),
            **order,
        }
        Order.objects.create(customer=volume.customer, volume=volume, to_plan=of, **fields)
    return volume


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


def cached(
    on: Host,
    kind: Kind,
    gib: int,
    before_gib: int,
    days: int = 0,
    ended_at: datetime | None = None,
) -> None:
    def wish(size: int) -> dict[str, Any]:
        cache = {"kind": "lvmcache", "size_bytes": size * GIB} if size else None
        return {"size_bytes": GIB, "tier": "hdd", "cache": cache}

    Job.objects.create(
        kind=kind,
        host=on,
        volume=make.volume(),
        wish=wish(gib),
        fallback=wish(before_gib),
        state=State.SUCCEEDED,
        ended_at=ended_at or NOW - timedelta(days=days),
    )


def test_the_space_lasts_as_long_as_caches_grow_as_lately() -> None:
    one, other = host("s1", free_gib=60), host("s2", free_gib=60)
    cached(one, Kind.ADD_CACHE, 8, 0, days=30)
    cached(one, Kind.REPLACE_CACHE, 16, 8, days=10)
    cached(other, Kind.REMOVE_CACHE, 0, 8, days=5)
    frees = {one.pk: 60 * GIB, other.pk: 60 * GIB}
    rates = revenue.growth(make.staff_user(), NOW, frees)
    # 16 GiB in 30 days: 60 GiB last for 112.5.
    assert rates[one.pk].full_at == NOW + timedelta(days=112.5)
    assert rates[other.pk].full_at is None
    assert rates[None].full_at == NOW + timedelta(days=120 / (8 / 30))


def test_a_few_minutes_are_no_forecast_and_quiet_weeks_are_one(admin: Client) -> None:
    one = host("s1", free_gib=60)
    quiet = revenue.growth(make.staff_user(), NOW, {one.pk: 60 * GIB})
    assert quiet[one.pk].is_known and quiet[one.pk].bytes_a_day == 0
    cached(one, Kind.ADD_CACHE, 8, 0, ended_at=NOW - timedelta(minutes=20))
    early = revenue.growth(make.staff_user(), NOW, {one.pk: 60 * GIB})
    assert (early[one.pk].is_known, early[one.pk].full_at) == (False, None)
    assert "not known yet" in admin.get(reverse("capacity")).content.decode()


def volume_job(on: Host, kind: Kind, days: int, wish: Any, before: Any) -> None:
    Job.objects.create(
        kind=kind,
        host=on,
        volume=make.volume(),
        wish=wish,
        fallback=before,
        state=State.SUCCEEDED,
        ended_at=NOW - timedelta(days=days),
    )


def test_volumes_on_ssd_use_up_its_space_too() -> None:
    def lying(tier: str, gib: int, life: str = "live") -> dict[str, Any]:
        return {"size_bytes": gib * GIB, "tier": tier, "cache": None, "life": life}

    one = host("s1", free_gib=60)
    volume_job(one, Kind.CREATE_VOLUME, 30, lying("ssd", 10), None)
    volume_job(one, Kind.EXTEND_VOLUME, 20, lying("ssd", 12), lying("ssd", 10))
    volume_job(one, Kind.MOVE_VOLUME, 9, lying("ssd", 20), lying("hdd", 20))
    volume_job(one, Kind.MOVE_VOLUME, 8, lying("hdd", 5), lying("ssd", 5))
    volume_job(one, Kind.DESTROY_VOLUME, 7, lying("ssd", 3, "gone"), lying("ssd", 3, "retired"))
    volume_job(one, Kind.CREATE_VOLUME, 6, lying("hdd", 100), None)
    volume_job(one, Kind.EXTEND_VOLUME, 5, lying("ssd", 50), None)  # from what, nobody knows
    rates = revenue.growth(make.staff_user(), NOW, {one.pk: 60 * GIB})
    # 10 + 2 + 20 - 5 - 3 = 24 GiB in 30 days.
    assert rates[one.pk].full_at == NOW + timedelta(days=75)


def test_both_pages_show_their_figures_and_the_file_has_every_volume(admin: Client) -> None:
    one = host("s1")
    volume = sold(one, plan("Fast", 490), price_minor=480)
    volume.label = "=web"
    volume.save()
    text = admin.get(reverse("revenue")).content.decode()
    assert "4.80 EUR" in text
    assert reverse("host", args=[one.key]) in text
    capacity = admin.get(reverse("capacity")).content.decode()
    assert "8 GiB" in capacity
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


def test_the_fullest_host_stands_first(admin: Client) -> None:
    host("roomy", free_gib=90)
    host("tight", free_gib=5)
    text = admin.get(reverse("capacity")).content.decode()
    assert text.index("tight") < text.index("roomy")


def test_a_forecast_names_the_host_that_is_full_first(admin: Client) -> None:
    slow, fast = host("slow", free_gib=90), host("fast", free_gib=20)
    then = timezone.now() - timedelta(days=8)
    cached(slow, Kind.ADD_CACHE, 4, 0, ended_at=then)
    cached(fast, Kind.ADD_CACHE, 16, 0, ended_at=then)
    user = make.staff_user("owner@example.org")
    forecast = revenue.full_forecast(user, timezone.now(), revenue.spaces(user))
    assert forecast.full == () and forecast.first is not None
    assert forecast.first.name == "fast"
    sold(slow, plan("Fast", 490), price_minor=490)
    for page in ("revenue", "capacity"):
        text = admin.get(reverse(page)).content.decode()
        assert "First host full" in text and "in about 10 days" in text, page
    host("brim", free_gib=0)
    text = admin.get(reverse("revenue")).content.decode()
    assert "Full now" in text and "1 host<" in text and ">brim</a>; next:" in text


def test_what_jobs_will_take_is_reserved(admin: Client) -> None:
    ssd = make.fast_pv(size_bytes=50 * GIB, free_bytes=10 * GIB)
    there = scene(make.lv(), pvs=(make.pv(), ssd))
    sizes = {"fast_total_bytes": 50 * GIB, "fast_free_bytes": 10 * GIB}
    HostOutline.objects.update_or_create(host=there.host, defaults=sizes)
    wish = {"cache": {"kind": "lvmcache", "name": "c-aaaaaaaaaaaaaaaa", "size_bytes": 12 * GIB}}
    job(there, wish={"size_bytes": GIB, "tier": "hdd", "layout": "plain", **wish})
    text = admin.get(reverse("capacity")).content.decode()
    assert re.search(r"12(\.\d)? GiB reserved", text)
    assert "exceeds free space" in text


def test_an_empty_panel_says_what_comes_next(admin: Client) -> None:
    assert reverse("cache-plans") in admin.get(reverse("revenue")).content.decode()
    assert "No SSD yet" in admin.get(reverse("capacity")).content.decode()

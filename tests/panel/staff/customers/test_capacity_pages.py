"""Capacity: what is sold, what still fits, until when it lasts, and what to buy next."""

from __future__ import annotations

import csv
import html
import io
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Kind, State
from panel.models import SoldOutView, SsdPrice
from panel.orders.sold_out import saw_sold_out
from panel.staff.customers import revenue, ssd_space
from storage.byte_sizes import GIB
from storage.models import Host
from storage.models.outline import HostOutline
from tests import make
from tests.one_line import on_one_line
from tests.panel.staff.customers.sales import NOW, host, plan, sold
from tests.scene import job, scene
from tests.storage.analysis.advice.load import sampled_days

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def shown(client: Client, **asked: str) -> str:
    response = client.get(reverse("capacity"), asked)
    assert response.status_code == 200
    return response.content.decode()


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
    rates = ssd_space.growth(make.staff_user(), NOW, frees)
    # 16 GiB in 30 days: 60 GiB last for 112.5.
    assert rates[one.pk].full_at == NOW + timedelta(days=112.5)
    assert rates[other.pk].full_at is None
    assert rates[None].full_at == NOW + timedelta(days=120 / (8 / 30))


def test_a_few_minutes_are_no_forecast_and_quiet_weeks_are_one(admin: Client) -> None:
    one = host("s1", free_gib=60)
    quiet = ssd_space.growth(make.staff_user(), NOW, {one.pk: 60 * GIB})
    assert quiet[one.pk].is_known and quiet[one.pk].bytes_a_day == 0
    cached(one, Kind.ADD_CACHE, 8, 0, ended_at=timezone.now() - timedelta(minutes=20))
    early = ssd_space.growth(make.staff_user(), timezone.now(), {one.pk: 60 * GIB})
    assert (early[one.pk].is_known, early[one.pk].full_at) == (False, None)
    assert early[one.pk].days_to_know == 7
    text = shown(admin)
    assert "not known yet" in text
    assert "A forecast needs 7 days of data: in 7 days" in on_one_line(text)


def test_a_host_that_came_two_days_ago_has_no_forecast_for_five_more() -> None:
    """Nothing happened on either: for the old one that is known, for the new one it is not."""
    old, new = host("old"), host("new", days=2.5)
    found = ssd_space.growth(make.staff_user(), NOW, {old.pk: GIB, new.pk: GIB})
    assert found[old.pk].is_known and not found[new.pk].is_known
    assert found[new.pk].days_to_know == 5
    assert found[new.pk].known_at == NOW + timedelta(days=4.5)


def test_the_pace_of_a_host_is_that_since_it_came() -> None:
    """16 GiB in the 10 days since it came: 60 GiB last 37.5, though another host is older."""
    old, new = host("old"), host("new", days=10)
    cached(old, Kind.ADD_CACHE, 8, 0, days=40)
    cached(new, Kind.ADD_CACHE, 16, 0, days=9)
    found = ssd_space.growth(make.staff_user(), NOW, {old.pk: GIB, new.pk: 60 * GIB})
    assert found[new.pk].full_at == NOW + timedelta(days=37.5)


def test_a_host_from_the_future_has_no_forecast() -> None:
    ahead = host("ahead", days=-3)
    (found, together) = ssd_space.growth(make.staff_user(), NOW, {ahead.pk: GIB}).values()
    assert not found.is_known and not together.is_known
    assert found.days_to_know == 10


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
    volume_job(one, Kind.EXTEND_VOLUME, 5, lying("ssd", 50), None)  # from an unknown size
    rates = ssd_space.growth(make.staff_user(), NOW, {one.pk: 60 * GIB})
    # 10 + 2 + 20 - 5 - 3 = 24 GiB in 30 days.
    assert rates[one.pk].full_at == NOW + timedelta(days=75)


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
    forecast = ssd_space.full_forecast(user, timezone.now(), ssd_space.spaces(user))
    assert forecast.full == () and forecast.first is not None
    assert forecast.first.name == "fast"
    sold(slow, plan("Fast", 490, gib=4), price_minor=490)
    text = shown(admin)
    assert "First host full" in text and "in about 8 days" in text
    host("brim", free_gib=0)
    text = shown(admin)
    assert "Full now" in text and "1 host <" in on_one_line(text) and ">brim</a>; next:" in text


def test_what_jobs_will_take_is_reserved(admin: Client) -> None:
    ssd = make.fast_pv(size_bytes=50 * GIB, free_bytes=10 * GIB)
    there = scene(make.lv(), pvs=(make.pv(), ssd))
    sizes = {"fast_total_bytes": 50 * GIB, "fast_free_bytes": 10 * GIB}
    HostOutline.objects.update_or_create(host=there.host, defaults=sizes)
    wish = {"cache": {"kind": "lvmcache", "name": "c-aaaaaaaaaaaaaaaa", "size_bytes": 12 * GIB}}
    job(there, wish={"size_bytes": GIB, "tier": "hdd", "layout": "plain", **wish})
    text = admin.get(reverse("capacity")).content.decode()
    assert re.search(r"12(\.\d)?\sGiB reserved", text)
    assert "exceeds free space" in text


def test_a_host_is_full_once_the_plan_that_sells_best_no_longer_fits(admin: Client) -> None:
    left, room = host("left", free_gib=6), host("room", total_gib=1000, free_gib=25)
    best, rare = plan("Best", 490), plan("Rare", 290, gib=4)
    for of in (best, best, rare):
        sold(left, of, price_minor=490)
    caches = revenue.sold_caches(make.staff_user("owner@example.org"))
    unit = ssd_space.best_seller(caches)
    assert unit is not None and (unit.name, unit.cache_bytes) == ("Best", 8 * GIB)
    found = {each.name: each for each in ssd_space.spaces(make.staff_user("b@example.org"), unit)}
    assert found["left"].is_full and not found["room"].is_full
    assert (found["left"].room, found["room"].room) == (0, 3)
    # Without what sells, a hundredth of the SSD is what a host must have left.
    assert not ssd_space.spaces(make.staff_user("c@example.org"))[0].is_full
    text = on_one_line(shown(admin))
    assert '<div class="big-figure">3</div>' in text and "Best</a> (8\xa0GiB)" in text
    assert "Best (8\xa0GiB), the plan that most volumes have." in text
    assert "> 1 host <" in on_one_line(text)
    assert reverse("host", args=[left.key]) in text and reverse("host", args=[room.key]) in text


def test_a_plan_that_is_no_longer_sold_is_no_best_seller() -> None:
    one, old, new = host("s1"), plan("Old", 490), plan("New", 590)
    for of in (old, old, new):
        sold(one, of, price_minor=490)
    old.on_offer = False
    old.save()
    unit = ssd_space.best_seller(revenue.sold_caches(make.staff_user()))
    assert unit is not None and unit.name == "New"


def test_sites_stand_first_each_with_one_bar(admin: Client) -> None:
    host("a1", free_gib=90, site="Helsinki")
    host("a2", free_gib=70, site="Helsinki")
    assert 'id="sites"' not in shown(admin)
    host("b1", free_gib=10, site="Oslo")
    text = shown(admin)
    bars = text[text.index('id="sites"') : text.index('id="found"')]
    assert bars.index("Oslo") < bars.index("Helsinki")
    assert "160\xa0GiB free" in bars and "2 hosts" in bars and "20 % other use" in bars


def test_the_table_is_sorted_by_what_is_asked_and_is_a_file_too(admin: Client) -> None:
    host("small", total_gib=10, free_gib=9)
    tight = host("tight", free_gib=20)
    sold(tight, plan("Fast", 490), price_minor=490)
    for asked, first in (("-sold", "tight"), ("host", "small"), ("-ssd", "small")):
        text = shown(admin, sort=asked)
        table = text[text.index("<tbody>") :]
        assert re.findall(r">(small|tight)</a>", table)[0] == first, asked
    rows = list(csv.DictReader(io.StringIO(shown(admin, format="csv"))))
    assert [(row["host"], row["room_for_plans"]) for row in rows] == [
        ("tight", "2"),
        ("small", "1"),
    ]


def waiting(on: Host, gib: int, **placed: Any) -> None:
    """A volume one of whose reads waits at any time, by default without a cache. It reads 15 GiB a
    day."""
    volume = make.volume(size_bytes=gib * GIB)
    make.placement(volume, on, **placed)
    end = timezone.now().replace(minute=0, second=0, microsecond=0)
    sampled_days(volume, 5, lambda ts: 1, end=end, read_sectors=320_000)


def to_buy(client: Client) -> str:
    """The card of what to buy, on one line and without tags."""
    text = shown(client)
    card = text[text.index('id="buy"') : text.index('id="found"')]
    return on_one_line(re.sub(r"<[^>]+>", " ", card))


def test_weeks_of_samples_are_read_once_for_some_minutes(admin: Client) -> None:
    short = host("short", free_gib=4)
    waiting(short, 64)
    sold(short, plan("Fast", 800), price_minor=800)

    def reads_of_samples() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert "1 volume waits for HDDs" in to_buy(admin)
        return sum("storage_samplechunk" in each["sql"] for each in asked)

    assert (reads_of_samples(), reads_of_samples()) == (1, 0)


def test_what_is_wanted_and_does_not_fit_says_which_ssd_to_buy(admin: Client) -> None:
    """Fast takes 8 GiB and earns 8.00 EUR. 4 GiB are free on `short`, where two volumes wait: 480
    GB (447 GiB) make room for 56, of which two are wanted: 16.00 EUR a month. At 100 EUR a TB it
    costs 48.00: 3 months."""
    short, ample = host("short", free_gib=4), host("ample", free_gib=90)
    waiting(short, 64)
    waiting(short, 64)
    waiting(ample, 64)
    waiting(ample, 64, cache_technology="lvmcache", cache_bytes=GIB)
    sold(ample, plan("Fast", 800), price_minor=800)
    card = to_buy(admin)
    assert "480\xa0GB SSD for short" in card and "ample" not in card
    assert "Fast more, 2 wanted now, 16.00\xa0EUR a month" in card
    assert "2 volumes wait for HDDs" in card
    assert "; costs" not in card
    assert "Enter what 1\xa0TB of SSD costs" in card
    SsdPrice.objects.create(minor_per_tb=100_00, currency="EUR")
    assert "costs 48.00\xa0EUR, paid back in 3 months" in to_buy(admin)
    rows = {row["host"]: row for row in csv.DictReader(io.StringIO(shown(admin, format="csv")))}
    assert (rows["short"]["wanted_plans"], rows["short"]["lacking_plans"]) == ("2", "2")
    assert (rows["ample"]["wanted_plans"], rows["ample"]["lacking_plans"]) == ("1", "0")
    operator = Client()
    operator.force_login(make.staff_user("op@example.org", staff_role="operator"))
    card = to_buy(operator)
    assert "480\xa0GB SSD for short" in card
    assert "EUR" not in card and "Price of 1\xa0TB" not in card


def test_a_price_in_another_currency_pays_nothing_back(admin: Client) -> None:
    short = host("short", free_gib=4)
    waiting(short, 64)
    sold(short, plan("Fast", 800), price_minor=800)
    SsdPrice.objects.create(minor_per_tb=100_00, currency="USD")
    card = to_buy(admin)
    assert "paid back" not in card
    assert "the price of SSD is in USD, that of Fast in EUR" in card


def test_the_owner_enters_the_price_of_ssd_and_takes_it_back(admin: Client) -> None:
    def save(price: str, currency: str) -> Any:
        return admin.post(reverse("ssd-price"), {"price": price, "currency": currency})

    one = host("s1")
    sold(one, plan("Fast", 800), price_minor=800)
    assert save("180,50", "eur").status_code == 302
    price = SsdPrice.objects.get()
    assert (price.minor_per_tb, price.currency) == (180_50, "EUR")
    assert 'value="180.50"' in shown(admin)
    for wrong, currency, why in (
        ("much", "EUR", "Enter the amount like 4.90."),
        ("1", "XXX", "Enter a currency of ISO 4217"),
        ("-1", "EUR", "Enter an amount of 0 or more"),
        ("", "EUR", "This field is required."),
    ):
        reply = save(wrong, currency)
        assert reply.status_code == 422 and why in html.unescape(reply.content.decode()), wrong
    assert SsdPrice.objects.get().minor_per_tb == 180_50
    assert save("0", "EUR").status_code == 302
    assert not SsdPrice.objects.exists()


def test_a_plan_that_was_seen_sold_out_is_wanted_until_the_volume_has_it(admin: Client) -> None:
    now = timezone.now()
    full, fast = host("full", free_gib=4), plan("Fast", 490)
    has = sold(full, fast, price_minor=490)
    saw, long_ago, retired = make.volume(), make.volume(), make.volume(retired_at=now)
    for volume in (saw, long_ago, retired):
        make.placement(volume, full)
    for volume, days in ((has, 1), (saw, 1), (long_ago, 31), (retired, 1)):
        seen_at = now - timedelta(days=days)
        SoldOutView.objects.create(volume=volume, plan=fast, seen_at=seen_at)
    assert saw_sold_out(make.staff_user("owner@example.org"), now) == {full.pk: {saw.pk}}
    card = to_buy(admin)
    assert "480\xa0GB SSD for full" in card and "Customers of 1 volume saw a plan sold out" in card


def test_hosts_too_full_for_what_is_wanted_are_named_before_there_is_a_forecast(
    admin: Client,
) -> None:
    tight, fast = host("tight", free_gib=9, days=1), plan("Fast", 490)
    sold(tight, fast, price_minor=490)
    for _ in range(3):
        volume = make.volume()
        make.placement(volume, tight)
        SoldOutView.objects.create(volume=volume, plan=fast, seen_at=timezone.now())
    text = on_one_line(shown(admin))
    assert "Too full for what is wanted" in text and "not known yet" not in text
    assert text.count("A forecast needs 7 days of data") == 1
    assert "known on" not in text


def test_hosts_that_lack_most_come_first_and_the_others_are_counted(admin: Client) -> None:
    fast = plan("Fast", 490)
    for n in range(7):
        full = host(f"h{n}", free_gib=0)
        for _ in range(n + 1):
            volume = make.volume()
            make.placement(volume, full)
            SoldOutView.objects.create(volume=volume, plan=fast, seen_at=timezone.now())
    sold(full, fast, price_minor=490)
    card = to_buy(admin)
    assert re.findall(r"SSD for (h\d)", card) == ["h6", "h5", "h4"]
    assert "4 more hosts lack room." in card


def test_a_host_without_any_plan_and_a_fleet_without_one_are_no_error(admin: Client) -> None:
    bare = host("bare", free_gib=0)
    make.placement(make.volume(), bare)
    assert "No plan on sale has a cache yet" in to_buy(admin)
    assert "Price of 1\xa0TB" not in to_buy(admin)
    sold(host("other"), plan("Fast", 490), price_minor=490)
    text = shown(admin)
    assert "Nothing more is wanted" in text
    assert "No volume waits for its HDD, and no customer saw a plan sold out" in text


def test_without_an_ssd_the_page_says_what_comes_next(admin: Client) -> None:
    assert "No SSD yet" in shown(admin)

"""Customers decide whether heat is counted; their plans say what follows from it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from pytest_django import Settings

from storage.database_clock import database_now
from storage.models import HeatDay, Host, SizeForecast, Volume
from tests import make
from tests.heat_scene import COUNTING, count_heat, slow_reads
from tests.panel.api.asking import program
from tests.panel.portal.shop import browser, plan, seen, shop

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    cache.clear()


def counts(volume: Volume) -> bool:
    return Volume.objects.values_list("counts_heat", flat=True).get(pk=volume.pk)


def test_an_owner_ends_the_counting_and_what_was_counted_is_deleted() -> None:
    acme = shop()
    Host.objects.update(hello=COUNTING)
    count_heat(acme.volume, 2, database_now())
    SizeForecast.objects.create(volume=acme.volume, made_at=database_now())
    client = browser(acme.owner)
    assert "we measure how soon your volume uses the same data again" in seen(
        client, "my-volume", acme.volume.key
    )
    url = reverse("my-heat", args=[acme.volume.key])
    client.post(url, {"end": "1"})
    assert not counts(acme.volume)
    assert not HeatDay.objects.exists() and not SizeForecast.objects.exists()
    text = seen(client, "my-volume", acme.volume.key)
    assert "This measurement is off, so forecasts are less exact." in text
    assert "we measure how soon" not in text
    client.post(url)
    assert counts(acme.volume)


@pytest.mark.parametrize("hello", [{}, {"heat": {"state": "off"}}], ids=["old agent", "root"])
def test_where_the_host_counts_nothing_the_page_does_not_say_that_it_does(
    hello: dict[str, object],
) -> None:
    acme = shop()
    Host.objects.update(hello=hello)
    text = seen(browser(acme.owner), "my-volume", acme.volume.key)
    assert "Your volume's server is not measuring this at the moment" in text
    assert "we measure how soon" not in text and "allow-heat" not in text


def test_a_viewer_and_a_stranger_change_nothing() -> None:
    acme, zebra = shop(), shop("Zebra")
    viewer = make.user()
    acme.customer.members.create(user=viewer, role="viewer")
    url = reverse("my-heat", args=[acme.volume.key])
    assert browser(viewer).post(url, {"end": "1"}).status_code == 302
    assert browser(zebra.owner).post(url, {"end": "1"}).status_code == 404
    assert counts(acme.volume)


def test_a_plan_says_what_the_volumes_own_traffic_says() -> None:
    acme, now = shop(), database_now()
    plan(size_bytes=1 << 30)
    Host.objects.update(hello=COUNTING)
    count_heat(acme.volume, 12, now)
    slow_reads(acme.there, 20, now - timedelta(minutes=25))
    text = seen(browser(acme.owner), "my-plan", acme.volume.key)
    assert "of your reads would come from SSD" in text
    assert "A read would take" in text


def test_the_plan_that_is_enough_is_marked_and_suggested(settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    acme, now = shop(), database_now()
    small, large = plan("Small"), plan("Large", size_bytes=6 << 30, price_minor=990)
    Host.objects.update(hello=COUNTING)
    count_heat(acme.volume, 48, now)
    slow_reads(acme.there, 20, now - timedelta(minutes=25))
    text = seen(browser(acme.owner), "my-plan", acme.volume.key)
    cards = text.split('<li class="card plan-card')[1:]
    (marked,) = [card for card in cards if "Enough for your data" in card]
    assert f"/plan/{small.key}" in marked and "btn-primary" in marked
    assert "btn-primary" not in next(card for card in cards if f"/plan/{large.key}" in card)
    client = program(acme.owner, "billing:read")
    rows = client.get(f"/volumes/{acme.volume.key}/outlook").json()["items"]
    expected = next(row for row in rows if row["current"] is False)["expected"]
    assert expected["text"].startswith("With this size,")
    assert 0 < expected["read_ms_low"] <= expected["read_ms_high"] < 10
    assert expected["saved_seconds_per_day_high"] > 0

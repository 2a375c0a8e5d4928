"""Customers look at their own volumes, in their own words."""

from __future__ import annotations

import re
from datetime import timedelta
from unittest import mock

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job, Kind, Origin, State
from panel.models import Order
from panel.orders.order_texts import phases, sentence
from panel.portal import volume_pages
from panel.portal.plan_history import ROWS
from storage.metrics.samples.sample_round import make_partition
from storage.models import Host, Sample, Volume
from storage.volumes.ownership import disown as take_away
from storage.volumes.ownership import give
from tests import make
from tests.panel.portal.shop import browser, plan, seen, shop
from tests.panel.proofs.test_job_comparison import another, changed
from tests.scene import HOSTILE, end, job, step
from tests.storage import wire
from tests.storage.metrics.samples.rounds import noon_gone, take

pytestmark = pytest.mark.django_db
OP_ID = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c009"


def test_the_list_shows_only_ones_own_volumes() -> None:
    acme, zebra = shop(), shop("Zebra")
    text = seen(browser(acme.owner), "my-volumes")
    assert acme.volume.label in text
    assert zebra.volume.label not in text
    assert "Zebra" not in text


def test_every_page_of_a_strangers_volume_or_change_is_not_there() -> None:
    acme, zebra = shop(), shop("Zebra")
    change = job(acme.there, origin=Origin.PORTAL)
    client = browser(zebra.owner)
    for name in ("my-volume", "my-figures", "my-plan"):
        seen(client, name, acme.volume.key, status=404)
    for name in ("my-change", "my-change-status"):
        seen(client, name, change.key, status=404)
    path = reverse("my-plan-confirm", args=[acme.volume.key, plan().key])
    assert client.get(path).status_code == client.post(path).status_code == 404


def test_a_volume_that_lies_on_ssd_is_not_said_to_wait_for_slow_disks() -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", kname="dm-4", pvs=("md0",)))
    plan()
    text = seen(browser(acme.owner), "my-volume", acme.volume.key)
    assert "needs no cache" in text
    assert "slow disks" not in text
    plans = seen(browser(acme.owner), "my-plan", acme.volume.key)
    assert "Your volume is on SSD and needs no cache." in plans


def test_staff_who_are_no_members_find_nothing_here() -> None:
    acme = shop()
    client = browser(make.staff_user())
    assert client.get(reverse("my-volumes")).status_code == 404
    assert client.get(reverse("my-volume", args=[acme.volume.key])).status_code == 404


def test_staff_who_are_members_find_their_customers_volumes_only() -> None:
    acme, zebra = shop(), shop("Zebra")
    person = make.staff_user()
    acme.customer.members.create(user=person, role="viewer")
    client = browser(person)
    listed = client.get(reverse("my-volumes")).content.decode()
    assert acme.volume.label in listed
    assert zebra.volume.label not in listed
    assert client.get(reverse("my-volume", args=[zebra.volume.key])).status_code == 404


def test_the_pages_require_a_sign_in(client: Client) -> None:
    response = client.get(reverse("my-volumes"))
    assert response.status_code == 302
    assert "login" in response["Location"]


def test_a_customer_without_volumes_reads_where_they_come_from() -> None:
    person = make.user()
    make.customer().members.create(user=person)
    assert "No volumes yet" in seen(browser(person), "my-volumes")


def test_the_page_of_a_volume_tells_its_plan_and_what_was_agreed_on() -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaa_cpool")))
    sold = plan()
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=sold)
    done = job(acme.there, origin=Origin.PORTAL, cache_plan=sold, price_minor=390, currency="EUR")
    end(done)
    text = seen(browser(acme.owner), "my-volume", acme.volume.key)
    assert "Fast" in text
    assert "3.90\xa0EUR" in text
    assert "4.90\xa0EUR" not in text
    assert reverse("my-change", args=[done.key]) in text


@pytest.mark.parametrize("trouble", ["nowhere", "never read", "vanished"])
def test_a_volume_in_trouble_still_has_its_pages(trouble: str, settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    acme = shop()
    plan()
    if trouble == "nowhere":
        acme.volume.placement_set.all().delete()
    elif trouble == "never read":
        Host.objects.update(facts={}, facts_at=None)
    else:
        Host.objects.update(facts=make.inventory(make.facts()))
    client = browser(acme.owner)
    for name in ("my-volume", "my-figures"):
        seen(client, name, acme.volume.key)
    assert "contact support" in seen(client, "my-plan", acme.volume.key)


def test_what_a_customer_is_called_is_shown_as_text() -> None:
    acme = shop()
    Volume.objects.filter(pk=acme.volume.pk).update(label=HOSTILE)
    assert HOSTILE not in seen(browser(acme.owner), "my-volume", acme.volume.key)


def test_a_volume_that_changed_hands_brings_nothing_of_its_former_customer() -> None:
    acme, zebra = shop(), shop("Zebra")
    old = job(acme.there, origin=Origin.PORTAL, actor=acme.owner, cache_plan=plan("Secret plan"))
    end(old)
    client = browser(zebra.owner)
    Volume.objects.filter(pk=acme.volume.pk).update(customer=zebra.customer)
    page = seen(client, "my-volume", acme.volume.key)
    assert acme.owner.email not in page
    assert "Secret plan" not in page
    seen(client, "my-change", old.key, status=404)
    assert not Job.objects.visible_to(zebra.owner).exists()
    Volume.objects.filter(pk=acme.volume.pk).update(customer=acme.customer)
    assert "Secret plan" in seen(browser(acme.owner), "my-volume", acme.volume.key)


@pytest.mark.parametrize("is_gone", [True, False])
def test_an_order_of_the_former_customer_stays_hidden(is_gone: bool) -> None:
    """An account that is gone since, and a person who belongs to both."""
    acme, zebra = shop(), shop("Zebra")
    zebra.customer.members.create(user=acme.owner, role="viewer")
    actor = None if is_gone else acme.owner
    old = job(acme.there, origin=Origin.PORTAL, actor=actor, cache_plan=plan("Secret plan"))
    end(old, created_at=timezone.now() - timedelta(minutes=5))
    for customer, is_seen in ((acme.customer, True), (zebra.customer, False)):
        Volume.objects.filter(pk=acme.volume.pk).update(customer=customer)
        for client in (browser(acme.owner), browser(zebra.owner)):
            if client.get(reverse("my-volume", args=[acme.volume.key])).status_code == 200:
                page = seen(client, "my-volume", acme.volume.key)
                marks = client.get(reverse("volume-marks", args=[acme.volume.key])).json()
                assert ("Secret plan" in page) == is_seen
                assert bool(marks["marks"]) == is_seen
    seen(browser(zebra.owner), "my-change", old.key, status=404)


def test_the_newest_changes_are_shown_and_all_of_them_to_who_asks() -> None:
    acme, now = shop(), timezone.now()
    Order.objects.bulk_create(
        Order(
            customer=acme.customer,
            volume=acme.volume,
            intent="upgrade",
            state="cancelled",
            currency="EUR",
            price_minor=100 + n,
            charge_minor=0,
            next_invoice_minor=0,
            next_invoice_at=now,
        )
        for n in range(ROWS + 1)
    )
    client = browser(acme.owner)
    page = seen(client, "my-volume", acme.volume.key)
    assert "1.01\xa0EUR" in page and "1.00\xa0EUR" not in page and "?changes=all#" in page
    page = seen(client, "my-volume", acme.volume.key, changes="all")
    assert ("1.00\xa0EUR" in page, "?changes=all#" in page) == (True, False)


def test_figures_of_before_are_not_shown_to_the_new_customer() -> None:
    acme, zebra = shop(), shop("Zebra")
    acme.customer.members.create(user=zebra.owner, role="viewer")
    at = timezone.now() - timedelta(minutes=2)
    make_partition(at.date())  # yesterday's, just after midnight
    for n in range(3):
        figures = wire.volume(acme.there.lv.uuid, disk=wire.disk(reads=2000 * n))
        take(acme.there.host, 10 * n, figures, start=at)
    client, key = browser(zebra.owner), acme.volume.key

    def figures_seen() -> tuple[set[float], bool, bool]:
        series = client.get(reverse("volume-series", args=[key])).json()["series"]["read_iops"]
        table = client.get(reverse("volume-csv", args=[key])).content.decode()
        return {*series} - {None}, ",200.0," in table, "200 reads" in seen(client, "my-charts", key)

    assert figures_seen() == ({200}, True, True)
    Volume.objects.filter(pk=acme.volume.pk).update(customer=zebra.customer)
    assert figures_seen() == (set(), False, False)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM storage_sample WHERE volume_id = %s", [acme.volume.pk])
        assert cursor.fetchone()[0] == 2


def test_changes_by_the_provider_are_not_the_customers_to_see() -> None:
    acme = shop()
    by_staff = job(acme.there)
    seen(browser(acme.owner), "my-change", by_staff.key, status=404)


@pytest.mark.parametrize("state", State)
def test_a_change_in_any_state_is_shown_without_a_word_of_the_tools(state: State) -> None:
    acme = shop()
    running = {"lease_owner": "me", "lease_until": "2100-01-01T00:00Z"}
    there = job(
        acme.there,
        origin=Origin.PORTAL,
        cache_plan=plan(),
        price_minor=490,
        currency="EUR",
        explanation="lvconvert on host1",
        error={"code": "x", "message": "lvconvert: vg0 is full", "correction": "vgextend vg0"},
        **running if state == State.RUNNING else {},
    )
    step(there, state="running", op_id=OP_ID, output_seen=1)
    if state in (State.SUCCEEDED, State.FAILED, State.CANCELLED):
        end(there, state)
    else:
        Job.objects.filter(pk=there.pk).update(state=state)
    text = seen(browser(acme.owner), "my-change", there.key)
    assert there.key in text
    is_over = state in (State.SUCCEEDED, State.FAILED, State.CANCELLED)
    assert (reverse("my-change-status", args=[there.key]) in text) != is_over
    assert ("http-equiv" in text) != is_over


def test_an_older_change_still_shows_what_it_brought() -> None:
    noon = noon_gone()
    volume, done = changed(noon)
    another(volume, Kind.REMOVE_CACHE, 1.5, noon)
    assert volume.customer is not None
    client = browser(volume.customer.members.get().user)
    for name, key in (("my-change", done.key), ("my-volume", volume.key)):
        text = seen(client, name, key)
        assert "Effect of the change" in text
        assert "A read is 10.0 times as fast as before." in text
        assert "and the last hour before the next change." in text


def test_the_last_hour_has_one_figure_on_the_page_of_a_volume() -> None:
    noon = noon_gone()
    volume, _ = changed(noon)
    assert volume.customer is not None
    owner = volume.customer.members.get().user
    with (
        time_machine.travel(noon + timedelta(minutes=112), tick=False),
        mock.patch.object(volume_pages, "database_now", timezone.now),
    ):
        text = seen(browser(owner), "my-volume", volume.key)
    glance = re.search(r"A read takes ([\d.]+\sms) on average", text)
    effect = re.search(r"<strong>([\d.]+\sms)</strong>", text)
    assert glance is not None and effect is not None
    assert glance[1].replace("\xa0", " ") == effect[1].replace("\xa0", " ")


def test_the_words_follow_the_steps() -> None:
    there = job(shop().there, origin=Origin.PORTAL, cache_plan=plan())
    first = step(there, verb="pool.create", state="running", op_id=OP_ID)
    second = step(there, n=2)
    assert "Preparing your cache" in sentence(there, [first, second])
    assert [phase.state for phase in phases(there, [first, second])] == ["now", "next", "next"]
    second.state = "running"
    assert "Activating the cache" in sentence(there, [first, second])
    assert [phase.state for phase in phases(there, [first, second])] == ["done", "now", "next"]
    end(there)
    assert "now has the plan Fast" in sentence(there, [first, second])
    assert {phase.state for phase in phases(there, [first, second])} == {"done"}


def test_a_failure_before_the_first_step_changed_nothing_and_a_later_one_does_not_say_so() -> None:
    there = job(shop().there, origin=Origin.PORTAL, cache_plan=plan())
    end(there, State.FAILED)
    assert "nothing was changed" in sentence(there, [])
    begun = step(there, state="failed", op_id=OP_ID)
    assert "nothing was changed" not in sentence(there, [begun])
    assert "price stay the same" in sentence(there, [begun])


def test_the_figures_renew_themselves() -> None:
    acme = shop()
    text = seen(browser(acme.owner), "my-figures", acme.volume.key)
    assert reverse("my-figures", args=[acme.volume.key]) in text


def test_a_year_of_a_volume_is_there_in_its_customers_words_and_nothing_of_before() -> None:
    acme, now = shop(), timezone.now()
    zero = dict.fromkeys(("writes", "read_sectors", "write_sectors", "write_ms"), 0)
    for days, reads in ((300, 900), (100, 600), (1, 300)):
        at = (now - timedelta(days=days)).replace(hour=12, minute=0, second=0, microsecond=0)
        make_partition(at.date())
        Sample.objects.create(
            volume=acme.volume, ts=at, dt_ms=10_000, reads=reads, read_ms=2 * reads,
            latency_counts=None, technology=0, **zero,
        )  # fmt: skip
    client = browser(acme.owner)
    text = seen(client, "my-charts", acme.volume.key, range="1y")
    assert "Last 12 months: 60 reads and 0 writes per second on average." in text
    assert "Reads, writes and latency" in text
    for staff_word in ("IOPS", "leg:", "p95", "Bypass", "suspen"):
        assert staff_word not in text
    url = reverse("volume-series", args=[acme.volume.key])
    year = client.get(url, {"range": "1y"}).json()
    assert (year["points"], year["step_seconds"]) == (365, 86_400)
    assert [each for each in year["series"]["read_iops"] if each is not None] == [90, 60, 30]
    assert "heat" not in year and "least" not in year
    assert not [name for name in year["series"] if "leg" in name or "latency" in name]
    for customer in (make.customer("Another"), acme.customer):
        take_away(acme.volume)
        give(acme.volume, customer, now)
    later = client.get(url, {"range": "1y"}).json()
    assert set(later["series"]["read_iops"]) == {None}, "it was another's meanwhile"

"""Why it is slow, for the volume's customer: plain words, and no other customer's name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs.models import Job, Origin, State
from panel.models import User
from storage import row_security
from storage.byte_sizes import GIB
from storage.models import Customer, Host, HostChange, Placement, Volume
from storage.volumes.ownership import disown, give
from tests import make
from tests.panel.portal.shop import plan, seen
from tests.proven import prove
from tests.scene import HOSTILE, RTL
from tests.storage.analysis.test_disk_condition import NOON, Neighbours, at

pytestmark = pytest.mark.django_db
AFTER = NOON + timedelta(minutes=26, seconds=5)
SPY = f"{HOSTILE}{RTL}Rivals-database"


@pytest.fixture
def acme() -> Iterator[Customer]:
    """Acme has `calm`; a rival has the volume that slows it, whose name is an attack."""
    there = Neighbours(make.host(name="kapselberg", last_seen_at=NOON))
    there.minutes(26, 24, noisy=6000)
    Host.objects.update(last_seen_at=AFTER)
    customer, rival = make.customer("Acme"), make.customer("Rival")
    Volume.objects.filter(label="calm").update(customer=customer)
    Volume.objects.filter(label="noisy").update(customer=rival, label=SPY)
    with time_machine.travel(AFTER, tick=False):
        yield customer


def person(customer: Customer, role: str = "owner") -> Client:
    user: User = make.user()
    customer.members.create(user=user, role=role)
    client = Client()
    client.force_login(user)
    return prove(client, user)


def read(client: Client, name: str, key: str) -> str:
    """The page's text with ordinary spaces."""
    return seen(client, name, key).replace("\xa0", " ")


def key() -> str:
    return Volume.objects.get(label="calm").key


def test_the_customer_reads_what_it_waits_for_and_shares_alone(
    acme: Customer, settings: Settings
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    plan()
    for name in ("my-slowness", "my-volume"):
        text = read(person(acme), name, key())
        assert "Why is it slow?" in text
        assert "Share of the disk's time in use" in text.replace("&#x27;", "'")
        assert "Show plans" in text and "The plans show" not in text
        assert "the slow disk (HDD), which is 95 % busy" in text
        assert "Other volumes use 91.2 % of the time of this disk, your volume uses 8.8 %." in text
        assert f'href="{reverse("my-plan", args=[key()])}"' in text
        for secret in (SPY, "Rival", "noisy", "sdc", "kapselberg", "script&gt;"):
            assert secret not in text


def test_the_list_leads_to_the_card_of_what_is_slow(acme: Customer) -> None:
    text = seen(person(acme), "my-volumes")
    assert f'href="{reverse("my-slowness", args=[key()])}"' in text


def test_a_strangers_volume_has_no_card(acme: Customer) -> None:
    rival = Customer.objects.get(name="Rival")
    seen(person(rival), "my-slowness", key(), status=404)
    own = Volume.objects.get(customer=rival)
    assert "calm" not in seen(person(rival), "my-slowness", own.key)


def test_his_own_changes_are_named_and_no_others(acme: Customer) -> None:
    with row_security.beyond():
        host, calm = Host.objects.get(), Volume.objects.get(label="calm")
        HostChange.objects.create(host=host, kind="kernel", at=NOON, before="6.1", after="6.12")
        owner = make.user()
        acme.members.create(user=owner, role="owner")
        for origin, label in ((Origin.PORTAL, "Boost S"), (Origin.PAGE, "")):
            done = Job.objects.create(
                kind="add-cache", host=host, volume=calm, wish={}, origin=origin, actor=owner,
                cache_plan=plan(label) if label else None, state=State.SUCCEEDED, ended_at=NOON,
            )  # fmt: skip
            Job.objects.filter(pk=done.pk).update(created_at=NOON, started_at=NOON)
    text = seen(person(acme), "my-slowness", key())
    assert "Your changes in the day before:" in text
    assert text.count("Plan: Boost S") == 1 and "Kernel" not in text and "6.12" not in text


def test_a_time_in_which_it_was_another_customers_is_not_looked_at(acme: Customer) -> None:
    calm = Volume.objects.get(label="calm")
    disown(calm)
    give(calm, Customer.objects.get(name="Rival"), AFTER)
    disown(calm)
    give(calm, acme, AFTER)
    text = read(person(acme), "my-slowness", key())
    assert "There is no current data of your volume." in text
    assert "too little data to name a reason" in text and "95 %" not in text


def test_who_may_not_order_is_shown_no_plan(acme: Customer, settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    text = read(person(acme, "viewer"), "my-slowness", key())
    assert "Other volumes use" in text and "Show plans" not in text


def test_no_larger_cache_is_sold_where_the_present_one_ended_the_slow_time(
    acme: Customer, settings: Settings
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    plan()
    large = plan("Faster", size_bytes=4 * GIB)
    with row_security.beyond():
        host, calm = Host.objects.get(), Volume.objects.get(label="calm")
        uuids = {each.lv_name: str(each.lv_uuid) for each in Placement.objects.all()}
        cache = make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool")
        cached = make.lv("calm", uuid=uuids["calm"], cache=cache)
        facts = make.facts(cached, make.lv("noisy", uuid=uuids["noisy"]))
        Host.objects.update(facts=make.inventory(facts))
        Job.objects.create(
            kind="add-cache", host=host, volume=calm, wish={}, origin=Origin.PAGE,
            state=State.SUCCEEDED, ended_at=at(25),
        )  # fmt: skip
    text = read(person(acme), "my-slowness", key())
    assert "Your volume has a new cache: it fills while data is read." in text
    assert "A larger cache" not in text and "Show plans" not in text
    Job.objects.update(ended_at=at(-10))
    text = read(person(acme), "my-slowness", key())
    assert "A larger cache may help." in text and "new cache" not in text
    large.delete()
    text = read(person(acme), "my-slowness", key())
    assert "A larger cache" not in text and "Show plans" not in text


def test_a_volume_that_is_fast_has_no_card_on_its_page(acme: Customer) -> None:
    with time_machine.travel(at(26) + timedelta(hours=2), tick=False):
        client = person(acme)
        assert "Why is it slow?" not in seen(client, "my-volume", key())
        text = read(client, "my-slowness", key())
        assert "There is no current data" in text and "Is it slow?" in text
        assert "Other volumes used 91.2 %" in text

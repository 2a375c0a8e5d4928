"""The demo's invented past says so wherever it is shown, and is no figure of a host."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from panel.models import User
from panel.orders.pricing.quote import quote
from storage.metrics.samples import window
from storage.models import Host, LatestSample, Volume
from tests import make
from tests.demo import history, people
from tests.demo.settings import SEEDED


@pytest.fixture(scope="module")
def now() -> datetime:
    return timezone.now()


@pytest.fixture(scope="module")
def host(
    now: datetime, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Host]:
    """Made once, since its week has thousands of samples; rolled back with the last test."""
    with django_db_blocker.unblock(), transaction.atomic():
        people.settle(with_tour=False)
        host = make.host()
        history.orders(history.volumes(now), host, now)
        yield host
        transaction.set_rollback(True)


def as_owner(volume: Volume) -> Client:
    assert volume.customer is not None
    client = Client()
    client.force_login(User.objects.get(memberships__customer=volume.customer))
    return client


def seeded() -> list[Volume]:
    found = list(Volume.objects.filter(label__endswith=SEEDED))
    assert {volume.customer and volume.customer.name for volume in found} == {
        past.customer for past in history.PASTS
    }
    return found


def test_every_page_of_a_seeded_volume_says_so(host: Host) -> None:
    for volume in seeded():
        client = as_owner(volume)
        for page in ("", "charts?range=24h", "plan"):
            reply = client.get(f"/my/volumes/{volume.key}/{page}")
            assert (reply.status_code, SEEDED in reply.content.decode()) == (200, True)
        assert SEEDED in client.get("/my/").content.decode()


def test_the_order_lies_between_a_slow_and_a_fast_part(host: Host, now: datetime) -> None:
    for volume in seeded():
        at = now - history.ORDERED_AGO
        before = window(volume, now - history.DAY - history.WEEK, at)
        after = window(volume, at + history.ORDERED_AGO / 2, now)
        assert before.coverage > 0.9 < after.coverage
        assert before.hit_rate is None
        assert after.hit_rate is not None
        assert (after.read_ms or 99) < (before.read_ms or 0) * 0.8
        marks = as_owner(volume).get(f"/volumes/{volume.key}/marks?range=24h").json()["marks"]
        assert [mark["label"] for mark in marks] == [f"Plan: {volume.cache_plan}"]
        order = volume.orders.get()
        assert (order.state, order.to_plan) == ("completed", volume.cache_plan)
        fair = quote(order.created_at, 0, order.price_minor, order.currency)
        assert order.charge_minor == fair.charge_minor <= order.price_minor
        proof = order.proof
        assert (proof.state, proof.verdict, proof.was_warm) == ("ready", "gain", True)


def test_no_host_and_no_latest_figure_knows_of_it(host: Host) -> None:
    assert not LatestSample.objects.exists()
    assert not Volume.objects.placed_on(host).exists()
    assert SEEDED not in host_page(host)


def host_page(host: Host) -> str:
    client = Client()
    client.force_login(User.objects.get(email=people.ADMIN))
    return client.get(f"/hosts/{host.key}/").content.decode()

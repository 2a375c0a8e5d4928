"""Orders and words that come at the same moment, each over a connection of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from jobs import notify_workers
from jobs.models import Job
from panel.models import Order, OrderState
from panel.orders import authorisation, due_orders, events, place_order
from panel.orders.evaluate import Evaluation
from panel.orders.order_request import OrderRefused
from panel.orders.pricing.quote import period
from storage.discovery.ingest import apply_facts
from storage.models import Volume
from tests import make
from tests.jobs.engine.test_transitions import at_once
from tests.panel.orders.till import buy, mandate
from tests.panel.portal.shop import Shop, plan, shop
from tests.scene import end

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)


def test_of_many_clicks_one_is_the_order_and_of_two_orders_one_fits_the_cap(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = True
    first, _ = period(timezone.now())
    monkeypatch.setattr(place_order, "database_now", lambda: first)
    acme, zebra, fast = shop(), shop("Zebra"), plan()
    Volume.objects.filter(pk=zebra.volume.pk).update(customer=acme.customer)
    mandate(acme.customer, cap_period_minor=700, earliest_next_at=first)
    volumes = [acme.volume, zebra.volume]

    def order(n: int) -> str:
        try:
            return buy(acme, fast, volume=volumes[n % 2], idempotency_key=f"click {n % 2}").key
        except OrderRefused as refused:
            return refused.code

    results = at_once(8, order)
    made = Order.objects.get()
    assert sorted(set(results)) == sorted({made.key, "over_cap"})
    assert results.count(made.key) == 4
    assert Job.objects.count() == 1


def test_one_decision_is_taken_and_one_end_is_reported(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    sent: list[str] = []
    for name in ("refused", "completed"):
        monkeypatch.setattr(
            getattr(events, name), "send", lambda sender, order, name=name: sent.append(name)
        )
    made = buy(shop(), plan())

    def decided(n: int) -> bool:
        order = Order.objects.get(pk=made.pk)
        return authorisation.refuse(order, "No.") if n % 2 else authorisation.approve(order)

    assert at_once(6, decided).count(True) == 1
    made.refresh_from_db()
    if made.state == OrderState.RUNNING:
        end(Job.objects.get())
        at_once(3, lambda n: due_orders.sweep_orders())
    made.refresh_from_db()
    assert sent == [made.state]


def test_an_order_and_an_inventory_of_its_host_that_come_at_once_are_both_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme, fast = shop(), plan()
    size_bytes = acme.volume.size_bytes
    locked, read = Event(), Event()
    evaluate_now = place_order.evaluate_now

    def slowly(*args: Any) -> Evaluation:
        locked.set()
        # Long enough for the inventory to take what it can get, and to wait for the rest.
        read.wait(1)
        return evaluate_now(*args)

    def order() -> None:
        try:
            buy(acme, fast)
        finally:
            connection.close()

    def inventory() -> None:
        try:
            locked.wait(30)
            _says_twice_the_size(acme)
            read.set()
        finally:
            connection.close()

    monkeypatch.setattr(place_order, "evaluate_now", slowly)
    with ThreadPoolExecutor(2) as pool:
        for act in [pool.submit(order), pool.submit(inventory)]:
            act.result()
    assert Job.objects.get() == Order.objects.get().job
    assert acme.volume.size_bytes == 2 * size_bytes


def _says_twice_the_size(acme: Shop) -> None:
    placement = acme.volume.placed
    assert placement is not None
    twice = 2 * acme.volume.size_bytes
    lv = make.lv("vm-101-disk-0", uuid=placement.lv_uuid, size_bytes=twice)
    apply_facts(placement.host, make.inventory(make.facts(lv)), timezone.now())

"""Customers change their plan: cards, a confirmation, one real job."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs import notify_workers
from jobs.engine import operation, runner
from jobs.hosts.refresh import refresh
from jobs.models import Job, Kind, Origin, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from panel.models import Order, OrderState, SoldOutView
from panel.orders.due_orders import sweep_orders
from storage.byte_sizes import GIB, MIB
from storage.models import CachePlan, Host, Volume
from storage.planner.wish import CacheWish, LvmCache, Wish
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.contract.fake_world import FakeWorld
from tests.fake.fixtures import enrol, fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.panel.orders.till import buy, finish, has_cache, has_no_cache
from tests.panel.portal.shop import Shop, browser, buyer, clean, plan, seen, shop
from tests.proven import is_asked
from tests.scene import end, job

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _shop_is_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.05))


def order(client: Client, volume: Volume, choice: CachePlan | None, **data: Any) -> HttpResponse:
    """Send the confirmation as its form holds it."""
    agreed = {"price_minor": choice.price_minor, "currency": choice.currency} if choice else {}
    path = reverse("my-plan-confirm", args=[volume.key, choice.key if choice else "none"])
    fields = {"price_minor": 0, "currency": "", **agreed, **data}
    return client.post(path, fields)  # type: ignore[return-value]


def order_page(client: Client) -> str:
    """The page of the newest order."""
    return seen(client, "my-order", Order.objects.first().key)  # type: ignore[union-attr]


def refused(response: HttpResponse, status: int = 422) -> str:
    assert response.status_code == status
    return clean(response.content.decode())


def test_a_card_tells_price_and_size_and_leads_to_the_confirmation() -> None:
    acme, fast = shop(), plan(description="For busy mail servers")
    client = buyer(acme.owner)
    cards = seen(client, "my-plan", acme.volume.key)
    assert "4.90\xa0EUR" in cards
    assert "2\xa0GiB" in cards
    assert "For busy mail servers" in cards
    path = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    assert path in cards
    confirmation = seen(client, "my-plan-confirm", acme.volume.key, fast.key)
    assert "4.90\xa0EUR" in confirmation
    assert "keeps running" in confirmation
    assert not Job.objects.exists()


def test_the_confirmation_sent_back_makes_one_job_with_plan_price_and_door() -> None:
    acme, fast = shop(), plan()
    response = order(buyer(acme.owner), acme.volume, fast)
    made = Job.objects.get()
    placed = Order.objects.get()
    assert response.headers["Location"] == reverse("my-order", args=[placed.key])
    assert (placed.job, placed.price_minor) == (made, 490)
    assert placed.expected["kind"] == "unknown"
    assert (made.kind, made.origin, made.actor) == (Kind.ADD_CACHE, Origin.PORTAL, acme.owner)
    assert made.address == "127.0.0.1"
    assert (made.cache_plan, made.price_minor, made.currency) == (fast, 490, "EUR")
    cache = Wish.from_json(made.wish).cache
    assert isinstance(cache, LvmCache)
    assert cache.size_bytes == 2 * GIB
    assert acme.volume.cache_plan is None


def test_a_double_click_makes_one_job_and_shows_it() -> None:
    acme, fast = shop(), plan()
    client = buyer(acme.owner)
    first, second = order(client, acme.volume, fast), order(client, acme.volume, fast)
    assert Job.objects.count() == 1
    assert first.headers["Location"] == second.headers["Location"]


def test_a_running_change_is_shown_and_bars_another() -> None:
    acme = shop()
    plan()
    running = job(acme.there, origin=Origin.PORTAL)
    client = buyer(acme.owner)
    link = reverse("my-change", args=[running.key])
    for name in ("my-volumes", "my-volume", "my-plan"):
        assert link in seen(client, name, *[acme.volume.key] * (name != "my-volumes"))
    assert "Another change is running" in seen(client, "my-plan", acme.volume.key)


def test_work_by_the_provider_is_said_without_showing_it() -> None:
    acme, fast = shop(), plan()
    by_staff = job(acme.there)
    text = refused(order(buyer(acme.owner), acme.volume, fast), 409)
    assert by_staff.key not in text
    assert Job.objects.count() == 1


@pytest.mark.parametrize("role", ["viewer", ""])
def test_who_may_not_order_sees_cards_with_the_reason_and_gets_no_job(role: str) -> None:
    acme, fast = shop(), plan()
    person = make.user()
    if not role:
        make.customer().members.create(user=person, role="owner")
        assert order(buyer(person), acme.volume, fast).status_code == 404
    else:
        acme.customer.members.create(user=person, role=role)
        cards = seen(buyer(person), "my-plan", acme.volume.key)
        assert "Your role allows you to view, but not to order" in cards
        assert reverse("my-plan-confirm", args=[acme.volume.key, fast.key]) not in cards
        refused(order(buyer(person), acme.volume, fast))
    assert not Job.objects.exists()


def test_an_operator_of_the_customer_may_order() -> None:
    acme, fast = shop(), plan()
    person = make.user()
    acme.customer.members.create(user=person, role="operator")
    assert order(buyer(person), acme.volume, fast).status_code == 302


def test_no_customer_can_order_while_ordering_is_closed(settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = False
    acme, fast = shop(), plan()
    client = buyer(acme.owner)
    assert "Ask your provider" in seen(client, "my-plan", acme.volume.key)
    refused(order(client, acme.volume, fast))
    assert not Job.objects.exists()


def test_a_price_that_changed_meanwhile_is_asked_about_again() -> None:
    acme, fast = shop(), plan()
    client = buyer(acme.owner)
    text = refused(order(client, acme.volume, fast, price_minor=390))
    assert "price has changed" in text
    assert "4.90\xa0EUR" in text
    assert not Job.objects.exists()


def test_a_plan_that_is_sold_out_is_refused_in_the_customers_words() -> None:
    acme = shop(pvs=(make.pv(), make.fast_pv(free_bytes=GIB)))
    fast = plan()
    client = buyer(acme.owner)
    assert "Sold out" in seen(client, "my-plan", acme.volume.key)
    assert "Sold out" in refused(order(client, acme.volume, fast))
    assert not Job.objects.exists()


def test_a_plan_that_was_seen_sold_out_is_remembered_once() -> None:
    acme = shop(pvs=(make.pv(), make.fast_pv(free_bytes=GIB)))
    large, _small = plan(), plan("Small", size_bytes=GIB // 4)
    client = buyer(acme.owner)
    for _ in range(2):
        seen(client, "my-plan", acme.volume.key)
    noted = SoldOutView.objects.get()
    assert (noted.volume, noted.plan) == (acme.volume, large)


def test_what_is_promised_to_another_customer_is_not_sold_again() -> None:
    acme = shop(pvs=(make.pv(), make.fast_pv(free_bytes=3 * GIB)))
    zebra, fast = shop("Zebra"), plan()
    Volume.objects.filter(pk=zebra.volume.pk).update(customer=acme.customer)
    other = zebra.volume.placed
    assert other is not None
    other.host = acme.there.host
    other.save()
    facts = make.facts(acme.there.lv, zebra.there.lv, pvs=acme.there.facts.pvs)
    acme.there.host.facts = make.inventory(facts)
    acme.there.host.save()
    client = buyer(acme.owner)
    assert order(client, acme.volume, fast).status_code == 302
    assert "Sold out" in refused(order(client, zebra.volume, fast))
    assert Job.objects.count() == 1


@pytest.mark.parametrize("state", ["quarantined", "unverified"])
def test_a_host_in_trouble_is_not_the_customers_to_know(state: str) -> None:
    acme, fast = shop(host={"state": state}), plan()
    client = buyer(acme.owner)
    assert "contact support" in seen(client, "my-plan", acme.volume.key)
    assert "contact support" in refused(order(client, acme.volume, fast))


def test_ones_own_plan_cannot_be_bought_twice() -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaa_cpool")))
    fast = plan(on_offer=False)
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=fast)
    client = buyer(acme.owner)
    assert "Your current plan" in seen(client, "my-plan", acme.volume.key)
    assert "already your plan" in refused(order(client, acme.volume, fast))


def test_a_plan_retired_meanwhile_is_refused_and_not_shown_any_more() -> None:
    acme, old = shop(), plan(on_offer=False)
    client = buyer(acme.owner)
    assert "no longer available" in refused(order(client, acme.volume, old))
    seen(client, "my-plan-confirm", acme.volume.key, old.key, status=404)
    path = reverse("my-plan-confirm", args=[acme.volume.key, "nothing"])
    assert client.post(path).status_code == 404


def test_back_to_no_cache_is_a_removal_without_a_price() -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool")))
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=plan())
    assert order(buyer(acme.owner), acme.volume, None, when="now").status_code == 302
    made = Job.objects.get()
    assert (made.kind, made.cache_plan, made.price_minor) == (Kind.REMOVE_CACHE, None, 0)


def test_a_lower_price_begins_at_the_end_of_the_month_and_can_be_cancelled_until_then() -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool")))
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=plan())
    client = buyer(acme.owner)
    page = seen(client, "my-plan-confirm", acme.volume.key, "none")
    assert re.search(r'value="period_end"\s+checked', page)
    assert order(client, acme.volume, None).status_code == 302
    placed = Order.objects.get()
    assert (placed.state, placed.job) == (OrderState.SCHEDULED, None)
    assert "Until then you keep Fast" in seen(client, "my-order", placed.key)
    for name in ("my-volume", "my-plan"):
        assert reverse("my-order-cancel", args=[placed.key]) in seen(client, name, acme.volume.key)
    client.post(reverse("my-order-cancel", args=[placed.key]))
    placed.refresh_from_db()
    assert placed.state == OrderState.CANCELLED
    assert "Planned" not in seen(client, "my-volume", acme.volume.key)


def test_an_order_that_has_not_begun_is_cancelled_also_where_nothing_is_sold_any_more(
    settings: Settings,
) -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool")))
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=plan())
    client = buyer(acme.owner)
    assert order(client, acme.volume, None).status_code == 302
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = False
    placed = Order.objects.get()
    path = reverse("my-order-cancel", args=[placed.key])
    assert path in seen(client, "my-order", placed.key)
    client.post(path)
    placed.refresh_from_db()
    assert placed.state == OrderState.CANCELLED


def test_a_bigger_plan_exchanges_the_cache_and_says_what_that_means() -> None:
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool")))
    bigger = plan("Faster", size_bytes=4 * GIB)
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=plan())
    client = buyer(acme.owner)
    text = seen(client, "my-plan-confirm", acme.volume.key, bigger.key)
    assert "for a few minutes while the cache is replaced" in text
    assert order(client, acme.volume, bigger).status_code == 302
    made = Job.objects.get()
    assert (made.kind, made.cache_plan) == (Kind.REPLACE_CACHE, bigger)
    assert made.wish["cache"]["size_bytes"] == 4 * GIB
    assert "Replacing the cache" in order_page(client)


def test_a_failed_change_leaves_the_plan_as_it_was() -> None:
    acme, fast = shop(), plan()
    client = buyer(acme.owner)
    order(client, acme.volume, fast)
    made = Job.objects.get()
    end(made, State.FAILED, error={"code": "x", "message": "lvcreate failed on vg0"})
    assert acme.volume.cache_plan is None
    for _ in range(2):
        page = order_page(client)
        assert "nothing was changed" in page
        assert "Nothing was charged" in page
        sweep_orders()
    assert "not changed" in seen(client, "my-volume", acme.volume.key)


# The whole way, on the fake host


@pytest.fixture
def real(fake_host: FakeHost, fake_server: FakeServer) -> Shop:
    """A customer's volume on the fake host: found, and allowed to be changed."""
    FakeWorld(fake_host).add_lv("vm-101-disk-0", GIB)
    acme, host = shop(), enrol(fake_server, "kapselberg-real")
    assert refresh(host), host.error
    found = Volume.objects.get(label="vm-101-disk-0")
    Volume.objects.filter(pk=found.pk).update(customer=acme.customer, label="mail")
    acme.there.volume.pk = found.pk
    return acme


def run(made: Job) -> None:
    for _ in range(20):
        Job.objects.filter(pk=made.pk).update(not_before=None)
        runner.run(made.pk)
        made.refresh_from_db()
        if made.is_over:
            break


def test_a_customer_buys_a_cache_and_goes_back(real: Shop) -> None:
    small = plan("Small", size_bytes=None, ratio_percent=25)
    client = buyer(real.owner)
    assert order(client, real.volume, small).status_code == 302
    bought = Job.objects.get()
    assert "Preparing your cache" in order_page(client)
    run(bought)
    assert (bought.state, bought.error) == (State.SUCCEEDED, {})
    sweep_orders()
    assert "now has the plan Small" in order_page(client)
    assert real.volume.cache_plan == small
    page = seen(client, "my-volume", real.volume.key)
    assert "256\xa0MiB" in page
    assert "4.90\xa0EUR" in page
    assert order(client, real.volume, None, when="now").status_code == 302
    removed = Job.objects.exclude(pk=bought.pk).get()
    run(removed)
    assert (removed.state, removed.error) == (State.SUCCEEDED, {})
    assert real.volume.cache_plan is None
    sweep_orders()
    assert "no longer has a cache" in order_page(client)


def test_work_by_staff_leaves_the_customers_plan_alone(real: Shop) -> None:
    small = plan("Small", size_bytes=None, ratio_percent=25)
    client = buyer(real.owner)
    order(client, real.volume, small)
    bought = Job.objects.get()
    run(bought)
    by_staff = Job.objects.create(
        kind=Kind.SET_CACHE, host=bought.host, volume=bought.volume, wish=bought.wish
    )
    run(by_staff)
    assert by_staff.state == State.SUCCEEDED
    assert real.volume.cache_plan == small


def test_undoing_an_order_is_bound_to_the_price_that_was_shown() -> None:
    """The plan of before was given by staff: it costs what it costs at that moment."""
    acme, fast = shop(), plan()
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=fast)
    has_cache(acme)
    bigger = buy(acme, plan("Big", price_minor=990, size_bytes=4 * GIB))
    finish(bigger)
    client, path = buyer(acme.owner), reverse("my-order-revert", args=[bigger.key])
    assert 'name="price_minor" value="490"' in seen(client, "my-order-revert", bigger.key)
    text = refused(client.post(path, {"price_minor": 390, "currency": "EUR"}))  # type: ignore[arg-type]
    assert "price has changed" in text and 'value="490"' in text
    assert client.post(path, {"price_minor": 490, "currency": "EUR"}).status_code == 302


def test_a_change_to_a_lower_price_says_what_undoing_it_depends_on() -> None:
    acme, fast = shop(), plan()
    finish(buy(acme, fast))
    has_cache(acme)
    text = seen(buyer(acme.owner), "my-plan-confirm", acme.volume.key, "none")
    assert "needs free SSD space and" in text and "payment authorisation" in text
    bigger = plan("Big", price_minor=990, size_bytes=4 * GIB)
    assert "needs free SSD" not in seen(
        buyer(acme.owner), "my-plan-confirm", acme.volume.key, bigger.key
    )


def provided() -> Shop:
    """A volume whose provider has set up a cache for nothing."""
    acme = shop()
    has_cache(acme)
    return acme


def test_no_password_is_asked_for_where_nothing_is_charged(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7.0
    acme, fast = shop(), plan()
    client = browser(acme.owner)  # has proven nothing lately
    path = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    assert is_asked(client.post(path, {"price_minor": 490, "currency": "EUR"}))
    asked = client.post(f"{path}?trial=1", {"price_minor": 0, "currency": "EUR"})
    tried = Order.objects.get()
    assert asked["Location"] == reverse("my-order", args=[tried.key])
    finish(tried)
    has_cache(acme)
    page = seen(client, "my-volume", acme.volume.key)
    assert "Free trial, 7 days left" in page
    assert f'href="{path}">Keep it' in page
    kept = seen(client, "my-plan-confirm", acme.volume.key, fast.key)
    assert f'Keep <span class="text">{fast.name}</span>?' in kept
    assert f"Trial of {fast.name}" in kept
    assert "Billing starts now." in kept
    assert "The change takes about a minute" not in kept
    fields = {"price_minor": 0, "currency": "EUR"}
    back = client.post(reverse("my-order-revert", args=[tried.key]), fields)
    assert back["Location"] == reverse("my-order", args=[Order.objects.first().key])  # type: ignore[union-attr]


def test_undoing_gives_back_the_providers_cache_and_says_so_on_every_page() -> None:
    acme = provided()
    client = browser(acme.owner)
    confirmation = seen(client, "my-plan-confirm", acme.volume.key, "none")
    assert "gets back the cache that your provider set up, free of charge" in confirmation
    left = buy(acme, None)
    finish(left)
    has_no_cache(acme)
    assert "you can go back to your provider" in seen(client, "my-volume", acme.volume.key)
    undo = seen(client, "my-order-revert", left.key)
    assert "of the same size and free of charge" in undo
    client.post(reverse("my-order-revert", args=[left.key]), {"price_minor": 0, "currency": ""})
    back = Order.objects.get(reverts=left)
    page = seen(client, "my-order", back.key)
    assert "Back to your provider" in page
    finish(back)
    assert "free of charge. The cache starts empty." in seen(client, "my-order", back.key)


def test_what_one_has_for_nothing_is_not_sold_as_news() -> None:
    acme, same = provided(), plan()
    client = browser(acme.owner)
    cards = seen(client, "my-plan", acme.volume.key)
    assert "You already have this cache, free of charge." in cards
    assert reverse("my-plan-confirm", args=[acme.volume.key, same.key]) not in cards
    confirmation = seen(client, "my-plan-confirm", acme.volume.key, same.key)
    assert "Ordering it changes nothing but the price" in confirmation
    assert "get faster" not in confirmation


def cache_on(host: Host, volume: Volume) -> CacheWish | None:
    """The cache that the host has now."""
    assert refresh(host), host.error
    wish = snapshots_of([volume])[0].wish
    assert wish is not None
    return wish.cache


def test_what_undoing_promises_is_what_the_host_has_afterwards(real: Shop) -> None:
    volume, host = real.volume, Host.objects.get(name="kapselberg-real")
    provided = LvmCache(f"c-{volume.key}", 512 * MIB, mode="writeback")
    run(submit(ChangeRequest(Kind.ADD_CACHE, volume, Wish(GIB, cache=provided)), Requester(None)))
    before = cache_on(host, volume)
    assert before is not None
    assert (before.size_bytes, before.mode) == (512 * MIB, "writeback")
    small, client = plan("Small", size_bytes=None, ratio_percent=25), buyer(real.owner)
    promise = seen(client, "my-plan-confirm", volume.key, small.key)
    assert "gets back the cache that your provider set up, free of charge" in promise
    assert order(client, volume, small).status_code == 302
    placed = Order.objects.get()
    assert placed.job is not None
    run(placed.job)
    sweep_orders()
    bought = cache_on(host, volume)
    assert bought is not None
    assert (bought.size_bytes, bought.mode) == (256 * MIB, "writethrough")
    fields = {"price_minor": 0, "currency": "EUR"}
    answer = client.post(reverse("my-order-revert", args=[placed.key]), fields)
    back = Order.objects.get(reverts=placed)
    assert answer["Location"] == reverse("my-order", args=[back.key])
    assert back.job is not None
    run(back.job)
    assert (back.job.state, back.job.error) == (State.SUCCEEDED, {})
    sweep_orders()
    restored = cache_on(host, volume)
    assert restored is not None
    assert replace(restored, name=before.name) == before
    assert real.volume.cache_plan is None
    assert "the cache of your provider again, free of charge" in order_page(client)

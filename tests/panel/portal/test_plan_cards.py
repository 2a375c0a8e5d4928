"""The upgrade page: what may be chosen, what it costs, what to expect, and what is in the way."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from jobs import notify_workers
from panel.models import Mandate, Order
from panel.portal import ordering, volume_pages
from panel.portal.plan_texts import trial_words
from storage.analysis.forecast import Expectation
from storage.analysis.forecast.expectation import Kind
from storage.analysis.forecast.use import FormerCache
from storage.byte_sizes import GIB
from storage.models import Customer, Volume
from tests import make
from tests.one_line import on_one_line
from tests.panel.portal.shop import buyer, plan, seen, shop
from tests.storage.analysis.forecast.uses import uncached

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _shop_is_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = True
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)


def authorise(customer: Customer, **fields: object) -> None:
    given = {
        "currency": "EUR",
        "cap_charge_minor": 2000,
        "cap_period_minor": 1120,
        "earliest_next_at": timezone.now() - timedelta(days=1),
        **fields,
    }
    Mandate.objects.create(customer=customer, **given)


def test_the_page_says_what_is_today_and_what_the_authorisation_leaves() -> None:
    acme = shop()
    plan()
    authorise(acme.customer)
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert "No data of your volume yet" in page
    assert "11.20\xa0EUR left of your monthly limit." in page
    assert "No forecast yet" in page


def test_a_plan_beyond_the_authorisation_cannot_be_chosen_and_says_why() -> None:
    acme, fast = shop(), plan()
    authorise(acme.customer, cap_charge_minor=0)
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert "exceed your payment authorisation by" in page
    assert reverse("my-plan-confirm", args=[acme.volume.key, fast.key]) not in page


def test_where_payments_are_not_authorised_one_banner_says_so_and_leads_there(
    settings: Settings,
) -> None:
    settings.TIERCEL_REAUTHORISE_URL = "https://shop.example/authorise"
    acme, fast, large = shop(), plan(), plan("Large", size_bytes=4 * GIB, price_minor=900)
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert page.count("no payment authorisation") == 1
    assert page.count('href="https://shop.example/authorise"') == 1
    assert page.index('id="cannot-order"') < page.index('class="plans"')
    for each in (fast, large):
        assert reverse("my-plan-confirm", args=[acme.volume.key, each.key]) + '"' not in page
    assert page.count('disabled aria-describedby="cannot-order"') == 2


def test_whom_to_ask_is_said_only_where_there_is_an_address(settings: Settings) -> None:
    acme = shop()
    plan()
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert 'id="cannot-order"' in page
    assert "Ask your provider" not in page
    settings.TIERCEL_SUPPORT_EMAIL = "help@provider.example"
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert 'Ask your provider to set it up. <a href="mailto:help@provider.example' in on_one_line(
        page
    )


def test_a_trial_needs_no_authorisation(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7
    acme, fast = shop(), plan()
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    address = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    assert f'href="{address}?trial=1"' in page
    assert "Start the free trial" in seen(
        buyer(acme.owner), "my-plan-confirm", acme.volume.key, fast.key, trial="1"
    )


@pytest.mark.parametrize(("low_days", "is_too_late"), [(8, True), (6, False)])
def test_a_cache_that_warms_longer_than_its_trial_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, low_days: int, is_too_late: bool
) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7
    acme, fast = shop(), plan()
    slow = Expectation(
        kind="unknown",
        text="Unknown.",
        basis="Nothing.",
        warming="It warms up.",
        warming_seconds_low=low_days * 86_400,
    )
    monkeypatch.setattr(ordering, "expected_for", lambda *args, **kwargs: {fast.key: slow})
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert ("longer than the free trial." in page) is is_too_late


def test_a_forecast_that_repeats_today_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, fast = shop(), plan()
    repeated = Expectation(
        kind="unknown", text="It waits.", basis="Nothing.", saved_seconds_per_day_high=60.0
    )
    monkeypatch.setattr(ordering, "expected_for", lambda *args, **kwargs: {fast.key: repeated})
    monkeypatch.setattr(ordering, "use_of", lambda *args: uncached())
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert "It waits." in page
    assert 'id="today"' not in page


def test_a_suspended_account_sees_so_and_can_choose_nothing() -> None:
    acme, fast = shop(), plan()
    authorise(acme.customer)
    Customer.objects.update(suspended_at=timezone.now())
    client = buyer(acme.owner)
    for name in ("my-volume", "my-plan"):
        assert "Your account is suspended" in seen(client, name, acme.volume.key)
    page = seen(client, "my-plan", acme.volume.key)
    assert reverse("my-plan-confirm", args=[acme.volume.key, fast.key]) not in page


def test_a_trial_is_offered_without_a_forecast_and_costs_nothing(settings: Settings) -> None:
    acme, fast = shop(), plan()
    client = buyer(acme.owner)
    assert "Try free" not in seen(client, "my-plan", acme.volume.key)
    settings.TIERCEL_TRIAL_DAYS = 7
    authorise(acme.customer)
    path = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    assert f"{path}?trial=1" in seen(client, "my-plan", acme.volume.key)
    assert "Start the free trial" in seen(
        client, "my-plan-confirm", acme.volume.key, fast.key, trial="1"
    )
    assert client.post(f"{path}?trial=1", {"price_minor": 0, "currency": "EUR"}).status_code == 302
    placed = Order.objects.get()
    assert (placed.intent, placed.charge_minor, placed.price_minor) == ("trial", 0, 0)


def test_a_trial_can_be_kept_from_its_own_card(settings: Settings) -> None:
    settings.TIERCEL_TRIAL_DAYS = 7
    settings.TIERCEL_MANDATE_REQUIRED = False
    acme = shop(lv=make.lv("vm-101-disk-0", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool")))
    fast, now = plan(), timezone.now()
    Volume.objects.filter(pk=acme.volume.pk).update(cache_plan=fast)
    Order.objects.create(
        customer=acme.customer,
        volume=acme.volume,
        intent="trial",
        state="completed",
        to_plan=fast,
        currency="EUR",
        price_minor=0,
        charge_minor=0,
        next_invoice_minor=0,
        next_invoice_at=now,
        ended_at=now,
        trial_until=now + timedelta(days=7),
    )
    client = buyer(acme.owner)
    page = seen(client, "my-plan", acme.volume.key)
    assert "Your free trial" in page
    path = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    assert path in page
    assert client.post(path, {"price_minor": 490, "currency": "EUR"}).status_code == 302
    assert Order.objects.filter(intent="upgrade", price_minor=490).exists()


def test_where_nothing_would_help_the_page_says_so_and_still_sells(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = False
    acme, fast = shop(), plan()
    useless = Expectation(kind="no_help", text="A cache would not help: all is fast.", basis="")
    monkeypatch.setattr(
        ordering,
        "expected_for",
        lambda row, use, offers, now: {
            each.key: useless for each in offers if each.plan is not None
        },
    )
    client = buyer(acme.owner)
    page = seen(client, "my-plan", acme.volume.key)
    assert page.count("A cache would not help") == 1
    assert "Order anyway" in page
    confirmation = seen(client, "my-plan-confirm", acme.volume.key, fast.key)
    assert "Our measurements suggest that this plan would not help" in confirmation
    assert "Order for 4.90\xa0EUR a month" in confirmation


@pytest.mark.parametrize(
    ("kind", "saved", "is_suggested"),
    [
        (None, None, False),
        ("unknown", 600.0, False),
        ("no_help", None, False),
        ("own_misses", 0.0, False),
        ("own_misses", 600.0, True),
        ("similar", 600.0, True),
    ],
)
def test_a_plan_has_the_colour_of_a_suggestion_only_where_its_forecast_says_that_it_helps(
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    kind: Kind | None,
    saved: float | None,
    is_suggested: bool,
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = False
    acme, fast = shop(), plan()
    forecast = kind and Expectation(
        kind=kind, text="It is so.", basis="", saved_seconds_per_day_high=saved
    )
    expected = {fast.key: forecast} if forecast else {}
    for page in (ordering, volume_pages):
        monkeypatch.setattr(page, "expected_for", lambda *args, **kwargs: expected)
    client = buyer(acme.owner)
    for name in ("my-plan", "my-volume"):
        assert ("btn-primary" in seen(client, name, acme.volume.key)) is is_suggested


@pytest.mark.parametrize(
    ("days", "words"),
    [(7.0, "7 days"), (1.0, "1 day"), (1 / 1440, "1 minute"), (0.5, "12 hours")],
)
def test_a_trial_may_be_short(settings: Settings, days: float, words: str) -> None:
    settings.TIERCEL_TRIAL_DAYS = days
    assert trial_words() == words


def test_a_volume_smaller_than_every_plan_meets_one_sentence_and_no_promise(
    settings: Settings,
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = False
    acme, fast = shop(), plan(size_bytes=4096 * GIB)
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert page.count("This volume is smaller than the smallest plan.") == 1
    assert page.index('id="cannot-order"') < page.index('class="plans"')
    assert "A smaller plan gives the same result" not in page
    assert "Warm-up" not in page and "No forecast" not in page
    assert reverse("my-plan-confirm", args=[acme.volume.key, fast.key]) not in page
    plan("Small")
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key)
    assert "A smaller plan gives the same result" in page
    assert 'id="cannot-order"' not in page


def test_a_card_says_what_its_size_brings_where_the_page_speaks_of_all(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = False
    acme, fast, large = shop(), plan(), plan("Large", size_bytes=4 * GIB, price_minor=900)
    former = uncached(read_ms=20.6, former=FormerCache(2 * GIB, 0.991, 0.98, 0.995, 2.12))
    monkeypatch.setattr(ordering, "use_of", lambda *args: former)
    page = seen(buyer(acme.owner), "my-plan", acme.volume.key).replace("\N{NO-BREAK SPACE}", " ")
    assert page.count("With your former cache, 99 % of your reads came from SSD") == 1
    assert "Measured with this size: 99 % of your reads from SSD, 2.12 ms a read" in page
    assert "With this size: 98 to 100 % of your reads from SSD." in page
    for each in (fast, large):
        confirmation = seen(buyer(acme.owner), "my-plan-confirm", acme.volume.key, each.key)
        assert "this size" in confirmation


def test_a_plan_that_gives_no_more_cache_than_a_cheaper_one_says_so() -> None:
    acme = shop()
    plan("Small", size_bytes=4 * GIB)
    plan("Same", size_bytes=4 * GIB, price_minor=990)
    plan("Quick", size_bytes=4 * GIB, price_minor=2490, mode="writeback")
    plan("Large", size_bytes=6 * GIB, price_minor=2490)
    page = on_one_line(seen(buyer(acme.owner), "my-plan", acme.volume.key))
    assert page.count("The same cache as Small, which costs less.") == 1
    assert page.count("Same size as Small; this plan also caches writes.") == 1
    assert "Caches writes too" not in page

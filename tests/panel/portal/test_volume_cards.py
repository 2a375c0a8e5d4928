"""The list of one's volumes and the page of one: the answer first, charts one click away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from jobs.models import Job, Origin, State
from panel.charts.sparkline import EDGE, Spark
from panel.models import Mandate, Order
from panel.orders.order_texts import progress
from panel.portal.volume_cards import LARGE, cards_of
from storage.byte_sizes import GIB
from storage.models import LatestSample, Volume
from tests import make
from tests.one_line import on_one_line
from tests.panel.languages.page_texts import words_in
from tests.panel.portal.shop import Shop, browser, plan, seen, shop
from tests.scene import end, job, step
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, take

pytestmark = pytest.mark.django_db
OP_ID = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c009"


def cached_shop(hits: int = 960, misses: int = 40) -> Shop:
    """A customer whose volume has a full cache; the reads are of the minute before `NOON`."""
    lv = make.lv(
        "vm-101-disk-0",
        kname="dm-4",
        cache=make.dm_cache("c-aaaaaaaa_cpool", used_bytes=2 * 1024**3),
    )
    acme = shop(lv=lv)
    for seconds, part in ((-60, 0), (0, 1)):
        cache = wire.cache(read_hits=hits * part, read_misses=misses * part)
        disk = wire.disk(reads=1000 * part, read_sectors=8000 * part, read_ms=1000 * part)
        take(acme.there.host, seconds, wire.volume(acme.there.lv.uuid, disk=disk, cache=cache))
    return acme


@pytest.mark.parametrize("name", ["my-volumes", "my-volume", "my-glance"])
def test_the_answer_comes_first_in_plain_words(name: str) -> None:
    acme = cached_shop()
    args = [] if name == "my-volumes" else [acme.volume.key]
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        text = seen(browser(acme.owner), name, *args)
    whole, line = "1.00\N{NO-BREAK SPACE}ms", "read time, last hour: from 1.00 ms"
    if name != "my-volumes":
        whole = "96\N{NO-BREAK SPACE}% of reads came from SSD in the last hour"
        line = "reads from SSD, last hour: from 96 %"
    assert whole in text
    assert "Fast" in text
    assert line in text


def slow_shop() -> Shop:
    """A customer whose volume has no cache; its reads, of the minute before `NOON`, take 8 ms."""
    acme = shop()
    for seconds, part in ((-60, 0), (0, 1)):
        disk = wire.disk(reads=1000 * part, read_sectors=8000 * part, read_ms=8000 * part)
        take(acme.there.host, seconds, wire.volume(acme.there.lv.uuid, disk=disk))
    return acme


def reaches_top(line: Spark) -> bool:
    points = [point.split(",") for drawn in line.lines for point in drawn.split()]
    return min(float(y) for _, y in (*points, *line.dots)) == EDGE


def test_the_lines_of_a_list_have_one_axis() -> None:
    quick, slow = slow_shop(), slow_shop()
    take(quick.there.host, 60, busy_again(quick, 2_000))
    take(slow.there.host, 60, busy_again(slow, 16_000))
    volumes, now = [quick.volume, slow.volume], NOON + timedelta(seconds=65)
    listed = [reaches_top(card.line) for card in cards_of(volumes, {}, now)]
    assert listed == [False, True]
    alone = [reaches_top(card.line) for card in cards_of(volumes, {}, now, LARGE)]
    assert alone == [True, True]


def busy_again(of: Shop, read_ms: int) -> dict[str, Any]:
    """A minute later: 1,000 reads more, which took so long together."""
    disk = wire.disk(reads=2000, read_sectors=16_000, read_ms=8_000 + read_ms)
    return wire.volume(of.there.lv.uuid, disk=disk)


@pytest.mark.parametrize(
    ("is_open", "needs_mandate", "role", "is_invited"),
    [
        (True, False, "owner", True),
        (False, False, "owner", False),
        (True, True, "owner", False),
        (True, False, "viewer", False),
    ],
)
def test_a_slow_volume_invites_only_to_what_can_be_ordered(
    settings: Settings, is_open: bool, needs_mandate: bool, role: str, is_invited: bool
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = is_open
    settings.TIERCEL_MANDATE_REQUIRED = needs_mandate
    acme = slow_shop()
    plan()
    acme.customer.members.update(role=role)
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        text = seen(browser(acme.owner), "my-volumes")
    assert text.index("Medium") < text.index("8.00\N{NO-BREAK SPACE}ms")
    assert ("Make it faster" in text) is is_invited


@pytest.mark.parametrize("of", [{"size_bytes": 4096 * GIB}, {"on_offer": False}, None])
def test_a_volume_that_no_plan_fits_is_invited_to_none(
    settings: Settings, of: dict[str, Any] | None
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, False
    acme = slow_shop()
    if of is not None:
        plan(**of)
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        assert "Make it faster" not in seen(browser(acme.owner), "my-volumes")


def test_who_authorised_payments_is_invited(settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, True
    acme = slow_shop()
    plan()
    Mandate.objects.create(
        customer=acme.customer,
        currency="EUR",
        cap_charge_minor=2000,
        cap_period_minor=2000,
        earliest_next_at=NOON - timedelta(days=1),
    )
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        assert "Make it faster" in seen(browser(acme.owner), "my-volumes")


@pytest.mark.parametrize(("is_slow", "word"), [(True, "Slow"), (False, "Medium")])
def test_what_is_slow_for_a_customer_is_what_is_slow_for_staff(is_slow: bool, word: str) -> None:
    acme = slow_shop()
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        if is_slow:
            make.slow(acme.volume, acme.there.host)
        text = seen(browser(acme.owner), "my-volumes")
    assert word in text and ("24.0\N{NO-BREAK SPACE}ms" in text) is is_slow


def test_old_figures_are_greyed_and_never_a_verdict() -> None:
    acme = cached_shop()
    with time_machine.travel(NOON + timedelta(minutes=14), tick=False):
        text = seen(browser(acme.owner), "my-volumes")
    assert "is-stale" in text
    assert "The last data is 14\xa0min old" in text
    assert "96 % of reads" not in text


@pytest.mark.parametrize("name", ["my-volumes", "my-volume"])
def test_figures_that_end_say_when_beside_the_line_of_the_last_hour(name: str) -> None:
    acme = cached_shop()
    LatestSample.objects.all().delete()
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        text = seen(browser(acme.owner), name, *([] if name == "my-volumes" else [acme.volume.key]))
    assert "No new data since" in text and f"{NOON:%Y-%m-%dT%H:%M}" in text
    assert "No data yet" not in text


def test_a_volume_without_figures_says_when_the_first_come() -> None:
    acme = shop()
    assert "The first data appears about 2\xa0min after" in seen(browser(acme.owner), "my-volumes")


def test_charts_are_one_click_away_and_not_on_the_first_view() -> None:
    acme = shop()
    client = browser(acme.owner)
    first = seen(client, "my-volume", acme.volume.key)
    assert reverse("my-charts", args=[acme.volume.key]) in first
    assert "data-charts" not in first
    assert "data-charts" in seen(client, "my-charts", acme.volume.key)


def test_the_page_of_a_volume_without_a_cache_tells_what_one_would_do() -> None:
    acme = shop()
    text = seen(browser(acme.owner), "my-volume", acme.volume.key)
    assert "No cache" in text
    assert "It helps most for data you read again" in text


def on_trial(acme: Shop, days: float) -> Shop:
    """The same customer, whose volume is on a free trial that lasts so many more days."""
    fast = plan()
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
        next_invoice_at=NOON,
        ended_at=NOON - timedelta(days=4),
        trial_until=NOON + timedelta(days=days),
    )
    return acme


@pytest.mark.parametrize(
    ("days", "left"), [(2.5, "3 days left"), (0.5, "12 hours left"), (0.25, "6 hours left")]
)
def test_a_trial_is_seen_on_the_list_with_what_is_left_and_the_way_to_keep_it(
    settings: Settings, days: float, left: str
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, False
    acme = on_trial(cached_shop(), days)
    fast = acme.volume.cache_plan
    assert fast is not None
    with time_machine.travel(NOON, tick=False):
        page = seen(browser(acme.owner), "my-volumes")
    assert f"Free trial, {left}" in page
    address = reverse("my-plan-confirm", args=[acme.volume.key, fast.key])
    assert f'href="{address}">Keep it' in page


def test_a_trial_that_cannot_be_paid_for_is_not_offered_to_be_kept(settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, True
    acme = on_trial(cached_shop(), 2.5)
    with time_machine.travel(NOON, tick=False):
        page = seen(browser(acme.owner), "my-volumes")
    assert "Free trial" in page
    assert "Keep it" not in page


def test_the_list_of_seven_volumes_has_at_most_80_words(settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, False
    acme = on_trial(cached_shop(), 2.5)
    for n in range(6):
        label = f"web40{n} home"
        other = Volume.objects.create(label=label, size_bytes=4 * GIB, customer=acme.customer)
        uuid = make.placement(other, acme.there.host).lv_uuid
        assert uuid is not None
        for seconds, part in ((-60, 0), (0, 1)):
            disk = wire.disk(reads=1000 * part, read_sectors=8000 * part, read_ms=8000 * part)
            take(acme.there.host, seconds, wire.volume(uuid, disk=disk))
    with time_machine.travel(NOON, tick=False):
        page = seen(browser(acme.owner), "my-volumes")
    assert page.count("Make it faster") == 6
    assert words_in(page[page.index("<main") : page.index("</main>")]) <= 80


def test_a_running_change_is_followed_on_the_page_with_its_progress() -> None:
    acme = shop()
    running = job(acme.there, origin=Origin.PORTAL, cache_plan=plan(), kind="remove-cache")
    progress = {"label": "lvm flush", "done_bytes": 40, "total_bytes": 100, "left_s": 75}
    step(running, verb="cache.flush", state="running", op_id=OP_ID, progress=progress)
    client = browser(acme.owner)
    for name in ("my-volume", "my-running", "my-plan", "my-change"):
        key = running.key if name == "my-change" else acme.volume.key
        text = seen(client, name, key)
        assert "Getting ready" in text, name
        assert "40&nbsp;%, about 1\N{NO-BREAK SPACE}min left" in on_one_line(text), name


def test_a_page_that_followed_a_change_is_loaded_again_at_its_end() -> None:
    acme = shop()
    end(job(acme.there, origin=Origin.PORTAL))
    path = reverse("my-running", args=[acme.volume.key])
    client = browser(acme.owner)
    assert client.get(path, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [{}, {"done_bytes": 1}, {"done_bytes": "1", "total_bytes": "2"}, {"total_bytes": 0}],
)
def test_progress_that_a_host_cannot_tell_is_not_invented(sent: dict[str, Any]) -> None:
    there = job(shop().there, origin=Origin.PORTAL)
    running = step(there, state="running", op_id=OP_ID, progress=sent)
    assert progress(there, [running]) is None


def test_a_change_that_is_over_has_no_progress() -> None:
    there = job(shop().there, origin=Origin.PORTAL)
    running = step(
        there, state="running", op_id=OP_ID, progress={"done_bytes": 1, "total_bytes": 2}
    )
    assert progress(there, [running]) is not None
    end(there, State.FAILED)
    assert progress(there, [running]) is None


def test_a_search_finds_a_volume_by_a_part_of_its_name() -> None:
    acme = shop()
    other = Volume.objects.create(label="Backups", size_bytes=1, customer=acme.customer)
    text = seen(browser(acme.owner), "my-volumes", q="backup")
    assert other.label in text
    assert acme.volume.label not in text
    assert "No volumes match" in seen(browser(acme.owner), "my-volumes", q="nothing")


def test_names_of_customers_are_shown_only_to_people_of_several() -> None:
    acme, zebra = shop(), shop("Zebra")
    line = ">Acme</div>"
    assert line not in seen(browser(acme.owner), "my-volumes")
    zebra.customer.members.create(user=acme.owner, role="viewer")
    assert line in seen(browser(acme.owner), "my-volumes")


def queries(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(path).status_code == 200
    return len(asked)


def test_the_number_of_queries_does_not_grow_with_volumes_and_changes() -> None:
    acme = cached_shop()
    client, offered = browser(acme.owner), plan()
    paths = [
        reverse("my-volumes"),
        *(reverse(name, args=[acme.volume.key]) for name in ("my-volume", "my-plan", "my-charts")),
    ]
    end(job(acme.there, origin=Origin.PORTAL, cache_plan=offered))
    few = [queries(client, path) for path in paths]
    for n in range(10):
        more = Volume.objects.create(label=f"disk {n}", size_bytes=1024**3, customer=acme.customer)
        make.placement(more, acme.there.host)
        end(job(acme.there, origin=Origin.PORTAL, cache_plan=offered))
        plan(f"Plan {n}")
    assert Job.objects.count() == 11
    assert [queries(client, path) for path in paths] == few

"""Lists are narrowed to what a program asks for, series come in buckets that stay, and long answers
are packed."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from panel.api.figures.series_endpoints import aligned
from panel.models import Order, OrderState
from storage.database_clock import database_now
from storage.discovery.host_summary import outline
from storage.discovery.ingest import apply_facts, apply_hello
from storage.models import Customer, Host, LatestSample, Placement, Volume
from storage.planner.wish import Wish
from tests import make
from tests.panel.api.asking import V1, Program, member, own, problem, staff
from tests.panel.cast import party
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def keys(answer: object) -> list[str]:
    return [each["key"] for each in answer.json()["items"]]  # type: ignore[attr-defined]


def test_volumes_are_found_by_keys_words_and_technology(asking: Program) -> None:
    first, second = scene(make.lv("a"), label="Web one"), scene(make.lv("b"), label="Mail")
    Volume.objects.filter(pk=second.volume.pk).update(external_id="vps-77")
    both = f"{second.volume.key},{first.volume.key},nothing"
    assert set(keys(asking.get("/volumes/", ids=both))) == {first.volume.key, second.volume.key}
    assert keys(asking.get("/volumes/", search="WEB")) == [first.volume.key]
    assert keys(asking.get("/volumes/", search="ps-7")) == [second.volume.key]
    assert len(keys(asking.get("/volumes/", technology="lvmcache"))) == 2
    assert keys(asking.get("/volumes/", technology="bcache")) == []
    for query in ({"ids": ","}, {"technology": "zfs"}, {"updated_since": "yesterday"}):
        problem(asking.get("/volumes/", **query), 400, "invalid_parameter")


def test_a_list_asks_the_database_as_often_for_many_hosts_as_for_one(asking: Program) -> None:
    scene()
    asking.get("/volumes/")
    with CaptureQueriesContext(connection) as of_one:
        asking.get("/volumes/")
    for _ in range(3):
        scene()
    asking.get("/volumes/")
    with CaptureQueriesContext(connection) as of_four:
        assert len(keys(asking.get("/volumes/"))) == 4
    assert len(of_four) == len(of_one)
    assert not [each["sql"] for each in of_four if '"facts"' in each["sql"]], "known inventories"


def test_what_changed_since_a_time_is_found(asking: Program) -> None:
    first, second = scene(make.lv("a")), scene(make.lv("b"))
    before = timezone.now() + timedelta(seconds=1)
    Volume.objects.update(label="x")
    assert len(keys(asking.get("/volumes/", updated_since="2026-01-01T00:00:00Z"))) == 2
    later = before.isoformat()
    assert keys(asking.get("/volumes/", updated_since=later)) == []
    made, other = job(first), job(second)
    found = asking.get("/jobs/", updated_since="2026-01-01T00:00:00Z", kind="add-cache")
    assert set(keys(found)) == {made.key, other.key}
    assert keys(asking.get("/jobs/", kind="remove-cache")) == []
    assert keys(asking.get("/jobs/", ids=made.key)) == [made.key]


def test_hosts_and_orders_are_found_by_their_keys(asking: Program) -> None:
    acme, zebra = party("acme"), party("zebra")
    orders = {order.customer_id: order.key for order in Order.objects.all()}
    for path, key, other in (
        ("/hosts/", acme.there.host.key, zebra.there.host.key),
        ("/orders/", orders[acme.customer.pk], orders[zebra.customer.pk]),
    ):
        assert keys(asking.get(path, ids=f"{key},nothing")) == [key]
        assert {*keys(asking.get(path, ids=f"{other},{key}"))} == {key, other}
        problem(asking.get(path, ids=""), 400, "invalid_parameter")


def test_customers_hosts_and_orders_that_changed_since_a_time_are_found(asking: Program) -> None:
    acme = party("acme")
    order = Order.objects.get()
    rows = {"/customers/": acme.customer, "/hosts/": acme.there.host, "/orders/": order}
    for path, row in rows.items():
        row.refresh_from_db()
        [shown] = asking.get(path, updated_since=row.updated_at.isoformat()).json()["items"]
        assert datetime.fromisoformat(shown["updated_at"]) == row.updated_at
        later = (row.updated_at + timedelta(microseconds=1)).isoformat()
        assert keys(asking.get(path, updated_since=later)) == []
        problem(asking.get(path, updated_since="yesterday"), 400, "invalid_parameter")
    before = database_now().isoformat()
    Customer.objects.update(suspended_at=timezone.now())
    Host.objects.update(site="Hel")
    Order.objects.update(state=OrderState.CANCELLED, ended_at=timezone.now())
    for path, row in rows.items():
        assert keys(asking.get(path, updated_since=before)) == [row.key]


def test_what_a_host_reports_is_no_change_of_its_record(asking: Program) -> None:
    there = scene()
    before = database_now().isoformat()
    apply_hello(there.host, {"agent": "0.3.0"}, [], timezone.now())
    apply_facts(there.host, make.inventory(there.facts), timezone.now())
    assert keys(asking.get("/hosts/", updated_since=before)) == []
    Host.objects.update(error={"code": "unreachable", "message": "m", "correction": ""})
    assert keys(asking.get("/hosts/", updated_since=before)) == [there.host.key]


def test_volumes_that_are_not_as_recorded_are_found(asking: Program) -> None:
    same, other = scene(make.lv("a")), scene(make.lv("b"))
    wish = Wish(other.volume.size_bytes * 2).to_json()
    Volume.objects.filter(pk=other.volume.pk).update(wish=wish)
    for there in (same, other):
        placements = Placement.objects.filter(host=there.host).select_related("volume")
        outline(there.host, there.facts, placements, timezone.now())
    [shown] = asking.get("/volumes/", has_drift="true").json()["items"]
    assert shown["key"] == other.volume.key and shown["drift"]
    assert keys(asking.get("/volumes/", has_drift="false")) == [same.volume.key]
    problem(asking.get("/volumes/", has_drift="yes"), 400, "invalid_parameter")
    customer = make.customer()
    own(other, customer)
    problem(member(customer).get("/volumes/", has_drift="true"), 400, "invalid_parameter")


def waits(read_ms: int | None, **fields: Any) -> str:
    """The key of a volume whose reads waited so long in a second."""
    there = scene(make.lv(f"v{Volume.objects.count()}"))
    if read_ms is not None:
        sampled = {"gap": "", "dt_ms": 1000, "reads": 10, "read_ms": read_ms, "counters": {}}
        numbers = dict.fromkeys(("writes", "read_sectors", "write_sectors", "write_ms"), 0)
        LatestSample.objects.create(
            volume=there.volume,
            host=there.host,
            at=timezone.now(),
            boot_id="b",
            boottime_ns=1,
            **{**sampled, **numbers, **fields},
        )
    return there.volume.key


def test_volumes_come_in_the_order_in_which_their_guests_wait(asking: Program) -> None:
    some, much, unknown = waits(500), waits(2500), waits(None)
    none, gap = waits(0), waits(9000, gap="first")
    ranked = [much, some, none, *sorted((unknown, gap), reverse=True)]
    answer = asking.get("/volumes/", sort="-waiting_reads").json()
    assert [each["key"] for each in answer["items"]] == ranked
    waiting = [each["figures"] and each["figures"]["waiting_reads"] for each in answer["items"]]
    assert waiting[:3] == [2.5, 0.5, 0.0]
    assert {*waiting[3:]} == {None}
    assert asking.get("/volumes/", sort="created_at").json() == asking.get("/volumes/").json()
    problem(asking.get("/volumes/", sort="guest"), 400, "invalid_parameter")


def test_pages_in_that_order_repeat_and_miss_nothing(asking: Program) -> None:
    made = [waits(wait) for wait in (100, 333, 333, 333, 1, 0, None, None)]
    seen, cursor = [], {}
    while True:
        page = asking.get("/volumes/", sort="-waiting_reads", limit="3", **cursor).json()
        seen += [each["key"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(seen) == sorted(made)
    assert seen == keys(asking.get("/volumes/", sort="-waiting_reads"))
    problem(asking.get("/volumes/", limit="3", **cursor), 400, "invalid_parameter")


def test_the_same_bucket_has_the_same_place_in_every_answer(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    one, two = (asking.get(path, points=60).json() for _ in range(2))
    for shown in (one, two):
        at = datetime.fromisoformat(shown["t0"])
        assert at.timestamp() % shown["step_seconds"] == 0
        assert shown["t0"].endswith("Z")


def test_a_range_is_moved_to_whole_buckets_and_never_has_more_than_were_asked_for() -> None:
    start = datetime.fromisoformat("2026-11-20T10:00:07Z")
    first, last, step = aligned(start, start + timedelta(hours=1), 60)
    assert step in (60, 120)
    assert abs(first - start) <= timedelta(seconds=120)
    assert last >= start + timedelta(hours=1)
    assert (last - first).total_seconds() <= 60 * step
    first, last, step = aligned(start, start + timedelta(seconds=2000 * 60), 2000)
    assert (last - first).total_seconds() <= 2000 * step


def test_columns_are_chosen_by_name_and_read_as_csv(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    shown = asking.get(path, names="read_iops,hit_rate", points=10).json()
    assert list(shown["series"]) == ["read_iops", "hit_rate"]
    problem(asking.get(path, names="read_iops,secret"), 400, "invalid_parameter")
    headers = asking.headers(Accept="text/csv")
    answer = Client().get(f"{V1}{path}?names=read_iops&points=10", headers=headers)
    lines = answer.content.decode().splitlines()
    assert lines[0] == "at,read_iops"
    assert len(lines) == shown["points"] + 1
    wrong = Client().get(f"{V1}{path}?names=x", headers=headers)
    assert wrong["Content-Type"] == "application/problem+json"
    assert json.loads(wrong.content)["code"] == "invalid_parameter"


def test_a_customer_chooses_among_the_columns_of_their_charts() -> None:
    customer = make.customer()
    there = scene()
    own(there, customer)
    path = f"/volumes/{there.volume.key}/series"
    asking = member(customer)
    assert list(asking.get(path, names="hit_rate").json()["series"]) == ["hit_rate"]
    problem(asking.get(path, names="ssd_write_bytes_per_s"), 400, "invalid_parameter")


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        ("gzip", True),
        ("br;q=1.0, gzip;q=0.5", True),
        ("GZIP", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*;q=0", False),
        ("identity, notgzip", False),
        ("", False),
    ],
)
def test_an_answer_is_packed_only_for_who_says_yes_to_it(
    asking: Program, accepted: str, is_packed: bool
) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    answer = asking.send("get", path, **{"Accept-Encoding": accepted})
    assert ("Content-Encoding" in answer) is is_packed
    assert "Accept-Encoding" in answer["Vary"]


def test_a_long_answer_is_packed_where_that_is_understood(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    plain = asking.send("get", path)
    assert "Content-Encoding" not in plain
    packed = asking.send("get", path, **{"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert set(json.loads(gzip.decompress(packed.content))) == set(plain.json())
    assert len(packed.content) < len(plain.content) / 5
    short = asking.send("get", "/jobs/", **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in short


def test_a_retired_volume_has_no_figures_for_its_customer(asking: Program) -> None:
    there, customer = scene(), make.customer()
    own(there, customer)
    theirs = member(customer)
    path = f"/volumes/{there.volume.key}/series"
    assert theirs.get(path).status_code == 200
    Volume.objects.filter(pk=there.volume.pk).update(retired_at=timezone.now())
    problem(theirs.get(path), 404, "not_found")
    assert asking.get(path).status_code == 200

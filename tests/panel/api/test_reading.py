"""Lists, filters, pages, books, series."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job, Line, State
from storage.models import CachePlan, Customer, Placement, Volume
from tests import make
from tests.panel.api.asking import Program, own, problem, staff
from tests.scene import end, job, scene, step

pytestmark = pytest.mark.django_db

PLAN = {"name": "Fast", "size_bytes": 2**30, "price_minor": 490, "currency": "EUR"}


@pytest.fixture
def asking() -> Program:
    return staff()


def keys(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [item["key"] for item in response.json()["items"]]


def test_a_list_is_read_in_pages_without_repeating_or_skipping(asking: Program) -> None:
    made = [scene().volume.key for _ in range(5)]
    seen, cursor = [], ""
    for _ in range(3):
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = asking.get("/volumes/", **query).json()
        seen += [item["key"] for item in page["items"]]
        cursor = page["next_cursor"]
        if len(seen) == 2:  # what goes and what comes between two pages shifts nothing
            Placement.objects.filter(volume__key=seen[0]).delete()
            Volume.objects.filter(key=seen[0]).delete()
            made.append(scene().volume.key)
    assert seen == made
    assert cursor is None


def test_jobs_come_newest_first(asking: Program) -> None:
    made = [job(scene()).key for _ in range(3)]
    first = asking.get("/jobs/", limit=2).json()
    rest = asking.get("/jobs/", limit=2, cursor=first["next_cursor"])
    assert [item["key"] for item in first["items"]] + keys(rest) == made[::-1]


def test_a_cursor_of_another_list_or_of_a_forger_is_refused(asking: Program) -> None:
    for _ in range(2):
        scene()
    cursor = asking.get("/volumes/", limit=1).json()["next_cursor"]
    for path, text in [("/jobs/", cursor), ("/volumes/", cursor[:-1]), ("/volumes/", "x")]:
        problem(asking.get(path, cursor=text), 400, "invalid_parameter")


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"limit": "x"}, {"nam": "x"}])
def test_a_parameter_that_is_unknown_or_out_of_range_is_an_error(
    asking: Program, query: dict[str, Any]
) -> None:
    for path in ("/volumes/", "/jobs/", "/hosts/", "/customers/", "/cache-plans/"):
        problem(asking.get(path, **query), 400, "invalid_parameter")


def test_volumes_are_found_by_each_filter(asking: Program) -> None:
    there, other = scene(), scene(managed=False)
    customer = make.customer()
    own(there, customer)
    Volume.objects.filter(pk=there.volume.pk).update(external_id="vps-1", guest="web12 · vdb")
    for name, value in {
        "external_id": "vps-1",
        "customer": customer.key,
        "guest": "WEB12",
        "host": there.host.name,
        "state": "managed",
    }.items():
        assert keys(asking.get("/volumes/", **{name: value})) == [there.volume.key], name
    assert keys(asking.get("/volumes/", host=other.host.key, state="found")) == [other.volume.key]
    assert keys(asking.get("/volumes/", external_id="vps-2")) == []
    Placement.objects.filter(volume=other.volume).update(missing_since=timezone.now())
    assert keys(asking.get("/volumes/", state="missing")) == [other.volume.key]
    assert keys(asking.get("/volumes/", state="found")) == []
    problem(asking.get("/volumes/", state="gone"), 400, "invalid_parameter")


def test_a_volume_says_where_it_lies_and_what_it_has(asking: Program) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    body = asking.get(f"/volumes/{there.volume.key}").json()
    assert body["host"]["name"] == there.host.name
    assert (body["vg"], body["lv"], body["technology"]) == ("vg0", "web12", "lvmcache")
    assert (body["state"], body["cache"]) == (
        "managed",
        {"size_bytes": 2 * 2**30, "mode": "writethrough", "migration_threshold_sectors": 16384},
    )


def test_the_books_of_a_volume_are_changed_in_part(asking: Program) -> None:
    there, customer = scene(), make.customer()
    path = f"/volumes/{there.volume.key}"
    body = asking.send("patch", path, {"customer": customer.key, "external_id": "vps-1"}).json()
    assert (body["customer"]["key"], body["external_id"]) == (customer.key, "vps-1")
    assert body["label"] == there.volume.label
    body = asking.send("patch", path, {"customer": None, "label": "db"}).json()
    assert (body["customer"], body["label"], body["external_id"]) == (None, "db", "vps-1")


def test_a_volume_goes_to_another_customer_by_way_of_none(asking: Program) -> None:
    there, acme, zebra = scene(), make.customer("Acme"), make.customer("Zebra")
    path = f"/volumes/{there.volume.key}"
    asking.send("patch", path, {"customer": acme.key})
    straight = asking.send("patch", path, {"customer": zebra.key})
    assert (straight.status_code, straight.json()["code"]) == (409, "in_use")
    assert asking.send("patch", path, {"customer": acme.key}).status_code == 200
    job(there)
    busy = asking.send("patch", path, {"customer": None})
    assert (busy.status_code, busy.json()["code"]) == (409, "busy")
    assert Volume.objects.get(pk=there.volume.pk).customer == acme


def test_an_external_id_belongs_to_one_volume(asking: Program) -> None:
    Volume.objects.filter(pk=scene().volume.pk).update(external_id="vps-1")
    response = asking.send("patch", f"/volumes/{scene().volume.key}", {"external_id": "vps-1"})
    assert "external id" in problem(response, 409, "external_id_taken")["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"size_bytes": 1}, "/size_bytes"),
        ({"customer": "aaaaaaaaaaaaaaaa"}, "/customer"),
        ({"label": ""}, "/label"),
        ({"label": "x" * 201}, "/label"),
    ],
)
def test_bad_books_are_refused_at_their_field(
    asking: Program, body: dict[str, Any], pointer: str
) -> None:
    response = asking.send("patch", f"/volumes/{scene().volume.key}", body)
    assert problem(response, 422, "invalid")["errors"][0]["pointer"] == pointer


def test_what_is_no_json_is_a_problem(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}"
    problem(asking.send("patch", path, "{"), 400, "parse_error")
    problem(asking.send("post", path), 405, "method_not_allowed")
    problem(asking.get("/nothing/here"), 404, "not_found")


def test_a_host_says_how_much_ssd_is_free(asking: Program) -> None:
    there = scene()
    assert keys(asking.get("/hosts/", state="active")) == [there.host.key]
    assert keys(asking.get("/hosts/", state="pending")) == []
    body = asking.get(f"/hosts/{there.host.key}").json()
    assert body["groups"][0] == {
        "name": "vg0",
        "allowed": True,
        "size_bytes": 200 * 2**30,
        "free_ssd_bytes": 40 * 2**30,
        "free_slow_bytes": 40 * 2**30,
    }


def test_jobs_are_found_by_each_filter_and_previews_apart(asking: Program) -> None:
    there = scene()
    made, other, preview = job(there), job(scene()), job(there, dry_run=True)
    end(other)
    assert keys(asking.get("/jobs/", volume=there.volume.key)) == [made.key]
    assert keys(asking.get("/jobs/", host=there.host.name)) == [made.key]
    assert keys(asking.get("/jobs/", state=State.SUCCEEDED)) == [other.key]
    assert keys(asking.get("/jobs/", dry_run="true")) == [preview.key]


def test_lines_are_read_on_from_where_the_last_answer_ended(asking: Program) -> None:
    made = job(scene())
    Line.objects.bulk_create(Line(job=made, n=n, text=f" line {n}") for n in (1, 2, 3))
    path = f"/jobs/{made.key}/lines"
    body = asking.get(path, after=1).json()
    assert [(line["n"], line["text"]) for line in body["lines"]] == [(2, " line 2"), (3, " line 3")]
    assert (body["next_after"], body["complete"]) == (3, False)
    end(made)
    body = asking.get(path, after=3).json()
    assert (body["lines"], body["next_after"], body["complete"]) == ([], 3, True)


def test_a_job_says_whether_it_can_only_go_on_goes_back_or_waits_for_its_time(
    asking: Program,
) -> None:
    made = job(scene())
    shown = asking.get(f"/jobs/{made.key}").json()
    assert (shown["turned"], shown["falls_back"], shown["not_before"]) == (False, False, None)
    at = datetime(2026, 12, 1, 2, tzinfo=UTC)
    Job.objects.filter(pk=made.pk).update(is_irrevocable=True, is_rolling_back=True, not_before=at)
    shown = asking.get(f"/jobs/{made.key}").json()
    assert (shown["turned"], shown["falls_back"]) == (True, True)
    assert shown["not_before"] == "2026-12-01T02:00:00Z"


def test_a_job_shows_its_steps_and_their_commands(asking: Program) -> None:
    made = job(scene())
    step(made)
    [shown] = asking.get(f"/jobs/{made.key}").json()["steps"]
    assert shown["commands"] == [
        {"argv": ["lvconvert"], "shell": "lvconvert -y --type cache vg0/web12", "rc": None}
    ]


def test_series_have_nulls_for_gaps_and_units(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}/series"
    body = asking.get(path, points=6).json()
    assert set(body["series"]["read_iops"]) == {None}
    assert len(body["series"]["read_iops"]) == body["points"] <= 6
    assert body["units"]["read_iops"] == "1/s"


@pytest.mark.parametrize(
    "query",
    [
        {"points": 0},
        {"points": 2001},
        {"from": "2026-11-02T00:00:00Z", "to": "2026-11-01T00:00:00Z"},
        {"from": "2024-01-01T00:00:00Z", "to": "2026-11-01T00:00:00Z"},
        {"from": "yesterday"},
        {"from": "2026-11-01T00:00:00"},
        {"from": "2026-13-01T00:00:00Z"},
    ],
)
def test_a_range_that_cannot_be_is_refused(asking: Program, query: dict[str, Any]) -> None:
    problem(asking.get(f"/volumes/{scene().volume.key}/series", **query), 400, "invalid_parameter")


def test_customers_are_made_found_and_changed(asking: Program) -> None:
    response = asking.send("post", "/customers/", {"name": "Ann", "external_id": "c-1"})
    key = response.json()["key"]
    assert (response.status_code, response["Location"]) == (201, f"/api/v1/customers/{key}")
    make.customer()
    assert keys(asking.get("/customers/", external_id="c-1")) == [key]
    changed = asking.send("patch", f"/customers/{key}", {"name": "Bea"}).json()
    assert (changed["name"], changed["external_id"]) == ("Bea", "c-1")


def test_a_customer_that_is_there_is_not_made_twice(asking: Program) -> None:
    for _ in range(2):
        response = asking.send("post", "/customers/", {"name": "Ann", "external_id": "c-1"})
    problem(response, 409, "external_id_taken")
    assert Customer.objects.count() == 1


def test_cache_plans_are_made_and_taken_off_the_market(asking: Program) -> None:
    host = make.host()
    response = asking.send("post", "/cache-plans/", {**PLAN, "hosts": [host.key]})
    assert response.status_code == 201
    body = response.json()
    shown = {"key": host.key, "url": f"/api/v1/hosts/{host.key}", "name": host.name}
    assert (body["hosts"], body["on_offer"], body["mode"]) == ([shown], True, "writethrough")
    changed = asking.send("patch", f"/cache-plans/{body['key']}", {"on_offer": False}).json()
    assert (changed["on_offer"], changed["hosts"]) == (False, [shown])


@pytest.mark.parametrize(
    "change",
    [
        {"ratio_percent": 10},
        {"currency": "euro"},
        {"currency": "ABC"},
        {"hosts": ["x"]},
        {"price_minor": -1},
    ],
)
def test_a_plan_that_cannot_be_is_refused_and_not_kept(
    asking: Program, change: dict[str, Any]
) -> None:
    problem(asking.send("post", "/cache-plans/", {**PLAN, **change}), 422, "invalid")
    assert not CachePlan.objects.exists()


def test_the_name_of_a_request_is_echoed(asking: Program) -> None:
    response = asking.send("get", "/", **{"X-Request-Id": "billing-17"})
    assert response["X-Request-Id"] == "billing-17"
    response = asking.send("get", "/nothing", **{"X-Request-Id": "a b\tc"})
    assert "a b" not in response["X-Request-Id"]
    assert response["X-Request-Id"]


def test_an_answer_may_wait_for_a_job_that_is_over_already(asking: Program) -> None:
    made = job(scene())
    end(made)
    assert asking.get(f"/jobs/{made.key}", wait=30).json()["state"] == "succeeded"


def test_a_preview_older_than_a_page_keeps_its_place(asking: Program) -> None:
    made = [job(scene()).key for _ in range(3)]
    same = timezone.now() - timedelta(days=1)
    Job.objects.update(created_at=same)
    first = asking.get("/jobs/", limit=1).json()
    rest = asking.get("/jobs/", cursor=first["next_cursor"])
    assert sorted([first["items"][0]["key"], *keys(rest)]) == sorted(made)


def test_a_list_may_be_asked_for_its_headers_alone(asking: Program) -> None:
    response = asking.send("head", "/volumes/?limit=1")
    assert (response.status_code, response.content) == (200, b"")

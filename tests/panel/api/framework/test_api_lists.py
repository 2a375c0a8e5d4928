"""What all lists take alike: an order, a search, times, some fields alone, a count."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest
from django.utils import timezone

from panel.models import Order
from storage.models import Customer, Host, Volume
from tests import make
from tests.panel.api.asking import Program, member, own, problem, staff
from tests.panel.api.test_openapi import described
from tests.panel.cast import party
from tests.scene import job, scene

pytestmark = pytest.mark.django_db

BIG: Final = ("/volumes/", "/jobs/", "/hosts/", "/customers/", "/orders/", "/alerts/")
COMMON: Final = {"limit", "cursor", "fields", "count", "created_since"}
IN_ORDER: Final = {"/api/v1/events/"}
"""Its order never changes, and it is not counted."""
PLANNED: Final = {"/api/v1/benchmarks/{key}/runs"}
"""All of its items were made at once."""
READ_AS_ONE: Final = {
    "/api/v1/alert-routes/gaps",
    "/api/v1/hosts/{key}/arrays",
    "/api/v1/hosts/{key}/disks",
}
NO_LIST: Final = {
    "/api/v1/hosts/{key}/disk-users": "The disks at a moment, together.",
    "/api/v1/hosts/{key}/disks/{disk}/writers": "The shares of one whole.",
    "/api/v1/hosts/{key}/faults": "The known faults of one kernel.",
    "/api/v1/bulk-changes/{key}": "What became of the volumes of one change.",
    "/api/v1/jobs/{key}/comparison": "The figures of one comparison.",
    "/api/v1/volumes/{key}/outlook": "The plans that are on offer.",
    "/api/v1/volumes/{key}/curve": "The sizes of one curve.",
    "/api/v1/calibration/": "Each kind of forecast and technology.",
}
"""Answers with items that are parts of one thing."""


def keys(answer: Any) -> list[str]:
    return [each["key"] for each in answer.json()["items"]]


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def parameters(path: str) -> set[str]:
    given = described()["paths"][path]["get"]["parameters"]
    return {each["name"] for each in given if each["in"] == "query"}


def test_every_list_is_paged_and_takes_the_same() -> None:
    schemas = described()["components"]["schemas"]
    for path, operations in described()["paths"].items():
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        name = content.get("application/json", {}).get("schema", {}).get("$ref", "")
        schema = schemas.get(name.rpartition("/")[2], {})
        if "items" not in schema.get("properties", {}) or path in NO_LIST:
            continue
        assert "next_cursor" in schema["properties"], path
        expected = {"limit", "cursor"} if path in READ_AS_ONE else COMMON
        missing = expected - parameters(path)
        left_out = (
            {"count"} if path in IN_ORDER else {"created_since"} if path in PLANNED else set()
        )
        assert missing == left_out, path


def test_the_big_lists_are_sorted_searched_and_counted() -> None:
    for path in BIG:
        assert {"search", "count", "fields", "created_since"} <= parameters(f"/api/v1{path}"), path
        assert ("sort" in parameters(f"/api/v1{path}")) is (path != "/alerts/")


def test_only_the_requested_fields_are_returned(asking: Program) -> None:
    job(scene())
    for path in BIG:
        items = asking.get(path, fields="key,url").json()["items"]
        assert all(set(each) == {"key", "url"} for each in items), path
    refused = problem(asking.get("/volumes/", fields="key,colour"), 400, "invalid_parameter")
    assert "label" in refused["errors"][0]["message"]


def test_the_count_is_that_of_all_pages_and_only_returned_on_request(asking: Program) -> None:
    for n in range(3):
        scene(make.lv(f"v{n}"), label=f"web{n}" if n else "mail")
    assert "count" not in asking.get("/volumes/", limit=1).json()
    assert asking.get("/volumes/", limit=1, count="true").json()["count"] == 3
    assert asking.get("/volumes/", limit=1, count="true", search="web").json()["count"] == 2
    problem(asking.get("/volumes/", count="yes"), 400, "invalid_parameter")


def test_the_count_of_a_customer_is_that_of_what_they_see() -> None:
    acme, zebra = party("acme"), party("zebra")
    program = member(acme.customer)
    assert program.get("/volumes/", count="true").json()["count"] == 1
    assert program.get("/volumes/", count="true", search="zebra").json()["count"] == 0
    assert zebra.there.volume.key not in program.get("/jobs/", count="true").content.decode()


@pytest.mark.parametrize("sort", ["label", "-label", "size_bytes", "-size_bytes", "-created_at"])
def test_pages_in_any_order_have_each_row_once(asking: Program, sort: str) -> None:
    for n, label in enumerate(("b", "a", "c", "a", "b")):
        there = scene(make.lv(f"v{n}"), label=label)
        Volume.objects.filter(pk=there.volume.pk).update(size_bytes=(n % 3 + 1) << 30)
    whole = asking.get("/volumes/", sort=sort).json()["items"]
    column = sort.removeprefix("-")
    values = [each[column] for each in whole]
    assert values == sorted(values, reverse=sort.startswith("-"))
    seen, cursor = [], {}
    while True:
        page = asking.get("/volumes/", sort=sort, limit="2", **cursor).json()
        seen += [each["key"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [each["key"] for each in whole]
    problem(asking.get("/volumes/", limit="2", **cursor), 400, "invalid_parameter")


def test_names_sort_in_natural_order(asking: Program) -> None:
    for name in ("stor-10", "stor-9", "stor-1"):
        make.host(name=name)
    shown = asking.get("/hosts/", sort="name", fields="name").json()["items"]
    assert [each["name"] for each in shown] == ["stor-1", "stor-9", "stor-10"]
    refused = problem(asking.get("/hosts/", sort="address"), 400, "invalid_parameter")
    assert "name" in refused["errors"][0]["message"]


def test_rows_are_found_by_a_part_of_their_names(asking: Program) -> None:
    acme, zebra = party("acme"), party("zebra")
    Volume.objects.filter(pk=acme.there.volume.pk).update(external_id="vps-77")
    Host.objects.filter(pk=zebra.there.host.pk).update(site="Helsinki")
    assert keys(asking.get("/jobs/", search="ps-7")) == [acme.job.key]
    assert keys(asking.get("/hosts/", search="helsi")) == [zebra.there.host.key]
    assert set(keys(asking.get("/orders/", search=acme.customer.name.upper()))) == {
        order.key for order in Order.objects.filter(customer=acme.customer)
    }
    Customer.objects.filter(pk=zebra.customer.pk).update(external_id="crm-9")
    assert keys(asking.get("/customers/", search="crm-9")) == [zebra.customer.key]


def test_no_customer_learns_of_a_host_by_searching_its_name() -> None:
    customer = make.customer()
    there = scene()
    own(there, customer)
    job(there, origin="portal")
    Host.objects.filter(pk=there.host.pk).update(name="stor-secret")
    assert keys(member(customer).get("/jobs/", search="stor-secret")) == []
    assert len(keys(staff().get("/jobs/", search="stor-secret"))) == 1


def test_rows_that_were_made_since_a_time_are_found(asking: Program) -> None:
    acme = party("acme")
    soon = (timezone.now() + timedelta(minutes=1)).isoformat()
    for path, row in (
        ("/volumes/", acme.there.volume),
        ("/hosts/", acme.there.host),
        ("/customers/", acme.customer),
        ("/orders/", Order.objects.get()),
    ):
        row.refresh_from_db()
        assert keys(asking.get(path, created_since=row.created_at.isoformat())) == [row.key]
        assert keys(asking.get(path, created_since=soon)) == []


def test_what_is_read_as_one_has_pages_too() -> None:
    asking, host = staff(), make.host()
    for _ in range(3):
        make.physical_disk(host)
    first = asking.get(f"/hosts/{host.key}/disks", limit=2).json()
    rest = asking.get(f"/hosts/{host.key}/disks", limit=2, cursor=first["next_cursor"]).json()
    assert (len(first["items"]), len(rest["items"]), rest["next_cursor"]) == (2, 1, None)
    whole = asking.get(f"/hosts/{host.key}/disks").json()["items"]
    assert [each["key"] for each in first["items"] + rest["items"]] == [
        each["key"] for each in whole
    ]
    foreign = asking.get("/hosts/", limit=1, cursor=first["next_cursor"])
    problem(foreign, 400, "invalid_parameter")

"""Versions: who reads again gets a 304, who changes an older version a 412, and no condition is
passed over in silence."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone

from storage.models import CachePlan, Customer, LatestSample, Volume
from tests import make
from tests.panel.api.asking import V1, Program, problem, staff
from tests.panel.api.test_openapi import described, patterns
from tests.scene import scene

pytestmark = pytest.mark.django_db
PLAN = {"name": "Boost", "size_bytes": 1 << 30, "price_minor": 490, "currency": "EUR"}


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def things(asking: Program) -> list[tuple[str, str, Any]]:
    """Addresses at which something is read and changed, with a method and a body that change it."""
    there, customer = scene(), make.customer("Acme")
    plan = CachePlan.objects.create(**PLAN)
    asking.send("put", f"/customers/{customer.key}/mandate", MANDATE)
    return [
        (f"/volumes/{there.volume.key}", "patch", {"label": "other"}),
        (f"/hosts/{there.host.key}", "patch", {"site": "Graz"}),
        (f"/customers/{customer.key}", "patch", {"name": "Acme Ltd"}),
        (f"/customers/{customer.key}/mandate", "put", {**MANDATE, "cap_charge_minor": 1}),
        (f"/cache-plans/{plan.key}", "patch", {"price_minor": 500}),
    ]


MANDATE = {
    "currency": "EUR",
    "cap_charge_minor": 490,
    "cap_period_minor": 490,
    "earliest_next_at": None,
}


def test_everything_that_is_read_has_a_version_and_a_reader_who_has_it_gets_no_body(
    asking: Program,
) -> None:
    paths = [path for path, _, _ in things(asking)]
    for path in ("/", "/volumes/", "/jobs/", *paths):
        tag = asking.get(path)["ETag"]
        again = asking.send("get", path, **{"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag), path
        other = asking.send("get", path, **{"If-None-Match": '"other"'})
        assert other.status_code == 200, path


def test_a_change_of_an_older_version_is_refused_and_changes_nothing(asking: Program) -> None:
    for path, method, body in things(asking):
        tag = asking.get(path)["ETag"]
        refused = asking.send(method, path, body, **{"If-Match": '"bogus"'})
        problem(refused, 412, "changed")
        assert refused["ETag"] == tag, path
        changed = asking.send(method, path, body, **{"If-Match": tag})
        assert changed.status_code == 200, (path, changed.content)
        problem(asking.send(method, path, body, **{"If-Match": tag}), 412, "changed")
        assert changed["ETag"] == asking.get(path)["ETag"], path


def test_what_was_deleted_meanwhile_is_not_found(asking: Program) -> None:
    customer = make.customer("Acme")
    path = f"/customers/{customer.key}"
    tag = asking.get(path)["ETag"]
    problem(asking.send("delete", path, **{"If-Match": '"bogus"'}), 412, "changed")
    assert asking.send("delete", path, **{"If-Match": tag}).status_code == 204
    assert not Customer.objects.exists()
    problem(asking.send("delete", path, **{"If-Match": tag}), 404, "not_found")


def test_what_is_to_be_made_only_where_there_is_none_is_not_replaced(asking: Program) -> None:
    path = f"/customers/{make.customer('Acme').key}/mandate"
    problem(asking.send("put", path, MANDATE, **{"If-Match": "*"}), 412, "changed")
    first = asking.send("put", path, MANDATE, **{"If-None-Match": "*"})
    assert first.status_code == 200
    problem(asking.send("put", path, MANDATE, **{"If-None-Match": "*"}), 412, "changed")


def test_new_figures_are_another_answer_and_the_same_record(asking: Program) -> None:
    there = scene()
    path = f"/volumes/{there.volume.key}"
    tag = asking.get(path)["ETag"]
    LatestSample.objects.create(
        volume=there.volume, host=there.host, at=timezone.now(), boot_id="b", counters={},
        boottime_ns=1, gap="first",
    )  # fmt: skip
    assert asking.get(path)["ETag"] != tag
    answer = asking.send("patch", path, {"label": "other"}, **{"If-Match": tag})
    assert answer.status_code == 200
    assert Volume.objects.get().label == "other"


@pytest.mark.parametrize("name", ["If-Match", "If-None-Match"])
def test_where_nothing_has_a_version_a_condition_is_refused(asking: Program, name: str) -> None:
    answer = asking.send("post", "/customers/", {"name": "Acme"}, **{name: "*"})
    problem(answer, 400, "condition_not_supported")
    assert not Customer.objects.exists()


def test_whatever_is_read_and_changed_at_one_address_compares_versions() -> None:
    """tests/panel/api/test_every_operation.py asks each of them."""
    views = {
        path: getattr(route.callback, "view_class", None) for path, route in patterns().items()
    }
    own = {view.__name__ for view in views.values() if getattr(view, "checks_version", False)}
    assert own == {"VolumeWish"}
    versioned = {path for path in described()["paths"] if views[path].has_version()}
    described_with = {
        path
        for path, operations in described()["paths"].items()
        for operation in operations.values()
        if "If-Match" in {each["name"] for each in operation.get("parameters", ())}
    }
    assert versioned == described_with
    assert {f"{V1}/volumes/{{key}}", f"{V1}/volumes/{{key}}/wish"} <= described_with


def test_a_strong_tag_is_what_it_says(asking: Program) -> None:
    assert re.fullmatch(r'"[0-9a-f]{20}(\.[0-9a-f]{20})?"', asking.get("/")["ETag"])

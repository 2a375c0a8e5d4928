"""What the panel alone keeps of hosts and customers, by the API as by pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from panel.models import User
from panel.staff.change_log import edits
from storage.models import CachePlan, Customer, Host
from tests import make
from tests.panel.api.asking import Program, problem, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def changed(asking: Program, host: Host, **values: Any) -> Any:
    return asking.send("patch", f"/hosts/{host.key}", values)


def test_a_host_is_labelled_and_found_by_its_labels(asking: Program) -> None:
    host, other = make.host(name="web1"), make.host(name="web2")
    answer = changed(asking, host, site="Hel 1", tags=["NVMe", "rack-7", "nvme"]).json()
    assert (answer["site"], answer["tags"]) == ("Hel 1", ["nvme", "rack-7"])
    shown = asking.get(f"/hosts/{host.key}").json()
    assert (shown["site"], shown["tags"]) == ("Hel 1", ["nvme", "rack-7"])
    changed(asking, other, tags=["nvme"])
    for query, keys in (
        ({"site": "Hel 1"}, [host.key]),
        ({"tag": "nvme"}, [host.key, other.key]),
        ({"tag": "nv"}, []),
        ({"site": "", "tag": "nvme"}, [other.key]),
    ):
        assert [each["key"] for each in asking.get("/hosts/", **query).json()["items"]] == keys


def test_what_is_left_out_stays_and_the_change_has_its_author(asking: Program) -> None:
    host = make.host(site="Hel 1", tags=["nvme"])
    changed(asking, host, tags=[])
    host.refresh_from_db()
    assert (host.site, host.tags) == ("Hel 1", [])
    (edit, *_) = edits(host)
    assert edit.who == asking.user.email and edit.how.startswith("API token")


@pytest.mark.parametrize(
    "values",
    [
        {"site": "x" * 65},
        {"tags": ["x" * 33]},
        {"tags": [f"t{n}" for n in range(13)]},
        {"tags": ["two words"]},
        {"tags": ["one,two"]},
        {"tags": [""]},
        {"tags": "nvme"},
        {"name": "web9"},
        {"site": None},
    ],
)
def test_labels_that_the_page_refuses_are_refused(asking: Program, values: Any) -> None:
    host = make.host(site="Hel 1")
    problem(changed(asking, host, **values), 422, "invalid")
    host.refresh_from_db()
    assert (host.site, host.tags) == ("Hel 1", [])


def test_a_customer_who_has_nothing_is_deleted(asking: Program) -> None:
    customer = make.customer("Acme")
    answer = asking.send("delete", f"/customers/{customer.key}")
    assert (answer.status_code, answer.content) == (204, b"")
    problem(asking.send("delete", f"/customers/{customer.key}"), 404, "not_found")


def test_a_plan_that_was_never_used_is_deleted(asking: Program) -> None:
    admin = staff("admin")
    plan = CachePlan.objects.create(
        name="Boost", size_bytes=1 << 30, price_minor=490, currency="EUR"
    )
    path = f"/cache-plans/{plan.key}"
    problem(asking.send("delete", path), 403, "insufficient_scope")
    assert admin.send("delete", path).status_code == 204
    problem(admin.send("delete", path), 404, "not_found")


def test_a_plan_that_a_volume_has_is_kept(asking: Program) -> None:
    plan = CachePlan.objects.create(
        name="Boost", size_bytes=1 << 30, price_minor=490, currency="EUR"
    )
    make.volume(cache_plan=plan)
    body = problem(staff("admin").send("delete", f"/cache-plans/{plan.key}"), 409, "in_use")
    assert "1 volume uses it" in body["detail"]
    assert CachePlan.objects.filter(pk=plan.pk).exists()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/customers/", {"name": "Acme"}),
        (
            "/cache-plans/",
            {"name": "Boost", "size_bytes": 1 << 30, "price_minor": 490, "currency": "EUR"},
        ),
        ("/silences/", {"code": "drift", "reason": "known", "until": "2126-01-01T00:00:00Z"}),
    ],
)
def test_a_repeated_request_with_its_key_makes_nothing_twice(path: str, body: Any) -> None:
    admin = staff("admin")
    if path == "/silences/":
        body["until"] = (timezone.now() + timedelta(days=1)).isoformat()
    first, again = (
        admin.send("post", path, body, **{"Idempotency-Key": "same-1"}) for _ in range(2)
    )
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["key"] == again.json()["key"]
    assert again["Idempotency-Replayed"] == "true"
    other = admin.send("post", path, {**body, "reason" if "reason" in body else "name": "Other"},
        **{"Idempotency-Key": "same-1"})  # fmt: skip
    problem(other, 422, "idempotency_key_reused")


def test_a_customer_who_has_something_is_kept(asking: Program) -> None:
    owner, member = make.customer("Owner"), make.customer("Member")
    make.volume(customer=owner)
    member.members.create(user=make.user())
    for customer, why in ((owner, "1 volume"), (member, "1 user")):
        kept = problem(asking.send("delete", f"/customers/{customer.key}"), 409, "in_use")
        assert why in kept["detail"] and kept["correction"]
    assert Customer.objects.count() == 2 and User.objects.count() == 2

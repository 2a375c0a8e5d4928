"""Limits of tags through the API, and what a volume says of its own."""

from __future__ import annotations

import pytest

from storage.models import Host, TagLimit, Volume
from tests import make
from tests.panel.api.asking import Program, member, own, problem, staff
from tests.panel.portal.shop import plan
from tests.scene import scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def test_a_limit_is_made_listed_changed_and_deleted_by_admins(asking: Program) -> None:
    made = asking.send("post", "/tag-limits/", {"tag": "NVMe", "slow_read_ms": 5})
    assert made.status_code == 201 and made["Location"] == made.json()["url"]
    path = f"/tag-limits/{made.json()['key']}"
    assert asking.get(path).json() == made.json()
    [listed] = asking.get("/tag-limits/?search=nvm").json()["items"]
    assert (listed["tag"], listed["slow_read_ms"]) == ("nvme", 5)
    assert asking.send("patch", path, {"slow_read_ms": 7}).json()["slow_read_ms"] == 7
    again = asking.send("post", "/tag-limits/", {"tag": "nvme", "slow_read_ms": 5})
    assert problem(again, 422, "invalid")["errors"][0]["pointer"] == "/tag"
    operator = staff("operator")
    assert operator.get(path).status_code == 200
    problem(operator.send("patch", path, {"slow_read_ms": 9}), 403, "forbidden")
    problem(operator.send("delete", path), 403, "forbidden")
    assert asking.send("delete", path).status_code == 204
    assert not TagLimit.objects.exists()


@pytest.mark.parametrize("tag", ["two words", "a,b", ""])
def test_what_is_no_tag_is_refused(asking: Program, tag: str) -> None:
    body = {"tag": tag, "slow_read_ms": 5}
    assert asking.send("post", "/tag-limits/", body).status_code == 422


def test_a_volume_says_its_limit_and_where_it_comes_from(asking: Program) -> None:
    there = scene()
    path = f"/volumes/{there.volume.key}"
    assert asking.get(path).json()["slow_limit"] == {"ms": 20, "of": "default", "name": ""}
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    Host.objects.update(tags=["nvme"])
    assert asking.get(path).json()["slow_limit"] == {"ms": 5, "of": "tag", "name": "nvme"}
    host = asking.send("patch", f"/hosts/{there.host.key}", {"slow_read_ms": 8}).json()
    assert host["slow_read_ms"] == 8
    assert asking.get(path).json()["slow_limit"] == {"ms": 8, "of": "host", "name": ""}
    gold = plan()
    Volume.objects.update(cache_plan=gold)
    shown = asking.send("patch", f"/cache-plans/{gold.key}", {"slow_read_ms": 3}).json()
    assert shown["slow_read_ms"] == 3
    assert asking.get(path).json()["slow_limit"] == {"ms": 3, "of": "plan", "name": gold.name}
    asking.send("patch", f"/cache-plans/{gold.key}", {"slow_read_ms": None})
    asking.send("patch", f"/hosts/{there.host.key}", {"slow_read_ms": None})
    assert asking.get(path).json()["slow_limit"]["of"] == "tag"


def test_customers_see_neither_limits_nor_tags() -> None:
    customer = make.customer()
    there, gold = scene(), plan(slow_read_ms=3)
    own(there, customer)
    asking = member(customer)
    assert "slow_limit" not in asking.get(f"/volumes/{there.volume.key}").json()
    assert "slow_read_ms" not in asking.get(f"/cache-plans/{gold.key}").json()
    problem(asking.get("/tag-limits/"), 404, "not_found")

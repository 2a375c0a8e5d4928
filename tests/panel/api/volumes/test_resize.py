"""PUT wish with a size or a tier."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from jobs.models import Job
from storage.byte_sizes import GIB, MIB
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.panel.api.asking import Program, member, own, problem, staff
from tests.scene import Scene, job, scene

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def put(asking: Program, there: Scene, **body: Any) -> Any:
    path = f"/volumes/{there.volume.key}/wish"
    return asking.send("put", path, body, **{"Idempotency-Key": uuid.uuid4().hex})


def made() -> tuple[str, Wish]:
    found = Job.objects.get()
    return found.kind, Wish.from_json(found.wish)


def cached() -> Scene:
    return scene(make.lv(cache=make.dm_cache(POOL), layout=("cache",)))


def test_a_larger_size_is_rounded_up_to_extents(asking: Program) -> None:
    assert put(asking, scene(make.lv()), size_bytes=9 * GIB + 1).status_code == 202
    assert made() == ("extend-volume", Wish(9 * GIB + 4 * MIB))


@pytest.mark.parametrize("size_bytes", [8 * GIB, 8 * GIB - 1])
def test_the_size_it_has_is_no_job(asking: Program, size_bytes: int) -> None:
    answer = put(asking, scene(make.lv()), size_bytes=size_bytes, tier="hdd")
    assert answer.status_code == 200
    assert (answer.json()["size_bytes"], answer.json()["tier"]) == (8 * GIB, "hdd")
    assert not Job.objects.exists()


def test_a_volume_never_becomes_smaller(asking: Program) -> None:
    body = problem(put(asking, scene(make.lv()), size_bytes=GIB), 422, "invalid")
    assert body["errors"][0]["pointer"] == "/size_bytes"
    problem(put(asking, scene(make.lv()), size_bytes=1 << 60), 422, "no_space")


def test_a_volume_goes_to_ssd_without_its_cache(asking: Program) -> None:
    assert put(asking, cached(), tier="ssd").status_code == 202
    assert made() == ("move-volume", Wish(8 * GIB, "ssd"))


def test_a_cache_in_front_of_ssd_is_no_wish(asking: Program) -> None:
    cache = {"size_bytes": GIB, "mode": "writethrough"}
    body = problem(put(asking, scene(make.lv()), tier="ssd", cache=cache), 422, "invalid")
    assert body["errors"][0]["pointer"] == "/tier"


def test_a_cache_and_a_size_are_one_job(asking: Program) -> None:
    cache = {"size_bytes": GIB, "mode": "writethrough"}
    assert put(asking, scene(make.lv()), size_bytes=9 * GIB, cache=cache).status_code == 202
    kind, wish = made()
    assert kind == "extend-volume" and wish.size_bytes == 9 * GIB
    assert isinstance(wish.cache, LvmCache) and wish.cache.size_bytes == GIB


def test_the_job_that_makes_it_so_is_the_answer(asking: Program) -> None:
    there = scene(make.lv())
    holder = job(there, kind="extend-volume", wish=Wish(9 * GIB).to_json())
    assert put(asking, there, size_bytes=9 * GIB - 1).json()["key"] == holder.key
    problem(put(asking, there, size_bytes=10 * GIB), 409, "busy")
    problem(put(asking, there, tier="ssd"), 409, "busy")
    now = asking.get(f"/volumes/{there.volume.key}/wish").json()
    assert (now["size_bytes"], now["is_met"]) == (9 * GIB, False)


def test_customers_see_no_tier_and_change_nothing(asking: Program) -> None:
    there, acme = scene(make.lv()), make.customer()
    own(there, acme)
    customer = member(acme)
    now = customer.get(f"/volumes/{there.volume.key}/wish").json()
    assert "tier" not in now
    assert put(customer, there, size_bytes=9 * GIB).status_code == 403

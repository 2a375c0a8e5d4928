"""A customer's program sees its own: no hosts, no technology, no other customer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jobs.models import Line, State
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer, Volume
from tests import make
from tests.panel.api.asking import Program, member, own, problem, program, staff
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db

TECHNICAL = re.compile(r"lvm|bcache|dm-|vg0|md0|web12 · vdb|/dev|lvconvert", re.IGNORECASE)
WRITES = [
    ("put", "/volumes/{volume}/wish", {"cache": None}),
    ("patch", "/volumes/{volume}", {"label": "mine"}),
    ("post", "/jobs/{job}/cancel", None),
    ("post", "/jobs/{job}/pace", None),
    ("post", "/jobs/{job}/resume", None),
    ("post", "/jobs/{job}/rollback", None),
    ("post", "/jobs/{job}/resolve", {"why": "mine"}),
    ("patch", "/customers/{customer}", {"name": "mine"}),
    ("put", "/customers/{customer}/mandate", {"currency": "EUR"}),
    ("patch", "/cache-plans/{plan}", {"price_minor": 0}),
]


class World:
    """Two customers with a cached volume and a change of plan each, on one kind of host."""

    def __init__(self) -> None:
        self.ours, self.theirs = make.customer("Ours"), make.customer("Theirs & secret")
        self.mine = self._scene(self.ours, "mine", "storage-17")
        self.foreign = self._scene(self.theirs, "foreign-disk", "storage-18")
        self.my_job = self._job(self.mine)
        self.foreign_job = self._job(self.foreign)
        self.staff_job = job(self.mine, dry_run=True)
        self.plan = CachePlan.objects.create(
            name="Fast", size_bytes=GIB, price_minor=490, currency="EUR"
        )
        self.plan.hosts.add(self.mine.host)
        self.retired = CachePlan.objects.create(
            name="Retired", size_bytes=GIB, price_minor=1, currency="EUR", on_offer=False
        )

    def _scene(self, customer: Customer, label: str, host: str) -> Scene:
        lv = make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"))
        there = scene(lv, label=label, host={"name": host})
        own(there, customer)
        Volume.objects.filter(pk=there.volume.pk).update(
            guest="web12 · vdb", external_id=f"vps-{label}"
        )
        return there

    def _job(self, there: Scene) -> Any:
        made = job(there, origin="portal", explanation=f"waits for {there.host.name}")
        step(made)
        Line.objects.create(job=made, n=1, text=f"lvconvert on {there.host.name}")
        error = {
            "code": "no_space",
            "message": f"{there.host.name}: vg0 is full",
            "correction": "lvconvert",
        }
        end(made, State.FAILED, error=error)
        return made


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def asking(world: World) -> Program:
    return member(world.ours)


def read_all(asking: Program, world: World) -> dict[str, Any]:
    """Every answer that a member's program can get by reading."""
    volume, made = world.mine.volume.key, world.my_job.key
    paths = [
        "/",
        "/volumes/",
        "/jobs/",
        "/customers/",
        "/cache-plans/",
        f"/volumes/{volume}",
        f"/volumes/{volume}/wish",
        f"/volumes/{volume}/series",
        f"/jobs/{made}",
        f"/customers/{world.ours.key}",
        f"/cache-plans/{world.plan.key}",
    ]
    answers = {path: asking.get(path) for path in paths}
    assert {path: each.status_code for path, each in answers.items()} == dict.fromkeys(paths, 200)
    return {path: each.json() for path, each in answers.items()}


def test_a_member_reads_their_own_and_nothing_more(asking: Program, world: World) -> None:
    answers = read_all(asking, world)
    found = {
        path: [item["key"] for item in answers[path]["items"]]
        for path in ("/volumes/", "/jobs/", "/customers/", "/cache-plans/")
    }
    assert found == {
        "/volumes/": [world.mine.volume.key],
        "/jobs/": [world.my_job.key],
        "/customers/": [world.ours.key],
        "/cache-plans/": [world.plan.key],
    }


def test_no_answer_to_a_member_names_a_host_a_technology_or_another_customer(
    asking: Program, world: World
) -> None:
    text = json.dumps(read_all(asking, world), ensure_ascii=False)
    text = text.replace('"url": "/api/v1/hosts/"', "")
    for secret in (
        "storage-17",
        "storage-18",
        world.mine.host.key,
        world.mine.lv.uuid,
        world.theirs.name,
        world.foreign.volume.key,
        "foreign-disk",
        "vps-foreign-disk",
    ):
        assert secret not in text
    assert TECHNICAL.findall(text) == []


def test_staff_read_in_the_same_places_what_members_do_not(world: World) -> None:
    body = staff("read_only").get(f"/jobs/{world.my_job.key}").json()
    assert "storage-17" in body["error"]["message"]
    assert body["steps"]
    assert (body["host"]["name"], body["door"]) == ("storage-17", "portal")


def test_an_error_keeps_its_code_and_loses_its_words(asking: Program, world: World) -> None:
    body = asking.get(f"/jobs/{world.my_job.key}").json()
    assert body["error"]["code"] == "no_space"
    assert "steps" not in body


def test_what_is_foreign_is_as_if_it_were_not_there(asking: Program, world: World) -> None:
    there, made = world.foreign.volume.key, world.foreign_job.key
    paths = [
        f"/volumes/{there}",
        f"/volumes/{there}/wish",
        f"/volumes/{there}/series",
        f"/jobs/{made}",
        f"/jobs/{made}/lines",
        f"/jobs/{world.my_job.key}/lines",
        f"/jobs/{world.staff_job.key}",
        f"/cache-plans/{world.retired.key}",
        f"/customers/{world.theirs.key}",
        "/hosts/",
        f"/hosts/{world.mine.host.key}",
    ]
    for path in paths:
        body = problem(asking.get(path), 404, "not_found")
        absent = problem(asking.get("/volumes/aaaaaaaaaaaaaaaa"), 404, "not_found")
        assert {**body, "instance": ""} == {**absent, "instance": ""}


@pytest.mark.parametrize(
    "query",
    [
        {"host": "storage-17"},
        {"host": "storage-18"},
        {"guest": "web12"},
        {"state": "managed"},
    ],
)
def test_a_filter_on_what_a_member_does_not_see_tells_nothing(
    asking: Program, world: World, query: dict[str, str]
) -> None:
    problem(asking.get("/volumes/", **query), 400, "invalid_parameter")


@pytest.mark.parametrize("name", ["host", "dry_run"])
def test_jobs_have_no_such_filter_for_a_member(asking: Program, name: str) -> None:
    problem(asking.get("/jobs/", **{name: "true"}), 400, "invalid_parameter")


def test_filters_find_nothing_of_another_customer(asking: Program, world: World) -> None:
    for path, query in [
        ("/volumes/", {"external_id": "vps-foreign-disk"}),
        ("/volumes/", {"customer": world.theirs.key}),
        ("/jobs/", {"volume": world.foreign.volume.key}),
    ]:
        assert asking.get(path, **query).json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_member_changes_nothing(
    asking: Program, world: World, method: str, path: str, body: Any
) -> None:
    path = path.format(
        volume=world.mine.volume.key,
        job=world.my_job.key,
        customer=world.ours.key,
        plan=world.plan.key,
    )
    response = asking.send(method, path, body, **{"Idempotency-Key": "k"})
    problem(response, 403, "insufficient_scope")


@pytest.mark.parametrize(
    ("role", "status"), [("read_only", 403), ("operator", 403), ("admin", 200)]
)
def test_only_administrators_change_what_is_sold(world: World, role: str, status: int) -> None:
    user = make.staff_user()
    asking = program(user)
    user.staff_role = role
    user.save()
    response = asking.send("patch", f"/cache-plans/{world.plan.key}", {"price_minor": 500})
    assert response.status_code == status


def test_a_plan_that_volumes_carry_keeps_its_size(world: World) -> None:
    Volume.objects.filter(pk=world.mine.volume.pk).update(cache_plan=world.plan)
    asking = staff()
    path = f"/cache-plans/{world.plan.key}"
    [error] = problem(asking.send("patch", path, {"size_bytes": 2 * GIB}), 422, "invalid")["errors"]
    assert error["code"] == "in_use"
    assert asking.send("patch", path, {"price_minor": 500}).status_code == 200

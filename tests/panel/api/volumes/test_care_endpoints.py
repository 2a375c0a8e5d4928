"""Drift, lost caches, adoption and changes of many volumes, as the pages do them."""

from __future__ import annotations

import uuid

import pytest

from jobs import audit_trail
from jobs.models import BulkChange, Job, Origin
from jobs.queue import bulk
from panel.models import ApiToken
from storage.byte_sizes import GIB
from storage.models import CachePlan, Customer, Volume
from storage.planner.wish import Wish
from tests import make
from tests.panel.api.asking import Program, problem, program, staff
from tests.scene import Scene, job, scene, step

pytestmark = pytest.mark.django_db
KEY = {"Idempotency-Key": "k"}
NAMED = {"X-Request-Id": "req-1"}


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def drifted() -> Scene:
    """A volume that was recorded without the cache that it has."""
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    wish = Wish(there.volume.size_bytes).to_json()
    Volume.objects.filter(pk=there.volume.pk).update(wish=wish)
    there.volume.refresh_from_db()
    return there


def test_a_volume_that_differs_is_recorded_as_its_host_has_it(asking: Program) -> None:
    path = f"/volumes/{drifted().volume.key}/drift"
    shown = asking.get(path).json()
    assert shown["differences"]
    assert shown["accepts"]
    assert asking.send("post", f"{path}/accept").status_code == 204
    assert asking.get(path).json()["differences"] == []
    assert Volume.objects.get().current_wish != Wish(Volume.objects.get().size_bytes)
    problem(asking.send("post", f"{path}/accept"), 422, "stale")


def test_nothing_is_accepted_while_a_job_changes_the_volume(asking: Program) -> None:
    there = drifted()
    job(there)
    path = f"/volumes/{there.volume.key}/drift"
    problem(asking.send("post", f"{path}/accept"), 409, "busy")
    assert asking.get(path).json()["differences"] == []


def test_a_volume_that_differs_is_brought_back_to_its_record(asking: Program) -> None:
    there = drifted()
    path = f"/volumes/{there.volume.key}/drift/repair"
    problem(asking.send("post", path), 400, "idempotency_key_required")
    assert asking.send("post", f"{path}?dry_run=true").status_code == 202
    answer = asking.send("post", path, **KEY)
    assert answer.status_code == 202, answer.content
    assert answer.json()["kind"] == "repair-volume"
    assert asking.send("post", path, **KEY).json()["key"] == answer.json()["key"]


def test_a_cache_that_is_not_lost_is_not_given_up(asking: Program) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    answer = asking.send("post", f"/volumes/{there.volume.key}/cache/drop", **KEY)
    assert answer.status_code == 422
    assert not Job.objects.exists()


def test_found_volumes_are_adopted_row_by_row_and_given_back(asking: Program) -> None:
    there = scene(make.lv("web1"), managed=False)
    rows = [
        {"volume": there.lv.uuid, "customer": "Acme", "external_id": "vps-1"},
        {"volume": "nothing", "customer": "Acme"},
    ]
    body = {"items": rows, "make_customers": True}
    preview = asking.send("post", "/adoptions/?dry_run=true", body).json()["items"]
    assert [each["verdict"] for each in preview] == ["adopt", "unknown"]
    assert Volume.objects.get().adopted_at is None
    done = asking.send("post", "/adoptions/", body).json()["items"]
    assert [each["verdict"] for each in done] == ["adopt", "unknown"]
    assert done[0]["job"]["key"] == Job.objects.get().key
    volume = Volume.objects.get()
    assert (str(volume.customer), volume.external_id) == ("Acme", "vps-1")
    path = f"/volumes/{volume.key}/adoption"
    assert asking.send("delete", path).status_code == 204
    volume.refresh_from_db()
    assert (volume.customer, volume.adopted_at) == (None, None)
    problem(asking.send("delete", path), 409, "not_now")


def test_an_adoption_makes_customers_only_with_the_scope_for_them() -> None:
    there = scene(make.lv("web1"), managed=False)
    rows = [{"volume": there.lv.uuid, "customer": "Acme"}]
    person = make.staff_user(staff_role="operator")
    body = {"items": rows, "make_customers": True}
    narrow = program(person, "volumes:write")
    problem(narrow.send("post", "/adoptions/", body), 403, "insufficient_scope")
    assert not Customer.objects.exists()
    assert narrow.send("post", "/adoptions/?dry_run=true", body).status_code == 200
    make.customer("Acme")
    known = {"items": rows, "make_customers": False}
    assert narrow.send("post", "/adoptions/", known).json()["items"][0]["verdict"] == "adopt"
    wide = program(person, "volumes:write", "customers:write")
    assert wide.send("post", "/adoptions/", body).status_code == 200


def test_a_volume_says_until_when_it_is_watched_closely(asking: Program) -> None:
    path = f"/volumes/{scene().volume.key}"
    assert asking.get(path).json()["watched_until"] is None
    until = asking.send("put", f"{path}/watch", {}).json()["watched_until"]
    assert asking.get(path).json()["watched_until"] == until
    assert asking.send("delete", f"{path}/watch").status_code == 204
    assert asking.get(path).json()["watched_until"] is None


def entries_of(asking: Program, made: Job, request_id: str) -> list[str]:
    """The jobs that the audit trail names for a request, once the job has sent a step."""
    audit_trail.intent(made, step(made, op_id=uuid.uuid4()))
    items = asking.get("/audit/", request_id=request_id).json()["items"]
    return [each["job"] for each in items]


def test_an_adoption_leads_from_its_request_to_what_its_jobs_did(asking: Program) -> None:
    there = scene(make.lv("web1"), managed=False)
    make.customer("Acme")
    body = {"items": [{"volume": there.lv.uuid, "customer": "Acme"}]}
    assert asking.send("post", "/adoptions/", body, **NAMED).status_code == 200
    made = Job.objects.get()
    assert (made.origin, made.token) == (Origin.API, ApiToken.objects.get().key)
    assert entries_of(asking, made, "req-1") == [made.key]


def test_a_change_of_many_volumes_leads_from_its_request_to_what_its_jobs_did(
    asking: Program,
) -> None:
    there = scene(make.lv("a", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    body = {"action": "remove-cache", "volumes": [there.volume.key]}
    assert asking.send("post", "/bulk-changes/", body, **NAMED).status_code == 202
    bulk.go_on(BulkChange.objects.get().pk)
    made = Job.objects.get()
    assert (made.origin, made.token) == (Origin.API, ApiToken.objects.get().key)
    assert entries_of(asking, made, "req-1") == [made.key]


def test_many_volumes_are_changed_as_one_group_with_progress(asking: Program) -> None:
    plan = CachePlan.objects.create(name="Fast", size_bytes=GIB, price_minor=490, currency="EUR")
    first, second = scene(make.lv("a")), scene(make.lv("b"))
    cached = scene(make.lv("c", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    keys = [each.volume.key for each in (first, second, cached)]
    body = {"action": "add-cache", "volumes": keys, "cache_plan": plan.key}
    preview = asking.send("post", "/bulk-changes/?dry_run=true", body).json()
    assert (preview["good_count"], len(preview["items"])) == (2, 3)
    assert preview["items"][2]["refusal"]["message"] == "The volume already has a cache."
    assert not BulkChange.objects.exists()
    made = asking.send("post", "/bulk-changes/", body)
    assert made.status_code == 202, made.content
    path = made["Location"].removeprefix("/api/v1")
    assert made.json()["states"] == {"not_begun": 2}
    bulk.go_on(BulkChange.objects.get().pk)
    shown = asking.get(path).json()
    assert (shown["total"], shown["left"], shown["states"]) == (2, 0, {"queued": 2})
    assert [each["volume"]["key"] for each in shown["items"]] == keys[:2]
    assert Job.objects.filter(kind="add-cache").count() == 2
    problem(asking.send("post", f"{path}/cancel"), 409, "too_late")
    assert asking.get("/bulk-changes/").json()["items"][0]["key"] == shown["key"]


def test_volumes_that_are_not_begun_can_be_left(asking: Program) -> None:
    there = scene()
    body = {"action": "retire", "volumes": [there.volume.key]}
    made = asking.send("post", "/bulk-changes/", body).json()
    path = made["url"].removeprefix("/api/v1")
    cancelled = asking.send("post", f"{path}/cancel").json()
    assert (cancelled["left"], cancelled["states"]) == (0, {"refused": 1})
    assert not Job.objects.exists()


def test_a_change_names_volumes_that_are_there_and_what_it_needs(asking: Program) -> None:
    there = scene()
    answer = asking.send("post", "/bulk-changes/", {"action": "retire", "volumes": ["nothing"]})
    assert problem(answer, 422, "invalid")["errors"][0]["pointer"] == "/volumes"
    answer = asking.send(
        "post", "/bulk-changes/", {"action": "set-mode", "volumes": [there.volume.key]}
    )
    problem(answer, 422, "invalid")

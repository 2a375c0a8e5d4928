"""A dry run is made real as it was read; new volumes, found ones and SSDs by the API."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from jobs.models import Job, State
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from storage.planner.wish import Wish
from tests import make
from tests.jobs.queue.test_replace_member import there as replaceable
from tests.panel.api.asking import Program, member, problem, staff
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db

SSD = make.disk("sde", rotational=False, serial="ssd2", size_bytes=4 * GIB)


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def send(asking: Program, method: str, path: str, **body: Any) -> Any:
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    return asking.send(method, path, body or None, **headers)


def new(there: Scene, **body: Any) -> dict[str, Any]:
    return {"label": "new", "host": there.host.key, "vg": "vg0", "size_bytes": GIB, **body}


def test_a_dry_run_is_applied_with_its_very_wish_and_fingerprint(asking: Program) -> None:
    there = scene()
    asking.put_wish(there, {"size_bytes": GIB}, query="?dry_run=true")
    preview = Job.objects.get()
    problem(send(asking, "post", f"/jobs/{preview.key}/apply"), 422, "stale")
    end(preview, fingerprint="f" * 64)
    response = send(asking, "post", f"/jobs/{preview.key}/apply")
    made = Job.objects.get(dry_run=False)
    assert (response.status_code, response["Location"]) == (202, f"/api/v1/jobs/{made.key}")
    assert (made.kind, made.wish, made.fingerprint) == (preview.kind, preview.wish, "f" * 64)
    assert (made.origin, made.actor) == ("api", asking.user)
    problem(send(asking, "post", f"/jobs/{preview.key}/apply"), 409, "busy")


def test_only_a_dry_run_is_applied_and_an_end_only_by_an_admin() -> None:
    operator, there = staff("operator"), scene()
    running = job(there)
    problem(send(operator, "post", f"/jobs/{running.key}/apply"), 404, "not_found")
    end(running)
    preview = job(there, kind="destroy-volume", dry_run=True)
    end(preview)
    problem(send(operator, "post", f"/jobs/{preview.key}/apply"), 403, "forbidden")


def test_a_new_volume_is_previewed_made_or_forgotten(asking: Program) -> None:
    there = scene()
    body = new(there, tier="ssd", external_id="vps-9", customer=make.customer("Acme").key)
    response = send(asking, "post", "/volumes/?dry_run=true", **body)
    preview = Job.objects.get()
    volume = preview.its_volume
    assert (response.status_code, response.json()["dry_run"]) == (202, True)
    assert (volume.label, volume.external_id, str(volume.customer)) == ("new", "vps-9", "Acme")
    assert volume.placement_set.get().lv_name == f"v-{volume.key}"
    assert Wish.from_json(preview.wish) == Wish(GIB, "ssd")
    assert asking.send("delete", f"/volumes/{volume.key}").status_code == 204
    assert not Volume.objects.filter(pk=volume.pk).exists()
    assert send(asking, "post", "/volumes/", **body).status_code == 202
    made = Job.objects.get(dry_run=False)
    assert made.kind == "create-volume"
    problem(asking.send("delete", f"/volumes/{made.its_volume.key}"), 409, "in_use")


def previewed(asking: Program, **body: Any) -> Volume:
    """A volume that was only ever previewed."""
    response = send(asking, "post", "/volumes/?dry_run=true", **new(scene(), **body))
    volume = Job.objects.get(key=response.json()["key"]).volume
    assert response.status_code == 202 and volume is not None
    return volume


def keys(asking: Program, **query: str) -> list[str]:
    return [each["key"] for each in asking.get("/volumes/", **query).json()["items"]]


def test_a_previewed_volume_is_not_listed_as_a_real_one(asking: Program) -> None:
    customer = make.customer()
    owner = member(customer)
    volume = previewed(asking, external_id="tf-1", customer=customer.key)
    for query in ({}, {"external_id": "tf-1"}, {"customer": customer.key}, {"state": "found"}):
        assert volume.key not in keys(asking, **query), query
    for state in ("managed", "missing", "retired", "destroyed", "planned"):
        assert volume.key not in keys(asking, state=state)
    assert keys(asking, state="previewed") == [volume.key]
    assert asking.get(f"/volumes/{volume.key}").json()["state"] == "previewed"
    wish = asking.get(f"/volumes/{volume.key}/wish").json()
    assert (wish["is_met"], wish["job"]) == (False, None)
    assert keys(owner) == []
    problem(owner.get(f"/volumes/{volume.key}"), 404, "not_found")


def test_a_volume_that_is_made_is_planned_until_it_is_there(asking: Program) -> None:
    volume = previewed(asking, external_id="tf-1")
    end(preview := Job.objects.get(), State.SUCCEEDED)
    assert send(asking, "post", f"/jobs/{preview.key}/apply").status_code == 202
    assert keys(asking, external_id="tf-1") == [volume.key] == keys(asking, state="planned")
    assert keys(asking, state="previewed") == [] and volume.key not in keys(asking, state="found")
    end(Job.objects.get(dry_run=False), State.CANCELLED)
    said = asking.get(f"/volumes/{volume.key}").json()
    assert said["state"] == "planned"
    assert asking.get(f"/volumes/{volume.key}/wish").json()["is_met"] is False


def test_a_preview_holds_no_external_id(asking: Program) -> None:
    first, second = (previewed(asking, external_id="tf-1") for _ in range(2))
    assert first != second
    previews = list(Job.objects.order_by("pk"))
    for preview in previews:
        end(preview, State.SUCCEEDED)
    assert send(asking, "post", f"/jobs/{previews[0].key}/apply").status_code == 202
    late = send(asking, "post", f"/jobs/{previews[1].key}/apply")
    assert problem(late, 409, "external_id_taken")["existing"]["key"] == first.key
    assert not Job.objects.filter(volume=second, dry_run=False).exists()
    taken = send(asking, "post", "/volumes/?dry_run=true", **new(scene(), external_id="tf-1"))
    problem(taken, 409, "external_id_taken")


def test_a_repeated_request_makes_no_second_volume(asking: Program) -> None:
    there = scene()
    headers = {"Idempotency-Key": "again"}
    for _ in range(2):
        for query in ("", "?dry_run=true"):
            key = {"Idempotency-Key": headers["Idempotency-Key"] + query}
            assert asking.send("post", f"/volumes/{query}", new(there), **key).status_code == 202
    assert Volume.objects.filter(label="new").count() == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"host": "nowhere"}, "/host"),
        ({"vg": "vg9"}, "/vg"),
        ({"customer": "unknown"}, "/customer"),
        ({"label": "x" * 201}, "/label"),
        ({"size_bytes": 0}, "/size_bytes"),
    ],
)
def test_a_new_volume_of_bad_values_is_none(
    asking: Program, body: dict[str, Any], pointer: str
) -> None:
    response = send(asking, "post", "/volumes/", **new(scene(), **body))
    [error] = problem(response, 422, "invalid")["errors"]
    assert error["pointer"] == pointer
    assert not Job.objects.exists() and not Volume.objects.filter(label="new").exists()


def test_a_found_volume_is_put_under_management_by_its_wish(asking: Program) -> None:
    found, ours = scene(make.lv("found"), managed=False), scene(make.lv("ours"))
    for there, status in ((found, 202), (ours, 200)):
        response = send(asking, "put", f"/volumes/{there.volume.key}/wish", managed=True)
        assert response.status_code == status
    assert Job.objects.get().kind == "tag-volume"
    again = send(asking, "put", f"/volumes/{found.volume.key}/wish", managed=True)
    assert again.json()["key"] == Job.objects.get().key


@pytest.mark.parametrize(
    ("body", "code"),
    [({"managed": False}, "unsupported"), ({"managed": True, "tier": "ssd"}, "not_alone")],
)
def test_management_is_asked_for_alone_and_not_ended_so(
    asking: Program, body: dict[str, Any], code: str
) -> None:
    response = send(asking, "put", f"/volumes/{scene().volume.key}/wish", **body)
    [error] = problem(response, 422, "invalid")["errors"]
    assert (error["pointer"], error["code"]) == ("/managed", code)


def test_an_ssd_is_added_to_a_group_by_an_admin(asking: Program) -> None:
    there = scene(disks=(SSD,))
    path, body = f"/hosts/{there.host.key}/ssds", {"device": "sde", "serial": "ssd2", "vg": "vg0"}
    problem(send(staff("operator"), "post", path, **body), 403, "forbidden")
    problem(send(asking, "post", path, **{**body, "serial": "ssd3"}), 422, "invalid")
    response = send(asking, "post", f"{path}?dry_run=true", **body)
    said = response.json()
    assert (response.status_code, said["volume"], said["wish"]) == (202, None, None)
    assert (said["kind"], said["ssd"]["device"], said["dry_run"]) == ("prepare-ssd", "sde", True)
    end(preview := Job.objects.get(), State.SUCCEEDED)
    assert send(asking, "post", f"/jobs/{preview.key}/apply").status_code == 202
    body_of_busy = problem(send(asking, "post", path, **body), 409, "busy")
    assert [each["kind"] for each in body_of_busy["conflicting_jobs"]] == ["prepare-ssd"]
    assert asking.get("/jobs/").json()["items"][0]["ssd"]["serial"] == "ssd2"


def test_a_disk_of_an_array_is_replaced_by_an_admin(asking: Program) -> None:
    there = replaceable()
    path = f"/hosts/{there.host.key}/arrays/md0/members"
    body = {"device": "sde", "serial": "new", "member": "sda"}
    problem(send(staff("operator"), "post", path, **body), 403, "forbidden")
    problem(send(asking, "post", path, **{**body, "serial": "old"}), 422, "invalid")
    problem(send(asking, "post", path.replace("md0", "md9"), **body), 404, "not_found")
    said = send(asking, "post", f"{path}?dry_run=true", **body).json()
    assert (said["volume"], said["wish"], said["kind"]) == (None, None, "replace-member")
    assert (said["member"]["member"], said["member"]["device"]) == ("sda", "sde")
    assert "ssd" not in said
    Host.objects.update(hello={"policy": {"vgs": ["vg0"], "replace_members": False}})
    refused = problem(send(asking, "post", path, **body), 422, "observe_only")
    assert "allow-replacement" in str(refused)


def test_a_host_without_a_spare_ssd_adds_none(asking: Program) -> None:
    path = f"/hosts/{scene().host.key}/ssds"
    problem(send(asking, "post", path, device="sde", serial="ssd2", vg="vg0"), 422, "absent")

"""Hosts through the API: enrolled, trusted, held, and read."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from jobs.hosts import trust
from jobs.models import Halt
from storage.models import Host, Placement
from tests import make
from tests.panel.api.asking import Program, problem, staff
from tests.scene import HOST_KEY, job, scene
from tests.storage.analysis.advice.load import known, sampled_days

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("admin")


def test_a_host_is_added_with_the_line_that_enrols_it(asking: Program) -> None:
    body = {"name": "node7", "address": "192.0.2.7", "port": 2222}
    headers = {"Idempotency-Key": "k"}
    made = asking.send("post", "/hosts/", body, **headers)
    assert made.status_code == 201, made.content
    host = Host.objects.get()
    assert made.json()["key"] == made.json()["host"]["key"] == host.key
    assert made["Location"] == made.json()["url"] == f"/api/v1/hosts/{host.key}"
    assert "| sh" in made.json()["line"]
    assert asking.send("post", "/hosts/", body, **headers).json()["line"] is None
    again = asking.send("post", f"/hosts/{host.key}/enrolment")
    assert again.json()["line"] not in ("", made.json()["line"])
    Host.objects.update(state="unverified", host_key_seen=HOST_KEY)
    problem(asking.send("post", "/hosts/", body), 409, "already_exists")


def test_only_the_fingerprint_of_the_console_is_accepted(asking: Program) -> None:
    host = make.host(state="unverified", host_key="", host_key_seen=HOST_KEY)
    path = f"/hosts/{host.key}"
    assert asking.get(path).json()["fingerprints"] == {
        "accepted": None,
        "waiting": trust.key_fingerprint(HOST_KEY),
    }
    refused = asking.send("post", f"{path}/accept", {"fingerprint": "SHA256:nonsense"})
    assert refused.status_code == 422
    body = {"fingerprint": trust.key_fingerprint(HOST_KEY)}
    assert asking.send("post", f"{path}/accept", body).status_code == 204
    host.refresh_from_db()
    assert host.host_key == HOST_KEY


def test_a_host_is_in_maintenance_until_a_time_that_comes(asking: Program) -> None:
    path = f"/hosts/{scene().host.key}/maintenance"
    problem(asking.get(path), 404, "not_found")
    until = timezone.now() + timedelta(hours=2)
    for at in (timezone.now() - timedelta(hours=1), timezone.now() + timedelta(days=400)):
        refused = asking.send("put", path, {"reason": "disks", "until": at.isoformat()})
        assert problem(refused, 422, "invalid")["errors"][0]["pointer"] == "/until"
    begun = asking.send("put", path, {"reason": "disks", "until": until.isoformat()})
    assert begun.json()["reason"] == "disks"
    assert asking.get(path).json() == begun.json()
    assert asking.send("delete", path).status_code == 204
    problem(asking.get(path), 404, "not_found")


def test_a_hosts_window_and_limits_are_set_by_admins(asking: Program) -> None:
    host = scene().host
    path = f"/hosts/{host.key}"
    body = {
        "window": {"start": "22:00", "end": "04:00"},
        "dirty_limit_percent": 20,
        "slow_read_ms": 5,
        "busy_percent": 80,
        "leaves_writeback": True,
        "port": 2222,
    }
    shown = asking.send("patch", path, body).json()
    assert {name: shown[name] for name in body} == body
    assert asking.send("patch", path, {"window": None}).json()["window"] is None
    same = {"window": {"start": "22:00", "end": "22:00"}}
    problem(asking.send("patch", path, same), 422, "invalid")
    operator = staff("operator")
    problem(operator.send("patch", path, body), 403, "forbidden")
    assert operator.send("patch", path, {"site": "Graz"}).status_code == 200


def test_all_jobs_are_stopped_and_let_go_on_by_admins(asking: Program) -> None:
    problem(asking.get("/halt"), 404, "not_found")
    operator = staff("operator")
    problem(operator.send("put", "/halt", {"reason": "smoke"}), 403, "forbidden")
    stopped = asking.send("put", "/halt", {"reason": "smoke"}).json()
    assert (stopped["reason"], stopped["actor"]) == ("smoke", asking.user.email)
    problem(operator.send("delete", "/halt"), 403, "forbidden")
    assert asking.send("delete", "/halt").status_code == 204
    assert not Halt.objects.exists()


def test_missing_volumes_are_settled_but_for_those_that_a_job_holds(asking: Program) -> None:
    there = scene()
    Placement.objects.update(missing_since=timezone.now())
    held = job(there)
    path = f"/hosts/{there.host.key}/missing"
    [listed] = asking.get(path).json()["items"]
    assert listed["volume"]["key"] == there.volume.key
    assert asking.send("delete", path).json() == {"count": 0}
    held.delete()
    assert asking.send("delete", path).json() == {"count": 1}
    assert asking.get(path).json()["items"] == []


def test_the_inventory_has_the_serial_number_that_an_ssd_is_added_by(asking: Program) -> None:
    there = scene()
    shown = asking.get(f"/hosts/{there.host.key}/inventory").json()
    assert {disk["name"] for disk in shown["disks"]} == {d.name for d in there.facts.disks}
    assert all("serial" in disk for disk in shown["disks"])
    [lv] = shown["logical_volumes"]
    assert (lv["uuid"], lv["volume"]["key"]) == (there.lv.uuid, there.volume.key)
    assert shown["volume_groups"][0]["name"] == "vg0"
    problem(asking.get(f"/hosts/{make.host().key}/inventory"), 409, "not_read")


def test_advice_for_a_host_without_figures_suggests_nothing(asking: Program) -> None:
    shown = asking.get(f"/hosts/{scene().host.key}/advice").json()
    assert shown["suggestions"] == []
    assert (shown["seconds"], shown["days"], shown["is_enough"]) == (0, 0, False)


def test_advice_says_by_which_time_it_judges(asking: Program) -> None:
    host, _facts, volumes = known(make.lv("web"))
    end = timezone.now()
    sampled_days(volumes["web"], 4, lambda _ts: 1, end=end)
    shown = asking.get(f"/hosts/{host.key}/advice").json()
    start = datetime.fromisoformat(shown["start"])
    assert timedelta(days=13) < datetime.fromisoformat(shown["end"]) - start <= timedelta(days=14)
    assert (shown["days"], shown["is_enough"]) == (4, True)
    assert [each["share"] for each in shown["recent"]] == [1.0]
    (suggestion,) = shown["suggestions"]
    assert (suggestion["days"], suggestion["is_enough"]) == (4, True)
    assert suggestion["waited_seconds_per_day"] == pytest.approx(86_400)


def test_a_host_is_read_again(asking: Program) -> None:
    assert asking.send("post", f"/hosts/{scene().host.key}/refresh").status_code == 202

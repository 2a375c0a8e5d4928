"""Programs of staff read the time line of a host and the faults of its kernel, and accept one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from storage.discovery.ingest import apply_facts
from storage.inventory.facts import KernelIdentity
from storage.models import Host, HostChange
from tests import make
from tests.panel.api.asking import staff

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CODE = "bcache_bvec_5_15"


def changed(host: Host, *kinds: str) -> None:
    for n, kind in enumerate(kinds):
        HostChange.objects.create(host=host, kind=kind, at=NOW + timedelta(minutes=n), after=str(n))


def on_kernel(release: str) -> Host:
    host = make.host()
    facts = make.facts(kernel=KernelIdentity(release))
    apply_facts(host, make.inventory(facts), timezone.now())
    return host


def test_the_time_line_comes_newest_first_in_pages() -> None:
    host = make.host()
    changed(host, "boot", "kernel", "lvm")
    changed(make.host(), "agent")
    first = staff().get(f"/hosts/{host.key}/events?limit=2").json()
    assert [each["kind"] for each in first["items"]] == ["lvm", "kernel"]
    assert first["items"][0] == {
        "number": HostChange.objects.get(kind="lvm").pk,
        "at": "2026-03-01T12:02:00Z", "kind": "lvm", "subject": "", "before": "", "after": "2",
        "count": 1, "effect": None, "acceptance": None,
    }  # fmt: skip
    rest = staff().get(f"/hosts/{host.key}/events?limit=2&cursor={first['next_cursor']}").json()
    assert ([each["kind"] for each in rest["items"]], rest["next_cursor"]) == (["boot"], None)


def test_one_kind_of_change_is_asked_for() -> None:
    host = make.host()
    changed(host, "boot", "kernel", "boot")
    listed = staff().get(f"/hosts/{host.key}/events?kind=boot").json()["items"]
    assert [each["kind"] for each in listed] == ["boot", "boot"]
    assert staff().get(f"/hosts/{host.key}/events?kind=weather").status_code == 400


def test_faults_come_with_reason_and_link_what_refuses_first() -> None:
    listed = staff().get(f"/hosts/{on_kernel('5.15.2').key}/faults").json()["items"]
    first = listed[0]
    assert (first["code"], first["effect"], first["technology"]) == (CODE, "data_loss", "bcache")
    assert first["refusing"] is True and first["sure"] is True and first["acceptance"] is None
    assert first["link"] == "https://github.com/NixOS/nixpkgs/issues/146384"
    assert [each["refusing"] for each in listed[1:]] == [False] * (len(listed) - 1)
    assert staff().get(f"/hosts/{make.host().key}/faults").json() == {"items": []}


def test_an_admin_accepts_a_fault_and_takes_it_back() -> None:
    path = f"/hosts/{on_kernel('5.15.2').key}/faults/{CODE}/acceptance"
    body = {"reason": "a test machine", "confirm_code": CODE}
    accepted = staff().send("put", path, body)
    assert accepted.status_code == 200
    first = accepted.json()["items"][0]
    assert first["refusing"] is False and first["acceptance"]["reason"] == "a test machine"
    assert staff().send("delete", path).json()["items"][0]["refusing"] is True
    assert staff().send("delete", path).status_code == 422


@pytest.mark.parametrize(
    "body", [{"reason": "why", "confirm_code": "bcache_gcc9"}, {"confirm_code": CODE}, {}]
)
def test_a_code_that_does_not_match_or_no_reason_accepts_nothing(body: dict[str, str]) -> None:
    host = on_kernel("5.15.2")
    path = f"/hosts/{host.key}/faults/{CODE}/acceptance"
    assert staff().send("put", path, body).status_code == 422
    host.refresh_from_db()
    assert host.accepted_faults == {}

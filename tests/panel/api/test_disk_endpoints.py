"""Programs of staff read the disks of a host, and enter what disks do not say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from storage.health.smart_records import record_smart
from storage.models import Host, PhysicalDisk
from tests import make
from tests.panel.api.asking import staff
from tests.smart_disks import ata, attribute
from tests.storage.health.test_smart_records import disk, reply

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def host_with_a_dom(pending: int = 0) -> Host:
    host = make.host()
    rows = [
        attribute(197, "Current_Pending_Sector", pending),
        attribute(241, "Total_LBAs_Written", 50_000),
    ]
    record_smart(host, reply(disk(ata("SuperMicro SSD", "D1", rows))), "b", NOW)
    return host


def test_the_disks_of_a_host_are_listed() -> None:
    host = host_with_a_dom()
    found = staff().get(f"/hosts/{host.key}/disks").json()
    assert found["installed"] is True and found["asked_at"] is not None
    [item] = found["items"]
    assert (item["model"], item["serial"], item["state"]) == ("SuperMicro SSD", "D1", "read")
    assert item["written"]["bytes"] is None and item["written"]["standing"] == "unknown"
    assert (item["error_counts"], item["new_errors"], item["findings"]) == ({"pending": 0}, {}, [])


def test_a_host_that_was_never_asked_has_none() -> None:
    found = staff().get(f"/hosts/{make.host().key}/disks").json()
    nothing = {"asked_at": None, "installed": False, "message": ""}
    assert found == {**nothing, "items": [], "next_cursor": None}


def test_an_admin_enters_the_unit_and_the_endurance() -> None:
    host = host_with_a_dom()
    path = f"/hosts/{host.key}/disks/{PhysicalDisk.objects.get().key}"
    changed = staff().send("patch", path, {"unit_bytes": 1 << 20, "rated_bytes": 10**12})
    assert changed.status_code == 200
    assert changed.json()["written"]["bytes"] == 50_000 << 20
    assert changed.json()["written"]["standing"] == "operator"
    assert changed.json()["rated_bytes"] == 10**12
    forgotten = staff().send("patch", path, {"unit_bytes": None})
    assert forgotten.json()["written"]["bytes"] is None
    assert forgotten.json()["rated_bytes"] == 10**12
    assert staff().send("patch", path, {"unit_bytes": 0}).status_code == 422
    assert staff("operator").send("patch", path, {"unit_bytes": 1}).status_code == 403


def test_an_admin_accepts_the_errors_of_a_disk() -> None:
    host = host_with_a_dom()
    rows = [attribute(197, "Current_Pending_Sector", 3)]
    later = NOW.replace(hour=13)
    record_smart(host, reply(disk(ata("SuperMicro SSD", "D1", rows))), "b", later)
    [item] = staff().get(f"/hosts/{host.key}/disks").json()["items"]
    assert item["new_errors"] == {"pending": 3}
    assert [each["code"] for each in item["findings"]] == ["pending_rose"]
    path = f"/hosts/{host.key}/disks/{item['key']}"
    assert item["accepted"] is None
    assert staff().send("patch", path, {"accept_errors": ""}).status_code == 422
    accepted = staff().send("patch", path, {"accept_errors": "A power cut"}).json()
    assert (accepted["error_counts"], accepted["new_errors"], accepted["findings"]) == (
        {"pending": 3}, {}, [],
    )  # fmt: skip
    assert accepted["accepted"]["reason"] == "A power cut"
    again = staff().send("patch", path, {"undo": accepted["last_change"]}).json()
    assert (again["new_errors"], again["accepted"]) == ({"pending": 3}, None)
    assert staff().send("patch", path, {"undo": accepted["last_change"]}).status_code == 422
    assert staff().get(path).json() == again


def test_an_admin_accepts_that_a_disk_is_gone_and_takes_it_back() -> None:
    host = host_with_a_dom()
    record_smart(host, reply(disk(ata("M", "S2", []), "sdb")), "b", NOW.replace(hour=13))
    item = staff().get(f"/hosts/{host.key}/disks").json()["items"][-1]
    assert (item["is_gone"], item["gone_since"]) == (True, "2026-03-01T13:00:00Z")
    assert [each["code"] for each in item["findings"]] == ["disk_vanished"]
    path = f"/hosts/{host.key}/disks/{item['key']}"
    accepted = staff().send("patch", path, {"accept_errors": "Sold"}).json()
    assert (accepted["findings"], accepted["accepted"]["reason"]) == ([], "Sold")
    again = staff().send("patch", path, {"undo": accepted["last_change"]}).json()
    assert [each["code"] for each in again["findings"]] == ["disk_vanished"]


def test_a_disk_of_another_host_is_none_of_this_one() -> None:
    host_with_a_dom()
    path = f"/hosts/{make.host().key}/disks/{PhysicalDisk.objects.get().key}"
    assert staff().send("patch", path, {"unit_bytes": 1}).status_code == 404

"""What people decide about a disk is recorded, and the last decision can be taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pghistory
import pytest

from storage.health import smart_records
from storage.health.smart_records import record_smart
from storage.models import Host, PhysicalDisk
from storage.planner import Refused
from tests import make
from tests.smart_disks import nvme
from tests.storage.health.test_smart_records import NOW, disk, dom, hdd, one, reply

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


def host_with_pending(*counts: int) -> Host:
    host = make.host()
    for hours, count in enumerate(counts):
        record_smart(host, reply(disk(hdd(count))), "b", NOW + timedelta(hours=hours))
    return host


def codes(host: Host) -> list[str]:
    return [finding.code for finding in one(host, LATER).findings]


def stored_codes() -> list[str]:
    return [each["code"] for each in PhysicalDisk.objects.get().findings]


def accept(reason: str = "known", who: str = "ada@example.com") -> None:
    with pghistory.context(actor=who):
        smart_records.accept_errors(PhysicalDisk.objects.get(), who, reason, LATER)


def undo() -> None:
    found = PhysicalDisk.objects.get()
    last = smart_records.last_decision(found)
    assert last is not None
    with pghistory.context(actor="bob@example.com"):
        smart_records.undo_decision(found, last.pgh_id, LATER)


def test_accepted_errors_are_known_and_it_is_known_who_accepted_them() -> None:
    host = host_with_pending(0, 3)
    assert codes(host) == stored_codes() == ["pending_rose"]
    accept("Sectors of a power cut")
    assert codes(host) == stored_codes() == []
    found = PhysicalDisk.objects.get()
    assert (found.accepted_by, found.accepted_reason, found.accepted_at) == (
        "ada@example.com", "Sectors of a power cut", LATER,
    )  # fmt: skip


def test_an_acceptance_that_is_taken_back_reports_the_errors_again_and_once_more_not() -> None:
    host = host_with_pending(0, 3)
    accept()
    undo()
    found = PhysicalDisk.objects.get()
    assert (codes(host), stored_codes(), found.accepted_by) == (
        ["pending_rose"], ["pending_rose"], "",
    )  # fmt: skip
    undo()
    assert (codes(host), PhysicalDisk.objects.get().accepted_by) == ([], "ada@example.com")


def test_what_fell_meanwhile_is_not_forgotten_when_an_acceptance_is_taken_back() -> None:
    host = host_with_pending(2, 5)
    accept()
    record_smart(host, reply(disk(hdd(1))), "b", LATER)
    undo()
    assert PhysicalDisk.objects.get().baseline == {"pending": 1}


def test_an_entered_unit_is_taken_back_to_what_was_entered_before() -> None:
    host = make.host()
    record_smart(host, reply(disk(dom(50_000))), "b", NOW)
    found = PhysicalDisk.objects.get()
    with pghistory.context(actor="ada@example.com"):
        smart_records.enter(found, NOW, entered_unit_bytes=512)
        smart_records.enter(found, NOW, entered_unit_bytes=1 << 20, entered_rated_bytes=10**14)
    undo()
    found.refresh_from_db()
    assert (found.entered_unit_bytes, found.entered_rated_bytes) == (512, None)


def test_what_changed_since_a_person_looked_is_not_taken_back() -> None:
    host_with_pending(0, 3)
    accept()
    found = PhysicalDisk.objects.get()
    last = smart_records.last_decision(found)
    assert last is not None
    with pghistory.context(actor="ada@example.com"):
        smart_records.enter(found, NOW, entered_rated_bytes=1)
    with pytest.raises(Refused, match="changed again"):
        smart_records.undo_decision(found, last.pgh_id, LATER)


def test_readings_are_no_decision() -> None:
    host_with_pending(0, 3, 1)
    assert smart_records.last_decision(PhysicalDisk.objects.get()) is None


def test_a_disk_that_reported_nothing_yet_has_no_errors_to_accept() -> None:
    record_smart(make.host(), reply(disk(None, state="standby")), "b", NOW)
    with pytest.raises(Refused, match="have not been read"):
        accept()


def test_a_disk_that_is_gone_is_accepted_until_it_comes_back_and_goes_again() -> None:
    host, stays, hours = make.host(), disk(nvme("M", "N1"), "nvme0"), iter(range(9))

    def read(*listed: dict[str, Any]) -> list[str]:
        record_smart(host, reply(*listed, stays), "b", NOW + timedelta(hours=next(hours)))
        return [each["code"] for each in gone().findings]

    def gone() -> PhysicalDisk:
        return PhysicalDisk.objects.get(name="sda")

    def accept_at(hour: int) -> list[str]:
        with pghistory.context(actor="ada@example.com"):
            at = NOW + timedelta(hours=hour)
            smart_records.accept_errors(gone(), "ada@example.com", "in the shredder", at)
        return [each["code"] for each in gone().findings]

    assert read(disk(hdd(0))) == []
    assert read(disk(hdd(2))) == ["pending_rose"]
    assert accept_at(1) == []
    assert read() == ["disk_vanished"], "known errors are no known loss"
    assert accept_at(3) == []
    last = smart_records.last_decision(gone())
    assert last is not None
    smart_records.undo_decision(gone(), last.pgh_id, LATER)
    assert [each["code"] for each in gone().findings] == ["disk_vanished"]
    assert accept_at(3) == read() == []
    assert read(disk(hdd(2))) == []
    assert read() == ["disk_vanished"]

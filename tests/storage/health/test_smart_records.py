"""The disks of a host in the database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage import row_security
from storage.agent.kernel import smartctl
from storage.health import smart_records
from storage.health.smart_records import DiskCondition, conditions_of, record_smart
from storage.host_data import BadHostData
from storage.inventory.facts import ArrayMember
from storage.models import DiskReading, DiskRound, Host, PhysicalDisk
from tests import make
from tests.scene import scene
from tests.smart_disks import ata, attribute, nvme

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
GIB = 1 << 30
TB = 10**12


def disk(
    document: Mapping[str, Any] | None,
    name: str = "sda",
    *,
    state: str = "read",
    kind: str = "",
    sectors: int | None = 0,
) -> dict[str, Any]:
    return {
        "device": f"/dev/{name}",
        "type": kind,
        "name": name,
        "state": state,
        "message": "" if document else "why",
        "exit_status": 0,
        "sectors_written": sectors,
        "health": None if document is None else smartctl.health(document),
    }


def reply(*disks: Mapping[str, Any], message: str = "", installed: bool = True) -> dict[str, Any]:
    listed = list(disks)
    return {"installed": installed, "version": "7.3", "message": message, "disks": listed}


def one(host: Host, now: datetime = NOW) -> DiskCondition:
    (condition,) = conditions_of(host, now)
    return condition


def dom(raw: int) -> dict[str, Any]:
    return ata("SuperMicro SSD", "D1", [attribute(241, "Total_LBAs_Written", raw)])


def hdd(pending: int) -> dict[str, Any]:
    rows = [attribute(197, "Current_Pending_Sector", pending)]
    return ata("ST8000NM000A-2KE101", "H1", rows, rotation_rpm=7200)


def test_a_round_is_stored() -> None:
    host = make.host()
    count = record_smart(
        host, reply(disk(nvme("M", "N1", units_written=5, percentage_used=7))), "b", NOW
    )
    assert count == 1
    condition = one(host)
    assert (condition.disk.identity, condition.disk.name) == ("M N1", "sda")
    assert condition.written is not None and condition.written.written_bytes == 5 * 512_000
    assert condition.wear is not None and condition.wear.percent == 7
    assert condition.findings == () and not condition.is_gone
    reading = DiskReading.objects.get()
    assert (reading.counter, reading.written_raw, reading.used_percent) == (
        "NVMe data units", 5, 7,
    )  # fmt: skip


def test_a_pending_sector_is_a_finding_at_once_until_it_is_gone_or_accepted() -> None:
    host = make.host()
    for hours, pending in enumerate((8, 8, 9)):
        record_smart(host, reply(disk(hdd(pending))), "b", NOW + hours * HOUR)
        assert [each.code for each in one(host).findings] == ["pending_rose"], pending
    smart_records.accept_errors(PhysicalDisk.objects.get(), "ada", "known", NOW)
    assert one(host).findings == ()
    record_smart(host, reply(disk(hdd(0))), "b", NOW + 4 * HOUR)
    record_smart(host, reply(disk(hdd(1))), "b", NOW + 5 * HOUR)
    assert one(host).findings[0].message.startswith("1 pending sector.")


def test_a_finding_is_kept_with_its_beginning_while_it_lasts() -> None:
    host = make.host()
    for hours, pending in enumerate((8, 9, 10)):
        record_smart(host, reply(disk(hdd(pending))), "b", NOW + hours * HOUR)
    [kept] = PhysicalDisk.objects.get().findings
    assert (kept["code"], kept["since"]) == ("pending_rose", NOW.isoformat())
    assert kept["message"].startswith("10 pending sectors.") and kept["correction"]
    smart_records.accept_errors(PhysicalDisk.objects.get(), "ada", "known", NOW)
    assert PhysicalDisk.objects.get().findings == []
    record_smart(host, reply(disk(hdd(11))), "b", NOW + 4 * HOUR)
    [again] = PhysicalDisk.objects.get().findings
    assert again["since"] == (NOW + 4 * HOUR).isoformat()
    record_smart(host, reply(disk(hdd(0))), "b", NOW + 5 * HOUR)
    assert PhysicalDisk.objects.get().findings == []


def test_the_unit_is_measured_over_the_rounds_and_holds_for_what_came_before() -> None:
    host = make.host()
    for number in range(11):
        total = number * 8 * GIB
        data = reply(disk(dom(50_000 + total // 2**20), sectors=total // 512))
        record_smart(host, data, "boot", NOW + number * timedelta(days=1))
        now = NOW + number * timedelta(days=1)
        written = one(host, now).written
        assert written is not None
        assert (written.standing == "measured") == (number >= 8), number
    PhysicalDisk.objects.update(entered_rated_bytes=10**12)
    last = one(host, now)
    assert last.written is not None and last.written.written_bytes == (50_000 + 80 * 1024) << 20
    assert last.worn_out is not None and last.worn_out.at is not None
    assert "If 8 GiB a day" in last.worn_out.assumption


def test_a_restart_of_the_host_does_not_count_as_written() -> None:
    host = make.host()
    for number in range(20):
        data = reply(disk(dom(number * 2**20), sectors=2**40))
        record_smart(host, data, f"boot {number}", NOW + number * HOUR)
    written = one(host).written
    assert written is not None and written.standing == "unknown"


def test_a_disk_that_sleeps_or_hangs_is_shown_as_it_was() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(0))), "b", NOW)
    record_smart(host, reply(disk(None, state="standby")), "b", NOW + HOUR)
    condition = one(host)
    assert (condition.disk.state, condition.disk.read_at) == ("standby", NOW)
    assert condition.health is not None and condition.findings == ()
    record_smart(host, reply(disk(None, state="hung")), "b", NOW + 2 * HOUR)
    assert [each.code for each in one(host).findings] == ["disk_hung"]


def test_a_disk_that_never_said_who_it_is_stands_by_its_place_until_it_does() -> None:
    host = make.host()
    record_smart(host, reply(disk(None, state="hung")), "b", NOW)
    assert PhysicalDisk.objects.get().identity == "@/dev/sda"
    assert [each.code for each in one(host).findings] == ["disk_hung"]
    record_smart(host, reply(disk(hdd(3))), "b", NOW + HOUR)
    assert one(host).disk.identity == "ST8000NM000A-2KE101 H1"


def other() -> dict[str, Any]:
    """A disk that stays."""
    return disk(nvme("M", "N1"), "nvme0")


def found_of(host: Host, name: str = "sda") -> list[str]:
    (condition,) = [each for each in conditions_of(host, NOW) if each.disk.name == name]
    return [finding.code for finding in condition.findings]


def test_a_disk_that_is_gone_is_a_finding_and_keeps_those_that_it_had() -> None:
    host = make.host()
    for hours, pending in enumerate((1, 2)):
        record_smart(host, reply(disk(hdd(pending)), other()), "b", NOW + hours * HOUR)
    record_smart(host, reply(other()), "b", NOW + 2 * HOUR)
    assert [(each.disk.name, each.is_gone) for each in conditions_of(host, NOW)] == [
        ("nvme0", False), ("sda", True),
    ]  # fmt: skip
    assert found_of(host) == ["disk_vanished", "pending_rose"]
    record_smart(host, reply(other()), "b", NOW + 3 * HOUR)
    kept = PhysicalDisk.objects.get(name="sda").findings
    assert [each["since"] for each in kept] == [
        (NOW + hours * HOUR).isoformat() for hours in (2, 0)
    ]
    record_smart(host, reply(disk(hdd(2)), other()), "b", NOW + 4 * HOUR)
    assert found_of(host) == ["pending_rose"]


def test_a_disk_that_only_has_another_name_is_not_gone() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(1)), other()), "b", NOW)
    record_smart(host, reply(disk(hdd(1), "sdb"), other()), "b", NOW + HOUR)
    renamed = ata("Seagate ST8000NM000A", "H1", [], rotation_rpm=7200)
    record_smart(host, reply(disk(renamed, "sdb"), other()), "b", NOW + 2 * HOUR)
    gone = PhysicalDisk.objects.get(identity="ST8000NM000A-2KE101 H1")
    assert (gone.gone_since, gone.findings) == (None, [])


def test_a_disk_on_usb_may_go() -> None:
    on_usb = (make.disk("sda", transport="usb"),)
    host = scene(make.lv(), disks=on_usb, boot_id="b").host
    record_smart(host, reply(disk(hdd(0)), other()), "b", NOW)
    record_smart(host, reply(other()), "b", NOW + HOUR)
    assert found_of(host) == []


def test_a_disk_that_only_had_the_name_of_one_on_usb_may_not_go() -> None:
    on_usb = (make.disk("sda", transport="usb"),)
    host = scene(make.lv(), disks=on_usb, boot_id="b").host
    record_smart(host, reply(disk(hdd(0)), other()), "next start", NOW)
    record_smart(host, reply(other()), "next start", NOW + HOUR)
    assert found_of(host) == ["disk_vanished"]


def test_a_disk_that_was_taken_out_and_is_in_use_again_may_not_go() -> None:
    member = make.array(members=(ArrayMember("sda1", "in_sync"),))
    host = scene(make.lv(), disks=(make.disk("sda"),), arrays=(member,), boot_id="b").host
    record_smart(host, reply(disk(hdd(0)), other()), "b", NOW)
    PhysicalDisk.objects.filter(name="sda").update(may_leave=True)
    record_smart(host, reply(disk(hdd(0)), other()), "b", NOW + HOUR)
    record_smart(host, reply(other()), "b", NOW + 2 * HOUR)
    assert found_of(host) == ["disk_vanished"]


def test_a_disk_that_was_gone_before_this_was_noted_is_no_news() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(1)), other()), "b", NOW)
    DiskRound.objects.update(complete_at=NOW + HOUR)
    record_smart(host, reply(other()), "b", NOW + 2 * HOUR)
    assert found_of(host) == []


def test_a_scan_that_finds_no_disk_any_more_misses_none() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(0))), "b", NOW)
    record_smart(host, reply(), "b", NOW + HOUR)
    assert not one(host).is_gone and found_of(host) == []


def test_a_disk_that_a_job_took_out_of_its_array_may_go_and_one_in_use_may_not() -> None:
    host = make.host()
    both = (make.disk("sda", serial="H1"), make.disk("sdb", serial="H2"))
    facts = make.facts(disks=both, arrays=(make.array(members=(ArrayMember("sdb1", "in_sync"),)),))
    second = ata("ST8000NM000A-2KE101", "H2", [], rotation_rpm=7200)
    record_smart(host, reply(disk(hdd(1)), disk(second, "sdb"), other()), "b", NOW)
    for member in ("sda1", "sdb1"):
        smart_records.take_out(host, facts, member)
    record_smart(host, reply(other()), "b", NOW + HOUR)
    assert (found_of(host), found_of(host, "sdb")) == ([], ["disk_vanished"])


def test_a_round_that_missed_some_disks_calls_none_gone() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(1))), "b", NOW)
    record_smart(host, reply(message="There was no time for 1 disks."), "b", NOW + HOUR)
    assert not one(host).is_gone
    smart_records.record_failure(host, "no answer", NOW + 2 * HOUR)
    assert not one(host).is_gone
    last = DiskRound.objects.get()
    assert (last.tried_at, last.answered_at) == (NOW + 2 * HOUR, NOW + HOUR)
    assert (last.complete_at, last.message) == (NOW, "no answer")


def test_a_disk_that_a_round_had_no_time_for_is_there_as_it_was_last() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(1)), other()), "b", NOW)
    record_smart(host, reply(disk(None, state="unasked"), other()), "b", NOW + HOUR)
    known = PhysicalDisk.objects.get(name="sda")
    assert (known.state, known.asked_at, known.read_at) == ("read", NOW + HOUR, NOW)
    assert DiskRound.objects.get().complete_at == NOW + HOUR
    record_smart(host, reply(disk(None, "sdc", state="unasked"), other()), "b", NOW + 2 * HOUR)
    assert PhysicalDisk.objects.get(name="sdc").state == "unasked"


def test_a_disk_in_another_slot_is_the_same_and_another_in_its_slot_is_not() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(5))), "b", NOW)
    record_smart(host, reply(disk(nvme("M", "N2")), disk(hdd(6), "sdb")), "b", NOW + HOUR)
    moved = PhysicalDisk.objects.get(name="sdb")
    assert moved.baseline == {"pending": 5}
    assert PhysicalDisk.objects.count() == 2


def test_a_disk_that_sleeps_under_the_former_name_of_another_does_not_stand_for_it() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(5)), other()), "b", NOW)
    record_smart(host, reply(disk(None, state="standby"), disk(hdd(9), "sdc")), "next", NOW + HOUR)
    moved = PhysicalDisk.objects.get(name="sdc")
    assert (moved.identity, moved.state) == ("ST8000NM000A-2KE101 H1", "read")
    assert [each["code"] for each in moved.findings] == ["pending_rose"]


def test_two_paths_to_one_disk_are_one() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(5)), disk(hdd(5), "sdb")), "b", NOW)
    assert (PhysicalDisk.objects.count(), DiskReading.objects.count()) == (1, 1)


def test_a_host_without_smartctl_is_noted() -> None:
    host = make.host()
    assert record_smart(host, reply(installed=False), "b", NOW) == 0
    assert DiskRound.objects.get().installed is False
    assert conditions_of(host, NOW) == ()


def test_no_figure_of_a_host_spoils_the_next_round_or_the_page() -> None:
    host = make.host()
    most = 2**63 - 1
    for number, (raw, sectors) in enumerate(((0, 0), (most, 2**53), (0, 0), (most, 2**53)) * 2):
        data = reply(disk(dom(raw), sectors=sectors))
        record_smart(host, data, "b", NOW + number * HOUR)
        assert one(host, NOW + number * HOUR).health is not None
    record_smart(host, reply(disk(dom(1), sectors=2**63 - 1)), "b", NOW + 9 * HOUR)
    assert [each.code for each in one(host, NOW + 9 * HOUR).findings] == ["disk_unread"]


def test_an_odd_reply_changes_nothing() -> None:
    host = make.host()
    with pytest.raises(BadHostData):
        record_smart(host, {"disks": 3}, "b", NOW)
    assert not DiskRound.objects.exists()


def test_old_readings_stay_as_one_a_day() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(0))), "b", NOW)
    known = PhysicalDisk.objects.get()
    DiskReading.objects.all().delete()
    for days, hour in ((40, 1), (40, 5), (40, 9), (41, 2), (10, 1), (10, 2), (3000, 1)):
        at = (NOW - timedelta(days=days)).replace(hour=hour)
        DiskReading.objects.create(disk=known, at=at)
    smart_records.prune_readings(NOW)
    kept = [(NOW - each.at).days for each in DiskReading.objects.order_by("-at")]
    assert kept == [10, 10, 40, 41]
    assert DiskReading.objects.order_by("-at")[2].at.hour == 1


def test_customers_see_no_disk() -> None:
    host = make.host()
    record_smart(host, reply(disk(hdd(0))), "b", NOW)
    with row_security.scope("12345"):
        for model in (PhysicalDisk, DiskReading, DiskRound):
            assert not model.objects.exists()
    assert PhysicalDisk.objects.exists()


def test_few_queries_read_a_host_of_many_disks(django_assert_max_num_queries: Any) -> None:
    host = make.host()
    listed = [disk(ata("M", f"S{number}", []), f"sd{number}") for number in range(30)]
    record_smart(host, reply(*listed), "b", NOW)
    with django_assert_max_num_queries(2):
        assert len(conditions_of(host, NOW)) == 30


def test_a_host_that_claims_other_disks_each_time_does_not_fill_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(smart_records, "MOST_DISKS", 3)
    host, other = make.host(), make.host()
    record_smart(other, reply(disk(nvme("M", "other"))), "b", NOW)
    for n in range(5):
        claimed = [disk(nvme("M", f"N{n}{each}"), f"sd{each}") for each in "ab"]
        record_smart(host, reply(*claimed), "b", NOW + n * HOUR)
    kept = PhysicalDisk.objects.filter(host=host).order_by("identity")
    assert [each.identity for each in kept] == ["M N3b", "M N4a", "M N4b"]
    assert PhysicalDisk.objects.filter(host=other).count() == 1

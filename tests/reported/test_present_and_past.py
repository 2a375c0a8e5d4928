"""What is so now is reported until it is over; what once was is reported where it rises, and no
longer than it lasts."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.kernel.disks import array
from storage.health.smart_findings import baseline_after, error_counts, findings
from storage.health.smart_reading import DiskAnswer
from tests.reported.host import ReportedHost
from tests.reported.test_disk_answers import LONG, SHORT, log_of
from tests.reported.test_md_states import IN_SYNC, host
from tests.smart_disks import ata, attribute, nvme, sas, statistic
from tests.storage.health.test_smart_findings import NOW, codes
from tests.storage.health.test_smart_written import health_of


def first_reading(document: Any) -> list[str]:
    """The findings of a disk that was never read before."""
    health = health_of(document)
    counts = error_counts(health)
    answer = DiskAnswer("/dev/sda", "", "sda", "read", health=health)
    return [each.code for each in findings(answer, baseline_after({}, counts), None, None, NOW)]


# --- Arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "action", "is_reported"),
    [
        ("check", "idle", True),
        ("repair", "idle", False),
        ("repair", "frozen", False),
        ("resync", "idle", True),
        ("dreaming", "idle", True),
        (None, "idle", True),
        ("check", "check", False),
        ("repair", "repair", False),
    ],
)
def test_copies_that_a_repair_made_equal_do_not_differ_any_more(
    last: str | None, action: str, is_reported: bool
) -> None:
    seen = host(
        {"name": "md0", "members": IN_SYNC, "mismatch_cnt": "128", "sync_action": action,
         "last_sync_action": last}
    )  # fmt: skip
    assert ("array_mismatch" in seen.codes) is is_reported


def test_an_array_that_never_compared_its_copies_says_nothing_of_them() -> None:
    machine: Any = ReportedHost(
        disks=[{"name": "sda"}],
        arrays=[{"name": "md0", "mismatch_cnt": None, "last_sync_action": "repair"}],
    )
    assert array(machine, "md0")["mismatch_sectors"] is None


def test_a_member_that_failed_and_was_replaced_is_reported_at_its_disk_alone() -> None:
    there = {"sda1": ["in_sync", "0"], "sdb1": ["in_sync", "1"], "sdc1": ["faulty", "none"]}
    seen = host({"name": "md0", "members": there})
    assert seen.codes == []


# --- Counts of disks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # Now: until the sectors are rewritten.
        (ata("M", "S", [attribute(197, "Current_Pending_Sector", 5)]), ["pending_rose"]),
        (ata("M", "S", [attribute(197, "Total_Pending_Sectors", 5)]), ["pending_rose"]),
        (ata("M", "S", [], statistics=[statistic(3, 56, 2)]), ["pending_rose"]),
        (ata("M", "S", [attribute(198, "Offline_Uncorrectable", 1)]), ["uncorrectable_rose"]),
        (sas("M", "S", scsi_pending_defects={"count": 4}), ["pending_rose"]),
        # The past of a disk that was bought used.
        (ata("M", "S", [attribute(5, "Reallocated_Sector_Ct", 900)]), []),
        (ata("M", "S", [attribute(187, "Reported_Uncorrect", 12)]), []),
        (ata("M", "S", [attribute(199, "UDMA_CRC_Error_Count", 65535)]), []),
        (ata("M", "S", [], statistics=[statistic(4, 8, 7), statistic(6, 24, 8)]), []),
        (nvme("M", "S", media_errors=31), []),
        (sas("M", "S", defects=44, uncorrected=9), []),
        (sas("M", "S", scsi_pending_defects={"count": 0}), []),
        # Micron's: it goes up and down by itself, and no sector waits.
        (ata("CT1000MX500SSD1", "S", [attribute(197, "Current_Pending_ECC_Cnt", 1)]), []),
        (ata("M", "S", [attribute(5, "Reallocated_Sector_Ct", 1, failed="past")]), []),
    ],
)
def test_the_first_reading_of_a_disk_tells_what_is_so_now(
    document: dict[str, Any], expected: list[str]
) -> None:
    assert first_reading(document) == expected


def test_a_defect_of_a_sas_disk_that_waits_is_reported_until_a_person_accepts_it() -> None:
    waits = sas("M", "S", scsi_pending_defects={"count": 4})
    counts = error_counts(health_of(waits))
    assert counts["pending"] == 4
    answer = DiskAnswer("/dev/sda", "", "sda", "read", health=health_of(waits))
    assert [e.code for e in findings(answer, counts, None, None, NOW)] == ["pending_rose"]
    assert findings(answer, counts, None, None, NOW, accepted=counts) == ()
    mended = sas("M", "S", scsi_pending_defects={"count": 0})
    assert codes(mended, baseline_after(counts, error_counts(health_of(mended)))) == []


@pytest.mark.parametrize(
    ("rows", "is_failed"),
    [
        ([("Selective offline", True), (LONG, False)], True),
        ([("Offline", True), (LONG, False)], True),
        ([("Vendor (0x50)", True), (SHORT, False)], True),
        ([("Extended captive", True), (LONG, False)], False),
        ([("Background long", True), ("Background short", False)], False),
        ([(SHORT, True), (SHORT, False), (LONG, True)], True),
        ([("Extended offline", None), (LONG, True), (SHORT, False)], False),
    ],
)
def test_a_test_of_a_part_says_nothing_of_the_whole_that_failed(
    rows: list[tuple[str, bool | None]], is_failed: bool
) -> None:
    assert codes(log_of(*rows)) == (["self_test_failed"] if is_failed else [])

"""What is wrong with a disk: only increases of errors count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.health.host_problems import HealthFinding
from storage.health.smart_endurance import Wear, WearForecast
from storage.health.smart_findings import (
    baseline_after,
    error_counts,
    findings,
    increases,
)
from storage.health.smart_reading import DiskAnswer
from tests.smart_disks import ata, attribute, nvme, sas, statistic
from tests.storage.health.test_smart_written import health_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def answer(document: Any) -> DiskAnswer:
    return DiskAnswer("/dev/sda", "", "sda", "read", health=health_of(document))


def made(document: Any, baseline: dict[str, int] | None = None) -> tuple[HealthFinding, ...]:
    health = health_of(document)
    known = error_counts(health) if baseline is None else baseline
    return findings(answer(document), known, None, None, NOW)


def codes(document: Any, baseline: dict[str, int] | None = None) -> list[str]:
    return [finding.code for finding in made(document, baseline)]


HDD = [
    attribute(5, "Reallocated_Sector_Ct", 24, text="24 (2000 0)"),
    attribute(187, "Reported_Uncorrect", 2),
    attribute(197, "Current_Pending_Sector", 8),
    attribute(198, "Offline_Uncorrectable", 3),
    attribute(199, "UDMA_CRC_Error_Count", 77),
]
COUNTS = {"reallocated": 24, "pending": 8, "uncorrectable": 3, "reported": 2, "crc": 77}


def test_what_a_disk_had_at_first_is_no_finding_unless_it_is_so_now() -> None:
    hdd = ata("ST3500418AS", "S", HDD, rotation_rpm=7200)
    assert error_counts(health_of(hdd)) == COUNTS
    assert codes(hdd) == ["uncorrectable_rose", "pending_rose"]


@pytest.mark.parametrize(
    ("name", "severity"),
    [("reallocated", "warning"), ("pending", "warning"), ("uncorrectable", "error"),
     ("reported", "error"), ("crc", "warning")],
)  # fmt: skip
def test_one_more_is_a_finding(name: str, severity: str) -> None:
    hdd = ata("ST3500418AS", "S", HDD, rotation_rpm=7200)
    before = COUNTS | {name: COUNTS[name] - 1}
    (finding,) = findings(answer(hdd), before, None, None, NOW, accepted=before)
    assert (finding.code, finding.severity) == (f"{name}_rose", severity)
    assert finding.message.startswith("1 ") and f"{COUNTS[name]} in all" in finding.message
    assert finding.correction


def test_a_count_that_fell_may_not_rise_again_unseen() -> None:
    baseline = baseline_after({"pending": 8}, {"pending": 0, "crc": 4})
    assert baseline == {"pending": 0, "crc": 4}
    assert increases(baseline, {"pending": 1, "crc": 4}) == {"pending": 1}
    assert baseline_after(baseline, {"pending": 5, "crc": 4}) == baseline


def test_the_numbers_of_attributes_mean_nothing_without_their_names() -> None:
    rows = [attribute(197, "Not_In_Use", 8), attribute(199, "Host_Writes_GiB", 77)]
    assert error_counts(health_of(ata("Odd", "S", rows))) == {}


def test_the_standards_pages_fill_in() -> None:
    pages = [statistic(3, 32, 5), statistic(3, 56, 6), statistic(4, 8, 7), statistic(6, 24, 8)]
    counts = error_counts(health_of(ata("M", "S", [], statistics=pages)))
    assert counts == {"reallocated": 5, "pending": 6, "reported": 7, "crc": 8}


def test_nvme_and_sas_count_their_own() -> None:
    assert error_counts(health_of(nvme("M", "N", media_errors=7))) == {"uncorrectable": 7}
    counts = error_counts(health_of(sas("M", "Z", defects=56, uncorrected=535)))
    assert counts == {"reallocated": 56, "uncorrectable": 535}


def test_a_disk_that_says_it_fails_is_believed() -> None:
    rows = [attribute(5, "Reallocated_Sector_Ct", 0, failed="now")]
    assert codes(ata("M", "S", rows, passed=False)) == ["disk_failing", "attribute_failed"]
    assert codes(nvme("M", "N", critical_warning=4)) == ["disk_failing"]
    past = [attribute(5, "Reallocated_Sector_Ct", 0, failed="past")]
    assert codes(ata("M", "S", past)) == []


def test_spare_blocks_below_the_disks_own_limit() -> None:
    document = nvme("M", "N")
    document["nvme_smart_health_information_log"]["available_spare"] = 9
    (finding,) = made(document)
    assert finding.code == "spare_low" and "9 %" in finding.message and "10 %" in finding.message


def test_heat_is_judged_by_the_kind_of_disk() -> None:
    assert codes(ata("M", "S", [], celsius=62, rotation_rpm=7200)) == ["disk_hot"]
    assert codes(ata("M", "S", [], celsius=62)) == []


def test_the_last_self_test_counts() -> None:
    good = {"status": {"string": "Completed without error", "passed": True}}
    bad = {"status": {"string": "Completed: read failure", "passed": False}}
    stopped = {"status": {"string": "Aborted by host"}}
    for rows, expected in (
        ([bad, good], ["self_test_failed"]),
        ([good, bad], []),
        ([stopped], []),
    ):
        log = {
            "extended": {"table": [{**row, "type": {"string": "Extended offline"}} for row in rows]}
        }
        assert codes(ata("M", "S", [], ata_smart_self_test_log=log)) == expected


@pytest.mark.parametrize(
    ("state", "code", "severity"),
    [("hung", "disk_hung", "error"), ("slow", "disk_unread", "warning"),
     ("failed", "disk_unread", "warning"), ("standby", None, None)],
)  # fmt: skip
def test_a_disk_that_gave_no_answer(state: Any, code: str | None, severity: str | None) -> None:
    silent = DiskAnswer("/dev/bus/0", "megaraid,3", "", state, "why")
    listed = findings(silent, {}, None, None, NOW)
    assert [(each.code, each.severity) for each in listed] == ([(code, severity)] if code else [])
    if code == "disk_unread":
        assert listed[0].correction.endswith("smartctl -x -d megaraid,3 /dev/bus/0")


@pytest.mark.parametrize(
    ("percent", "days", "expected"),
    [(89, None, []), (90, None, ["worn"]), (130, 10, ["worn"]), (50, 89, ["wears_out_soon"]),
     (50, 91, [])],
)  # fmt: skip
def test_wear(percent: int, days: int | None, expected: list[str]) -> None:
    soon = None if days is None else WearForecast(NOW + timedelta(days=days), "If it goes on.")
    document = ata("M", "S", [])
    listed = findings(answer(document), {}, Wear(percent, "NVMe"), soon, NOW)
    assert [finding.code for finding in listed] == expected
    assert percent < 100 or listed[0].severity == "error"

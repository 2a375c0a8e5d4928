"""What is wrong with a disk, from its own words. Pure.

Errors count against a baseline: what a disk had when it was first read, or when a person last
looked at it, is known. Only what comes on top is a finding. Sectors that cannot be read now are one
at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from storage.formatting import counted
from storage.health.host_problems import ORDER, HealthFinding, Severity
from storage.health.smart_endurance import Wear, WearForecast
from storage.health.smart_reading import DiskAnswer, SelfTest, SmartHealth

WEAR_WARNING, WEAR_ERROR = 90, 100
SOON: Final = timedelta(days=90)
HOT_HDD, HOT_SSD = 60, 70

COUNTS: Final = {
    "reallocated": "reallocated sector",
    "pending": "pending sector",
    "uncorrectable": "uncorrectable error",
    "reported": "reported read error",
    "crc": "transfer error",
}
"""What is counted, in words for one of it."""

REPLACE: Final = "Plan to replace the disk. Move its data first where the array has no spare."
CORRECTION: Final = {
    "reallocated": "One is harmless. If the number grows, replace the disk.",
    "pending": "Read the whole disk (an array check does): the sectors are rewritten or replaced.",
    "uncorrectable": REPLACE,
    "reported": REPLACE,
    "crc": "Check the cable, the slot and the backplane: the disk itself is rarely the cause.",
}
SEVERITY: Final[Mapping[str, Severity]] = {
    "reallocated": "warning",
    "pending": "warning",
    "uncorrectable": "error",
    "reported": "error",
    "crc": "warning",
}

REALLOCATED: Final = (
    "Reallocated_",
    "Reallocate_NAND_Blk",
    "Realloc_Flash_Blocks",
    "Retired_Block",
    "Retried_Blk",
    "New_Bad_Blk",
    "New_Bad_Block",
    "Runtime_Bad_Blo",
    "Later_Bad_Blo",
    "Bad_Block",
    "Remap",
    "Replaced_Sectors",
)
"""How names of attribute 5 in smartmontools' database begin that count blocks replaced in use."""
STATES: Final = frozenset({"pending", "uncorrectable"})
SCSI_STATES: Final = frozenset({"pending"})
"""Counts of ATA and SAS disks that say how it is now, and fall again: also the first reading of one
is a finding, until a person accepts it."""
WARM: Final = "Temperature"
"""In the name of an attribute whose limit is one of heat."""
NVME_WARM: Final = 0x02
NVME_WARNINGS: Final = {
    0x01: "its spare blocks are used up",
    NVME_WARM: "it is too hot or too cold",
    0x04: "its reliability is degraded",
    0x08: "it takes no more writes",
    0x10: "its volatile memory is not backed up",
    0x20: "its persistent memory takes no more writes",
}
"""The bits of an NVMe disk's `critical_warning`."""
COOL: Final = "Check the fans and the air flow of the host."


def error_counts(health: SmartHealth) -> dict[str, int]:
    """The counts that the disk has, by the names of `COUNTS`."""
    counts: dict[str, int | None]
    if health.nvme is not None:
        counts = {"uncorrectable": health.nvme.media_errors}
    elif health.scsi is not None:
        counts = {
            "reallocated": health.scsi.grown_defects,
            "pending": health.scsi.pending_defects,
            "uncorrectable": health.scsi.uncorrected_errors,
        }
    else:
        counts = {
            "reallocated": _attribute(health, 5, *REALLOCATED, page=(3, 32)),
            "pending": _attribute(health, 197, "Current_Pending_Sector", "Pending_Sector",
                                  "Total_Pending_Sectors", page=(3, 56)),
            "uncorrectable": _attribute(health, 198, "Offline_Uncorrectable"),
            "reported": _attribute(health, 187, "Reported_Uncorrect", "Uncorrectable_Error",
                                   page=(4, 8)),
            "crc": _attribute(health, 199, "CRC_", "UDMA_CRC", "SATA_CRC", page=(6, 24)),
        }  # fmt: skip
    return {name: count for name, count in counts.items() if count is not None}


def _attribute(
    health: SmartHealth, number: int, *names: str, page: tuple[int, int] | None = None
) -> int | None:
    """By number and name, because makers use the numbers for other things too; else from the
    standard's page."""
    for row in health.attributes:
        if row.id == number and row.name.startswith(names):
            return row.count
    return None if page is None else health.statistic(*page)


def baseline_after(baseline: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    """The baseline that the next reading is compared with: a count that is new is known from now
    on, and one that fell (sectors no longer pending) may not rise again unseen. One that the disk
    does not report this time keeps its baseline."""
    lowest = {name: min(count, baseline.get(name, count)) for name, count in counts.items()}
    return {**baseline, **lowest}


def increases(baseline: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    """By how much each count is above its baseline, where it is."""
    rises = {name: count - baseline.get(name, count) for name, count in counts.items()}
    return {name: rise for name, rise in rises.items() if rise > 0}


def findings(
    answer: DiskAnswer,
    baseline: Mapping[str, int],
    wear: Wear | None,
    worn_out: WearForecast | None,
    now: datetime,
    gone_since: datetime | None = None,
    accepted: Mapping[str, int] | None = None,
) -> tuple[HealthFinding, ...]:
    """Worst first. Of a disk that is gone, `answer` is its last one. `accepted` are the counts that
    a person knows of."""
    made = [] if gone_since is None else [_vanished(gone_since)]
    made += _of_answer(answer)
    if answer.health is not None:
        made += _of_health(answer.health)
        made += _of_errors(answer.health, baseline, accepted or {})
    made += _of_wear(wear, worn_out, now)
    return tuple(sorted(made, key=lambda finding: ORDER[finding.severity]))


def _vanished(since: datetime) -> HealthFinding:
    return HealthFinding(
        "disk_vanished",
        "error",
        f"The disk has been gone since {since:%Y-%m-%d %H:%M} UTC.",
        "Look at its slot, its cable and dmesg on the host. If it was taken out on purpose, accept "
        "that on the disk's page.",
    )


def _of_answer(answer: DiskAnswer) -> Iterator[HealthFinding]:
    if answer.state == "hung":
        yield HealthFinding(
            "disk_hung",
            "error",
            f"The disk does not answer: {answer.message}.",
            "Look at dmesg on the host. The disk, its cable or its controller has failed.",
        )
    elif answer.state == "read" and answer.health is not None and is_mute(answer):
        why = f": {answer.message}" if answer.message else ""
        yield HealthFinding(
            "disk_unread",
            "warning",
            f"The disk does not report its health{why}.",
            f"On the host, run: smartctl -x {_options(answer)}. A disk that stops reporting its "
            "health often fails next.",
        )
    elif answer.state in ("slow", "failed"):
        yield HealthFinding(
            "disk_unread",
            "warning",
            f"The disk's health cannot be read: {answer.message}.",
            f"On the host, run: smartctl -x {_options(answer)}",
        )


def is_mute(answer: DiskAnswer) -> bool:
    """Whether a disk answers and gives no verdict on its health. Plain SCSI devices may have none
    to give: volumes of RAID controllers, drives on USB. A disk behind a controller, an ATA or an
    NVMe disk, and a SAS disk, which counts its own errors, has one."""
    health = answer.health
    if health is None or health.passed is not None:
        return False
    scsi = health.scsi
    counts = () if scsi is None else (scsi.grown_defects, scsi.uncorrected_errors)
    is_sas = any(count is not None for count in counts)
    return "," in answer.type or health.protocol in ("ATA", "NVMe") or is_sas


def _options(answer: DiskAnswer) -> str:
    return f"-d {answer.type} {answer.device}" if answer.type else answer.device


def _of_health(health: SmartHealth) -> Iterator[HealthFinding]:
    nvme = health.nvme
    warning = 0 if nvme is None else nvme.critical_warning or 0
    if health.passed is False and warning == NVME_WARM:
        reason = NVME_WARNINGS[NVME_WARM]
        yield HealthFinding("disk_hot", "error", f"The disk says that {reason}.", COOL)
    elif health.passed is False or warning & ~NVME_WARM:
        words = [word for bit, word in NVME_WARNINGS.items() if warning & bit]
        why = f": {'; '.join(words)}" if words else ""
        yield HealthFinding(
            "disk_failing", "error", f"The disk says that it is failing{why}.", REPLACE
        )
    spare = None if nvme is None else nvme.available_spare
    least = 0 if nvme is None else nvme.available_spare_threshold or 0
    if spare is not None and spare < least:
        yield HealthFinding(
            "spare_low",
            "error",
            f"{spare} % of the SSD's spare blocks are left, less than its own limit of {least} %.",
            REPLACE,
        )
    failed = [row.name for row in health.attributes if row.failed == "now"]
    worn = [name for name in failed if WARM not in name]
    if worn:
        named = ", ".join(worn)
        yield HealthFinding(
            "attribute_failed", "error", f"Below the maker's limit: {named}.", REPLACE
        )
    limit = HOT_SSD if health.is_ssd else HOT_HDD
    celsius = health.temperature_celsius
    is_hot = celsius is not None and celsius >= limit
    if (is_hot or len(failed) > len(worn)) and warning != NVME_WARM:
        how = "is too warm for its maker" if celsius is None else f"is at {celsius} °C"
        yield HealthFinding("disk_hot", "warning", f"The disk {how}.", COOL)
    failure = failed_test(health)
    if failure is not None:
        is_last = failure is health.self_tests[0]
        which = "The last self-test" if is_last else f"A self-test ({failure.kind})"
        since = "" if is_last else ", and no extended one has succeeded since"
        yield HealthFinding(
            "self_test_failed", "error", f"{which} failed: {failure.result}{since}.", REPLACE
        )


def failed_test(health: SmartHealth) -> SelfTest | None:
    """The newest self-test that failed. Only a newer extended one that succeeded outdates it: a
    short one reads a small part of the disk (smartctl(8), bit 7 of its exit status)."""
    for test in health.self_tests:
        if test.passed is False:
            return test
        if test.passed and re.search(r"extended|long", test.kind, re.IGNORECASE):
            return None
    return None


def _of_errors(
    health: SmartHealth, baseline: Mapping[str, int], accepted: Mapping[str, int]
) -> Iterator[HealthFinding]:
    counts = error_counts(health)
    states = STATES if health.nvme is None and health.scsi is None else frozenset()
    states = states if health.scsi is None else SCSI_STATES
    known = {**baseline, **{name: accepted.get(name, 0) for name in states}}
    for name, rise in increases(known, counts).items():
        is_all = name in states and rise == counts[name]
        more = "." if is_all else f" more, {counts[name]} in all."
        yield HealthFinding(
            f"{name}_rose",
            SEVERITY[name],
            f"{counted(rise, COUNTS[name])}{more}",
            CORRECTION[name],
        )


def _of_wear(
    wear: Wear | None, worn_out: WearForecast | None, now: datetime
) -> Iterator[HealthFinding]:
    if wear is not None and wear.percent >= WEAR_WARNING:
        yield HealthFinding(
            "worn",
            "error" if wear.percent >= WEAR_ERROR else "warning",
            f"{wear.percent} % of the SSD's endurance are used.",
            "Replace the SSD. It may stop accepting writes.",
        )
    elif worn_out is not None and worn_out.at is not None and worn_out.at - now <= SOON:
        yield HealthFinding(
            "wears_out_soon",
            "warning",
            f"The SSD is worn out about {worn_out.at:%Y-%m-%d}. {worn_out.assumption}",
            "Plan its replacement, or move the volumes that write most to another SSD.",
        )

"""What the disks of a fleet said of their health in the last weeks: most are well, and there is one
of each kind that is not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import pghistory

from storage.agent.kernel import smartctl
from storage.health import smart_records
from storage.inventory.facts import Disk
from storage.models import Host, PhysicalDisk
from tests.fleet.machine import NVME, SATA_DOM, Machine, facts
from tests.smart_disks import ata, attribute, nvme, statistic

ROUNDS_HOURS: Final = (30 * 24, 20 * 24, 10 * 24, 3 * 24, 23, 12, 0)
"""So many hours ago the disks were read."""
FEW: Final = ROUNDS_HOURS[-3:]
WORN: Final = ("lvmcache", "sda")
PENDING: Final = ("degraded", "sdd")
ACCEPTED: Final = ("maintenance", "sde")
BOOT: Final = "6c1f7f3e-2f5b-4a7c-9a40-000000000000"
GB: Final = 10**9
MIB_SECTORS: Final = 2048


def read(host: Host, of: Machine, now: datetime, is_shown: bool) -> None:
    """`is_shown` hosts have weeks of readings, the others a day."""
    for hours in ROUNDS_HOURS if is_shown else FEW:
        listed = [_answer(of, disk, hours, is_shown) for disk in facts(of, now).disks]
        reply = {"installed": True, "version": "7.3", "message": "", "disks": listed}
        smart_records.record_smart(host, reply, BOOT, now - timedelta(hours=hours, minutes=7))
        if of.role == ACCEPTED[0] and hours == FEW[0]:
            found = PhysicalDisk.objects.get(host=host, name=ACCEPTED[1])
            why = "Cable replaced on the 12th"
            who = "ada@example.com"
            with pghistory.context(actor=who):
                smart_records.accept_errors(found, who, why, now - timedelta(hours=20))


def _answer(of: Machine, disk: Disk, hours: int, is_shown: bool) -> dict[str, Any]:
    is_worn = is_shown and (of.role, disk.name) == WORN
    hourly = _hourly_sectors(disk, is_worn)
    document = _document(of, disk, hours, hourly, is_worn)
    document["user_capacity"] = {"bytes": disk.size_bytes}
    return {
        "device": "/dev/nvme0" if disk.name == NVME else f"/dev/{disk.name}",
        "type": "nvme" if disk.name == NVME else "",
        "name": disk.name,
        "state": "read",
        "message": "",
        "exit_status": 0,
        "sectors_written": (ROUNDS_HOURS[0] - hours) * hourly,
        "health": smartctl.health(document),
    }


def _hourly_sectors(disk: Disk, is_worn: bool) -> int:
    """What is written to the disk in an hour."""
    if disk.name == SATA_DOM:
        return 3 * MIB_SECTORS
    return (2 * GB if is_worn else GB) // 512


def _document(of: Machine, disk: Disk, hours: int, hourly: int, is_worn: bool) -> dict[str, Any]:
    here, powered_on = (of.role, disk.name), 14_000 - hours
    if disk.name == NVME:
        units = (90_000 * GB // 512 - hours * hourly) // 1000
        return nvme(
            disk.model, disk.serial, units_written=units, percentage_used=3, hours=powered_on
        )
    if disk.name == SATA_DOM:
        row = attribute(241, "Total_LBAs_Written", 204_331 - hours * hourly // MIB_SECTORS)
        return ata(disk.model, disk.serial, [row], known=False, hours=powered_on, celsius=41)
    if not disk.rotational:
        percent = (87 if is_worn else 11) - round(hours / 240)
        sectors = (1_520_000 if is_worn else 190_000) * GB // 512 - hours * hourly
        pages = [statistic(1, 24, sectors), statistic(7, 8, percent)]
        rows = [*_errors(0, 0)]
        return ata(disk.model, disk.serial, rows, statistics=pages, hours=powered_on, celsius=36)
    pending = 8 if here == PENDING and hours < FEW[0] else 0
    transfers = 14 if here == ACCEPTED and hours <= FEW[0] else 0
    tests = {"table": [_passed(powered_on - 200), _passed(powered_on - 900)]}
    more: dict[str, Any] = {"ata_smart_self_test_log": {"extended": tests}}
    rows = [*_errors(pending, transfers)]
    return ata(disk.model, disk.serial, rows, rotation_rpm=7200, hours=powered_on, **more)


def _errors(pending: int, transfers: int) -> Iterator[dict[str, Any]]:
    yield attribute(5, "Reallocated_Sector_Ct", 0)
    yield attribute(197, "Current_Pending_Sector", pending)
    yield attribute(198, "Offline_Uncorrectable", 0)
    yield attribute(199, "UDMA_CRC_Error_Count", transfers)


def _passed(hours: int) -> dict[str, Any]:
    return {
        "type": {"value": 2, "string": "Extended offline"},
        "status": {"value": 0, "string": "Completed without error", "passed": True},
        "lifetime_hours": hours,
    }

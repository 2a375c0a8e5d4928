"""smartctl of smartmontools: which disks it finds, and one disk's own words on its health.

Everything that a disk says is checked here: a field of another type, or a number that 64 bits do
not hold, is left out. The panel reads what the figures mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ..calls import names
from .local_host import LocalHost, Stuck, TimedOut

SCAN_SECONDS = 20.0
# A healthy disk needs two; one that repairs a sector meanwhile needs this.
DISK_SECONDS = 20.0
# The most disks that one reading asks, and that it names.
DISKS_LIMIT, LISTED_LIMIT = 128, 1024
# smartctl itself never ends with both bits: bit 0 says that it asked no disk at all.
STANDBY = 3
NOT_ASKED = 0b011
COMMAND_FAILED = 0b111
TEXT_LIMIT = 80
NUMBER_LIMIT = 2**63 - 1
ATTRIBUTES_LIMIT = 40
STATISTICS_LIMIT = 64
# As many as a disk keeps: frequent short tests would hide a long one that failed.
SELF_TESTS_LIMIT = 21
GIGABYTE = 10**9
DEFECT_BYTES = 8
# How lines of its text begin that say nothing of the disk.
_HEAD = ("smartctl ", "Copyright ", "===")
# The upper half of ATA's status of self-tests, and SCSI's result of one, while a test runs.
ATA_RUNNING, ATA_FATAL = 0xF, 0x3
SCSI_RUNNING = 15

# smartctl's own choice is better where the scan knows only the driver: it sees SATA or SAS.
_BY_DRIVER = frozenset(("scsi", "ata", ""))


@dataclass(frozen=True)
class SmartTarget:
    """What smartctl is called with: a device, and its `-d` type, "" where smartctl is to choose."""

    device: str
    type: str

    def command(self) -> tuple[str, ...]:
        """A disk that sleeps is not woken. The options stand before the device, which could not
        be one anyway."""
        return ("smartctl", "--json", "-x", "-n", f"standby,{STANDBY}", *self._operands())

    def test_command(self, kind: str) -> tuple[str, ...]:
        """Begins a self-test ("short" or "long") in the background. smartctl refuses where one
        runs already. Why, it says as text alone."""
        return ("smartctl", "-t", kind, *self._operands())

    def _operands(self) -> tuple[str, ...]:
        return (*(("-d", self.type) if self.type else ()), self.device)


@dataclass(frozen=True)
class SmartAnswer:
    """`state` is "read", "standby", "hung" (not even SIGKILL ends it), "slow" or "failed";
    `message` is the reason in smartctl's words. `exit_status` keeps smartctl's bits."""

    state: str
    message: str = ""
    exit_status: int | None = None
    health: Mapping[str, Any] | None = None


def scan(host: LocalHost) -> tuple[tuple[SmartTarget, ...], str]:
    """The disks that smartctl knows how to ask, also behind RAID controllers, and its version.
    Raises MissingTool, TimedOut."""
    document = _document(host.run(["smartctl", "--scan", "--json"], timeout=SCAN_SECONDS).stdout)
    targets: dict[SmartTarget, None] = {}
    for each in _rows(document.get("devices")):
        try:
            device, kind = names.smart_device(each.get("name")), names.smart_type(each.get("type"))
        except ValueError:
            continue
        targets[SmartTarget(device, "" if kind in _BY_DRIVER else kind)] = None
    return tuple(targets), _version(document)


def ask_disk(host: LocalHost, target: SmartTarget) -> SmartAnswer:
    """One disk. Raises MissingTool."""
    try:
        result = host.run(list(target.command()), timeout=DISK_SECONDS)
    except Stuck as stuck:
        hangs = f"smartctl (pid {stuck.reader.pid}) hangs in the kernel: the disk does not answer"
        return SmartAnswer("hung", hangs)
    except TimedOut:
        return SmartAnswer("slow", f"the disk did not answer within {DISK_SECONDS:.0f} s")
    if result.rc == STANDBY:
        return SmartAnswer("standby", "the disk sleeps and was not woken", result.rc)
    document = _document(result.stdout)
    if result.rc < 0 or result.rc & NOT_ASKED or not isinstance(document.get("device"), dict):
        return SmartAnswer("failed", _message(document) or _first_line(result.stderr), result.rc)
    return SmartAnswer("read", _message(document), result.rc, health(document))


def begin_test(host: LocalHost, target: SmartTarget, kind: str) -> str:
    """Begin a self-test; "" once it runs, else why it does not. It ends by itself, and smartctl
    does not wait for that. Raises MissingTool."""
    try:
        result = host.run(list(target.test_command(kind)), timeout=DISK_SECONDS)
    except TimedOut:
        return f"the disk did not answer within {DISK_SECONDS:.0f} s"
    # The higher bits are about the disk, not the command.
    if result.rc >= 0 and not result.rc & COMMAND_FAILED:
        return ""
    said = [line for line in result.stdout.splitlines() if line and not line.startswith(_HEAD)]
    return " ".join(said)[:200] or _first_line(result.stderr)


def health(document: Mapping[str, Any]) -> dict[str, Any]:
    """What is used of `smartctl --json -x`, some 3 KiB of its 40. Pure."""
    device = _table(document, "device")
    return {
        "protocol": _text(device.get("protocol")),
        "family": _text(document.get("model_family")),
        "model": _model(document),
        "serial": _text(document.get("serial_number")),
        "firmware": _text(document.get("firmware_version") or document.get("scsi_revision")),
        "wwn": _wwn(document),
        "size_bytes": _number(_table(document, "user_capacity").get("bytes")),
        "logical_block_bytes": _number(document.get("logical_block_size")),
        "rotation_rpm": _number(document.get("rotation_rate")),
        "known": document.get("in_smartctl_database") is True,
        "passed": _flag(_table(document, "smart_status").get("passed")),
        "temperature_celsius": _signed(_table(document, "temperature").get("current")),
        "power_on_hours": _number(_table(document, "power_on_time").get("hours")),
        "attributes": list(_attributes(document)),
        "statistics": list(_statistics(document)),
        "nvme": _nvme(document),
        "scsi": _scsi(document),
        "self_tests": list(_self_tests(document))[:SELF_TESTS_LIMIT],
        "running_test": _running_test(document),
        "test_minutes": _test_minutes(document),
    }


def _attributes(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    rows = _rows(_table(document, "ata_smart_attributes").get("table"))
    for row in rows[:ATTRIBUTES_LIMIT]:
        number, raw = _number(row.get("id")), _table(row, "raw")
        value = _number(raw.get("value"))
        if number is None or value is None:
            continue
        yield {
            "id": number,
            "name": _text(row.get("name")),
            "value": _number(row.get("value")),
            "worst": _number(row.get("worst")),
            "threshold": _number(row.get("thresh")),
            "raw": value,
            "text": _text(raw.get("string")),
            "failed": _text(row.get("when_failed")),
        }


def _statistics(document: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    """Only those that the disk itself calls valid."""
    count = 0
    for page in _rows(_table(document, "ata_device_statistics").get("pages")):
        number = _number(page.get("number"))
        for row in _rows(page.get("table")):
            offset, value = _number(row.get("offset")), _number(row.get("value"))
            valid = _table(row, "flags").get("valid") is True
            if None not in (number, offset, value) and valid and count < STATISTICS_LIMIT:
                count += 1
                yield {"page": number or 0, "offset": offset or 0, "value": value or 0}


_NVME = (
    "critical_warning",
    "available_spare",
    "available_spare_threshold",
    "percentage_used",
    "data_units_written",
    "media_errors",
    "unsafe_shutdowns",
)


def _nvme(document: Mapping[str, Any]) -> dict[str, int | None] | None:
    log = _table(document, "nvme_smart_health_information_log")
    return {name: _number(log.get(name)) for name in _NVME} if log else None


def _scsi(document: Mapping[str, Any]) -> dict[str, int | None] | None:
    if _table(document, "device").get("protocol") != "SCSI":
        return None
    log = _table(document, "scsi_error_counter_log")
    uncorrected = [
        _number(_table(log, kind).get("total_uncorrected_errors"))
        for kind in ("read", "write", "verify")
    ]
    counted = [each for each in uncorrected if each is not None]
    return {
        "grown_defects": _grown_defects(document),
        "pending_defects": _number(_table(document, "scsi_pending_defects").get("count")),
        "uncorrected_errors": sum(counted) if counted else None,
        "written_bytes": _gigabytes(_table(log, "write").get("gigabytes_processed")),
        "percentage_used": _number(document.get("scsi_percentage_used_endurance_indicator")),
    }


def _grown_defects(document: Mapping[str, Any]) -> int | None:
    """smartctl 7.0 and 7.1 give the length of the list in bytes, eight for each defect."""
    count = _number(document.get("scsi_grown_defect_list"))
    version = _table(document, "smartctl").get("version")
    is_length = isinstance(version, list) and version[:2] in ([7, 0], [7, 1])
    return count // DEFECT_BYTES if count is not None and is_length else count


def _self_tests(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The newest first, as smartctl has them."""
    log = _table(document, "ata_smart_self_test_log")
    rows = _rows(_table(log, "extended").get("table")) or _rows(
        _table(log, "standard").get("table")
    )
    for row in rows:
        status = _table(row, "status")
        yield {
            "kind": _text(_table(row, "type").get("string")),
            "result": _text(status.get("string")),
            "passed": _ata_passed(status),
            "at_hours": _number(row.get("lifetime_hours")),
        }
    for row in _rows(_table(document, "nvme_self_test_log").get("table")):
        outcome = _table(row, "self_test_result")
        value = _number(outcome.get("value"))
        yield {
            "kind": _text(_table(row, "self_test_code").get("string")),
            "result": _text(outcome.get("string")),
            # 1 to 4 and 8, 9 were aborted, which says nothing of the disk.
            "passed": True if value == 0 else False if value in (5, 6, 7) else None,
            "at_hours": _number(row.get("power_on_hours")),
        }

    for number in range(SELF_TESTS_LIMIT):
        row = _table(document, f"scsi_self_test_{number}")
        outcome = _table(row, "result")
        value = _number(outcome.get("value"))
        if value is not None and value != SCSI_RUNNING:
            yield {
                "kind": _text(_table(row, "code").get("string")),
                "result": _text(outcome.get("string")),
                # 1 and 2 were aborted.
                "passed": True if value == 0 else False if 3 <= value <= 7 else None,
                "at_hours": _number(_table(row, "power_on_time").get("hours")),
            }


def _ata_passed(status: Mapping[str, Any]) -> bool | None:
    """smartctl leaves open what a fatal error means; it ended the test, and was not requested."""
    value = _number(status.get("value"))
    if value is not None and value >> 4 == ATA_FATAL:
        return False
    return _flag(status.get("passed"))


def _running_test(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is left of a self-test that runs now, None where none does."""
    status = _table(_table(_table(document, "ata_smart_data"), "self_test"), "status")
    value = _number(status.get("value"))
    if value is not None and value >> 4 == ATA_RUNNING:
        return {"remaining_percent": min(100, 10 * (value & 0xF))}
    log = _table(document, "nvme_self_test_log")
    if _number(_table(log, "current_self_test_operation").get("value")):
        done = _number(log.get("current_self_test_completion_percent"))
        return {"remaining_percent": None if done is None else max(0, 100 - done)}
    if document.get("self_test_in_progress") is True:
        return {"remaining_percent": None}
    return None


def _test_minutes(document: Mapping[str, Any]) -> dict[str, int | None]:
    """How long the disk itself says that its tests take."""
    said = _table(_table(_table(document, "ata_smart_data"), "self_test"), "polling_minutes")
    seconds = _number(document.get("scsi_extended_self_test_seconds"))
    long = _number(said.get("extended"))
    return {
        "short": _number(said.get("short")),
        "long": seconds // 60 if long is None and seconds is not None else long,
    }


def _model(document: Mapping[str, Any]) -> str:
    return _text(document.get("model_name") or document.get("scsi_model_name"))


def _wwn(document: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits as udev has them; "" where the disk has none of that form."""
    parts = _table(document, "wwn")
    naa, oui, unique = (_number(parts.get(name)) for name in ("naa", "oui", "id"))
    if naa is not None and oui is not None and unique is not None:
        text = f"{naa:x}{oui:06x}{unique:09x}"
    else:
        text = _text(document.get("logical_unit_id")).lower()
        text = text[2:] if text.startswith("0x") else text
    return text if re.fullmatch(r"[0-9a-f]{16}", text) else ""


def _gigabytes(value: Any) -> int | None:
    """A decimal of 10^9 bytes, as text."""
    try:
        number = Decimal(value) if isinstance(value, str) and len(value) <= 24 else None
        total = None if number is None else int(number * GIGABYTE)
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return _number(total)


def _message(document: Mapping[str, Any]) -> str:
    messages = _rows(_table(document, "smartctl").get("messages"))
    return _text(messages[0].get("string"), 200) if messages else ""


def _version(document: Mapping[str, Any]) -> str:
    parts = _table(document, "smartctl").get("version")
    numbers = parts if isinstance(parts, list) else []
    return ".".join(str(each) for each in numbers[:3] if type(each) is int)


def _document(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else "smartctl gave no answer that can be read"


def _table(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any, limit: int = TEXT_LIMIT) -> str:
    return value.strip()[:limit] if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= NUMBER_LIMIT else None


def _signed(value: Any) -> int | None:
    return value if type(value) is int and -100 <= value <= 200 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None

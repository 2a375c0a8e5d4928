"""What `smartctl --all` printed as text, in the keys of its `--json`: what the panel reads of it.

Older reports of real disks exist as text alone. Numbers are grouped in the language of
the reporter: 16,184,623 or 16.184.623 or 16 184 623.
"""

from __future__ import annotations

import re
from typing import Any

_FIELD = re.compile(r"^([A-Z][\w /-]*?)\s*:\s+(.*?)\s*$", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r"^ *(\d+) (\S+) +0x([0-9a-f]{4}) +(\d+) +(\d+) +(\d+|---) +\S+ +\S+ +(\S+) +(\d+)(.*)$",
    re.MULTILINE,
)
_ERRORS = re.compile(
    r"^(read|write|verify): +(?:\d+ +){5}(\d+(?:[.,]\d+)?) +(\d+)\s*$", re.MULTILINE
)
_SCSI_FIGURE = re.compile(
    r"^(Percentage used endurance indicator|Elements in grown defect list): (\d+)", re.MULTILINE
)
_NOT_DIGITS = re.compile(r"\D")
NVME = {
    "available_spare": "Available Spare",
    "available_spare_threshold": "Available Spare Threshold",
    "percentage_used": "Percentage Used",
    "data_units_written": "Data Units Written",
    "media_errors": "Media and Data Integrity Errors",
    "unsafe_shutdowns": "Unsafe Shutdowns",
}


def whole(text: str) -> int:
    """The number before a bracket or a unit, however it is grouped."""
    return int(_NOT_DIGITS.sub("", text.partition("[")[0].partition("bytes")[0]))


def fields(text: str) -> dict[str, str]:
    """The first line of each name."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        found.setdefault(name, value)
    return found


def document(text: str) -> dict[str, Any]:
    """One disk's report."""
    said = fields(text)
    block = said.get("Logical block size") or said.get("Sector Size") or said.get("Sector Sizes")
    block = block or said.get("Namespace 1 Formatted LBA Size")
    capacity = said.get("User Capacity") or said.get("Namespace 1 Size/Capacity")
    capacity = capacity or said.get("Total NVM Capacity")
    rpm = said.get("Rotation Rate", "")
    shared: dict[str, Any] = {
        "smartctl": {"exit_status": 0},
        "serial_number": said.get("Serial Number") or said.get("Serial number"),
        "firmware_version": said.get("Firmware Version") or said.get("Revision"),
        "model_family": said.get("Model Family"),
        "in_smartctl_database": said.get("Device is", "").startswith("In smartctl database"),
    }
    if block:
        shared["logical_block_size"] = int(block.split()[0])
    if capacity:
        shared["user_capacity"] = {"bytes": whole(capacity)}
    if rpm:
        shared["rotation_rate"] = 0 if rpm == "Solid State Device" else whole(rpm)
    verdict = said.get("SMART overall-health self-assessment test result") or said.get(
        "SMART Health Status"
    )
    if verdict:
        shared["smart_status"] = {"passed": verdict in ("PASSED", "OK")}
    if "Product" in said:
        return {**shared, **_scsi(text, said)}
    return {**shared, **(_nvme(said) if "Model Number" in said else _ata(text, said))}


def _ata(text: str, said: dict[str, str]) -> dict[str, Any]:
    rows = [
        {
            "id": int(number),
            "name": name,
            "value": int(value),
            "worst": int(worst),
            "thresh": None if threshold == "---" else int(threshold),
            "when_failed": "" if failed == "-" else failed.lower(),
            "flags": {"value": int(flags, 16)},
            "raw": {"value": int(raw), "string": f"{raw}{more}".strip()},
        }
        for number, name, flags, value, worst, threshold, failed, raw, more in _ATTRIBUTE.findall(
            text
        )
    ]
    return {
        "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
        "model_name": said["Device Model"],
        "ata_smart_attributes": {"table": rows},
    }


def _nvme(said: dict[str, str]) -> dict[str, Any]:
    log = {name: whole(said[label]) for name, label in NVME.items()}
    log["critical_warning"] = int(said["Critical Warning"], 16)
    return {
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": said["Model Number"],
        "rotation_rate": 0,
        "power_on_time": {"hours": whole(said["Power On Hours"])},
        "temperature": {"current": whole(said["Temperature"])},
        "nvme_smart_health_information_log": log,
    }


def _scsi(text: str, said: dict[str, str]) -> dict[str, Any]:
    log = {
        kind: {"gigabytes_processed": amount.replace(",", "."), "total_uncorrected_errors": int(n)}
        for kind, amount, n in _ERRORS.findall(text)
    }
    figures = {name: int(number) for name, number in _SCSI_FIGURE.findall(text)}
    used = figures.get("Percentage used endurance indicator")
    return {
        "device": {"name": "/dev/sda", "type": "scsi", "protocol": "SCSI"},
        "scsi_model_name": f"{said['Vendor']} {said['Product']}",
        "scsi_grown_defect_list": figures.get("Elements in grown defect list"),
        "scsi_percentage_used_endurance_indicator": used,
        "scsi_error_counter_log": log,
    }

"""What smartctl prints of invented disks, in the form of `smartctl --json -x`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def attribute(
    number: int, name: str, raw: int, *, value: int = 100, text: str = "", failed: str = ""
) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "value": value,
        "worst": value,
        "thresh": 10,
        "when_failed": failed,
        "flags": {"value": 50, "string": "-O--CK "},
        "raw": {"value": raw, "string": text or str(raw)},
    }


def statistic(page: int, offset: int, value: int, *, valid: bool = True) -> dict[str, Any]:
    return {"page": page, "offset": offset, "value": value, "valid": valid}


def ata(
    model: str,
    serial: str,
    attributes: Sequence[Mapping[str, Any]],
    *,
    statistics: Sequence[Mapping[str, Any]] = (),
    rotation_rpm: int = 0,
    passed: bool = True,
    known: bool = True,
    hours: int = 1000,
    celsius: int = 30,
    block_bytes: int = 512,
    **more: Any,
) -> dict[str, Any]:
    pages: dict[int, list[dict[str, Any]]] = {}
    for row in statistics:
        flags = {"value": 192, "valid": row["valid"]}
        pages.setdefault(row["page"], []).append(
            {"offset": row["offset"], "name": "…", "value": row["value"], "flags": flags}
        )
    document: dict[str, Any] = {
        "smartctl": {"version": [7, 3], "exit_status": 0 if passed else 8},
        "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
        "model_name": model,
        "serial_number": serial,
        "firmware_version": "F1",
        "user_capacity": {"bytes": 480_103_981_056},
        "logical_block_size": block_bytes,
        "rotation_rate": rotation_rpm,
        "in_smartctl_database": known,
        "smart_status": {"passed": passed},
        "temperature": {"current": celsius},
        "power_on_time": {"hours": hours},
        "ata_smart_attributes": {"revision": 16, "table": list(attributes)},
    }
    if pages:
        listed = [{"number": number, "table": rows} for number, rows in pages.items()]
        document["ata_device_statistics"] = {"pages": listed}
    return {**document, **more}


def nvme(
    model: str,
    serial: str,
    *,
    units_written: int = 0,
    percentage_used: int = 0,
    media_errors: int = 0,
    critical_warning: int = 0,
    hours: int = 1000,
    **more: Any,
) -> dict[str, Any]:
    return {
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": model,
        "serial_number": serial,
        "firmware_version": "N1",
        "user_capacity": {"bytes": 500_107_862_016},
        "logical_block_size": 512,
        "smart_status": {"passed": not critical_warning},
        "temperature": {"current": 35},
        "power_on_time": {"hours": hours},
        "nvme_smart_health_information_log": {
            "critical_warning": critical_warning,
            "available_spare": 100,
            "available_spare_threshold": 10,
            "percentage_used": percentage_used,
            "data_units_written": units_written,
            "media_errors": media_errors,
            "unsafe_shutdowns": 3,
        },
        **more,
    }


def sas(
    model: str,
    serial: str,
    *,
    gigabytes: str = "1000.000",
    defects: int = 0,
    uncorrected: int = 0,
    **more: Any,
) -> dict[str, Any]:
    return {
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": "/dev/sda", "type": "scsi", "protocol": "SCSI"},
        "scsi_model_name": model,
        "scsi_revision": "R1",
        "serial_number": serial,
        "logical_unit_id": "0x5000c5001234abcd",
        "user_capacity": {"bytes": 4_000_787_030_016},
        "logical_block_size": 512,
        "rotation_rate": 7200,
        "smart_status": {"passed": True},
        "temperature": {"current": 34, "drive_trip": 68},
        "power_on_time": {"hours": 43549},
        "scsi_grown_defect_list": defects,
        "scsi_error_counter_log": {
            "read": {"gigabytes_processed": "1.000", "total_uncorrected_errors": 0},
            "write": {"gigabytes_processed": gigabytes, "total_uncorrected_errors": uncorrected},
        },
        **more,
    }

"""The files of a run, as a host writes them."""

from __future__ import annotations

import json
from typing import Any

KEY = "abcdefghijklmnop"
SECTOR = 512
CHUNK_SECTORS = 128


def fio_json(jobs: int = 2, ios: int = 6000, seconds: int = 60) -> bytes:
    """Reads of 4 KiB; each request took 1 or 2 ms."""
    entries = []
    for number in range(jobs):
        mine = ios // jobs
        half = mine // 2
        read = {
            "io_bytes": mine * 4096, "io_kbytes": mine * 4, "bw_bytes": mine * 4096 // seconds,
            "bw": mine * 4 // seconds, "iops": mine / seconds, "runtime": seconds * 1000,
            "total_ios": mine,
            "clat_ns": {
                "min": 1_003_520, "max": 2_007_040, "mean": 1_505_280.0, "stddev": 1.0, "N": mine,
                "bins": {"1003520": half, "2007040": mine - half},
            },
        }  # fmt: skip
        entries.append(
            {"jobname": f"j{number}", "groupid": 0, "error": 0, "read": read, "write": {}}
        )
    return json.dumps({"fio version": "fio-3.33", "jobs": entries}).encode()


def iops_log(iops: int, seconds: int = 60) -> bytes:
    return "".join(
        f"{ms}, {iops}, 0, 0, 0\n" for ms in range(500, seconds * 1000 + 1, 500)
    ).encode()


def legs(
    seconds: int = 60, reads_s: int = 100, missed_share: float = 0.25, promotions_s: int = 2
) -> bytes:
    """Of a dm-cache: the slow leg reads what was missed, and whole chunks to promote them."""
    rows = []
    for ms in range(0, seconds * 1000 + 1, 500):
        reads = reads_s * ms // 1000
        missed, promoted = int(reads * missed_share), promotions_s * ms // 1000
        rows.append(
            {
                "ms": ms,
                "top": {
                    "reads": reads, "read_sectors": reads * 8, "writes": 0, "written_sectors": 0,
                },
                "slow": {"reads": missed, "read_sectors": missed * 8 + promoted * CHUNK_SECTORS},
                "fast": {"reads": reads - missed, "written_sectors": promoted * CHUNK_SECTORS},
                "meta": {"written_sectors": promoted * 8},
                "cache": {
                    "promotions": 7 + promoted, "demotions": promoted,
                    "chunk_bytes": CHUNK_SECTORS * SECTOR,
                },
                "cpu": {"busy": ms, "total": 4 * ms},
            }
        )  # fmt: skip
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def run_json(**changes: Any) -> bytes:
    said = {
        "v": 1, "key": KEY, "outcome": "finished", "message": "", "correction": "",
        "boot_id": "boot", "reached_seconds": 60, "pauses": [], "args": {"seed": 7},
        "begun_ns": 1, "state_before": {"used_percent": 0},
    }  # fmt: skip
    return json.dumps(said | changes).encode()


def conditions(**changes: Any) -> bytes:
    said = {
        "kernel": {"release": "6.1.0", "version": "#1"},
        "versions": {"fio": "3.33", "lvm2": "2.03"},
        "disks": [{"name": "sda", "tier": "slow", "model": "HDD"}],
    }
    return json.dumps(said | changes).encode()


def files(**changes: bytes | None) -> dict[str, bytes]:
    """Of a run of a minute, two streams, 100 IOPS; a change names a file with `_` for its dots."""
    made: dict[str, bytes] = {
        "run.json": run_json(),
        "conditions.json": conditions(),
        "fio.json": fio_json(),
        "iops.1.log": iops_log(50),
        "iops.2.log": iops_log(50),
        "legs.jsonl": legs(),
    }
    for name, content in changes.items():
        key = name.replace("_", ".")
        made.pop(key, None)
        if content is not None:
            made[key] = content
    return made

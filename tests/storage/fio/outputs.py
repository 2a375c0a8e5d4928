"""Small invented outputs of fio, one for each shape."""

from __future__ import annotations

import json
from typing import Any

from storage.fio.reading import read_outputs
from storage.fio.results import Imported, JobResult

Json = dict[str, Any]


def latency(mean: float = 250_000.0, count: int = 4000, **more: Any) -> Json:
    """A latency in the units of its key."""
    return {"min": mean / 10, "max": mean * 10, "mean": mean, "stddev": 1.0, "N": count, **more}


def direction(
    total_ios: int = 4000, runtime_ms: int = 2000, block: int = 4096, **more: Any
) -> Json:
    """A direction as fio 3 writes it."""
    io_bytes = total_ios * block
    bw_bytes = io_bytes * 1000 // runtime_ms if runtime_ms else 0
    return {
        "io_bytes": io_bytes,
        "io_kbytes": io_bytes >> 10,
        "bw_bytes": bw_bytes,
        "bw": bw_bytes >> 10,
        "iops": total_ios * 1000 / runtime_ms if runtime_ms else 0.0,
        "runtime": runtime_ms,
        "total_ios": total_ios,
        "clat_ns": latency(
            count=total_ios, percentile={"50.000000": 240_000, "99.000000": 900_000}
        ),
        "iops_mean": 99_999.0,
        "bw_mean": 99_999.0,
        **more,
    }


IDLE = direction(0, 0, clat_ns=latency(0, 0))


def job(name: str = "a", *, read: Json | None = None, **more: Any) -> Json:
    """A job that reads."""
    return {
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "elapsed": 3,
        "job options": {"rw": "randread", "bs": "4k"},
        "read": direction() if read is None else read,
        "write": IDLE,
        "trim": IDLE,
        **more,
    }


def document(
    *jobs: Json, version: str = "fio-3.36", at_ms: int = 1_700_000_000_000, **more: Any
) -> Json:
    """An output with its jobs."""
    return {
        "fio version": version,
        "timestamp_ms": at_ms,
        "global options": {"direct": "1"},
        "jobs": list(jobs or (job(),)),
        **more,
    }


def text_of(*documents: Json) -> bytes:
    return "\n".join(json.dumps(one, indent=1) for one in documents).encode()


def imported(*documents: Json) -> Imported:
    return read_outputs({"out.json": text_of(*documents)})


def only_job(result: Imported) -> JobResult:
    assert not result.refusals
    (only,) = result.jobs
    return only


def codes(result: Imported) -> set[str]:
    return {remark.code for remark in result.refusals}


def warned(result: Imported) -> set[str]:
    return {remark.code for remark in result.warnings}


def read(name: str, text: str) -> Imported:
    return read_outputs({name: text.encode()})

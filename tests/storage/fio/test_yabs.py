"""YABS: units that are tested, speeds without counts or latencies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.fio.results import Imported
from tests.storage.fio.outputs import codes, only_job, read, warned

HEAD = """# ## ## #
#              Yet-Another-Bench-Script              #
#                     v{version}                    #
"""
TABLE = """fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda1):
---------------------------------
Block Size | 4k            (IOPS) | 1m           (IOPS)
  ------   | ---            ----  | ----           ----
Read       | {speed} MB/s  (27.0k) | 2.93 GB/s     (2.8k)
Write      | {speed} MB/s  (27.0k) |
Total      | 216.55 MB/s  (54.1k) | 2.36 GB/s    (36.9k)
"""


def report(*tests: Any, **more: Any) -> str:
    return json.dumps({"version": "v2025-04-20", "fio": list(tests), **more})


def test_of(bs: str = "4k", speed: int = 40_000, iops: float = 10_000) -> dict[str, Any]:
    return {
        "bs": bs,
        "speed_r": speed,
        "iops_r": iops,
        "speed_w": speed,
        "iops_w": iops,
        "speed_units": "KBps",
    }


test_of.__test__ = False  # type: ignore[attr-defined]


def read_speed(result: Imported) -> float | None:
    return only_job(result).directions["read"].bytes_per_s


def test_kbps_is_kib_a_second() -> None:
    job = only_job(read("y.json", report(test_of())))
    result = job.directions["read"]
    assert (result.bytes_per_s, result.iops) == (40_000 * 1024, 10_000)
    assert (job.block_size_bytes, result.iops_from) == (4096, "printed")
    assert result.comparable
    assert (result.total_ios, result.runtime_ms, result.latency) == (None, None, None)


def test_kbps_is_1000_bytes_where_only_that_gives_the_block_size() -> None:
    assert read_speed(read("y.json", report(test_of(speed=40_960)))) == 40_960_000


def test_a_speed_that_is_not_iops_times_block_is_not_comparable() -> None:
    result = only_job(read("y.json", report(test_of(speed=80_000)))).directions["read"]
    assert [reason.code for reason in result.reasons] == ["speed-differs-from-iops"]


def test_lists_of_older_versions_are_read() -> None:
    job = only_job(read("y.json", report(["64k", 64_000, 1000, 128_000, 2000, 192_000, 3000])))
    assert job.directions["write"].bytes_per_s == 128_000 * 1024


def test_reads_and_writes_ran_together() -> None:
    assert warned(read("y.json", report(test_of()))) == {"mixed-50-50"}


def test_a_report_without_fio_is_refused() -> None:
    assert codes(read("y.json", report(geekbench=[]))) == {"yabs-without-fio"}
    text = HEAD.format(version="2021-06-05") + "dd Sequential Disk Speed Tests:\n"
    assert codes(read("y.txt", text)) == {"yabs-without-fio"}


@pytest.mark.parametrize("value", [-1, 10**30, "fast", float("nan")])
def test_impossible_speeds_never_arrive(value: Any) -> None:
    result = read("y.json", report(test_of(speed=value)))
    assert all(
        direction.bytes_per_s is None
        for job in result.jobs
        for direction in job.directions.values()
    )


@pytest.mark.parametrize(
    ("head", "speed", "bytes_per_s"),
    [
        (HEAD.format(version="2021-06-05"), 108.13, 108.13e6 * 1.024),
        (HEAD.format(version="2026-07-03"), 110.73, 110.73e6),
        ("", 108.13, 108.13e6 * 1.024),
        ("", 110.73, 110.73e6),
    ],
)
def test_the_text_divided_kib_by_1000_until_it_was_mended(
    head: str, speed: float, bytes_per_s: float
) -> None:
    result = read("y.txt", head + TABLE.format(speed=speed))
    first = result.jobs[0].directions["read"]
    assert first.bytes_per_s == pytest.approx(bytes_per_s)
    assert first.iops == 27_000
    assert first.comparable
    assert set(result.jobs[1].directions) == {"read"}


def test_the_table_alone_is_read_from_notes_too() -> None:
    rows = TABLE.format(speed=108.13).splitlines()[2:]
    plain = read("notes.txt", "\n".join(rows))
    marked = read("notes.md", "\n".join(f"| {row} |" for row in rows))
    for result in (plain, marked):
        assert [job.block_size_bytes for job in result.jobs] == [4096, 1024**2]
        assert result.jobs[0].directions["read"].bytes_per_s == pytest.approx(108.13e6 * 1.024)


def test_two_reports_are_two_machines() -> None:
    text = HEAD.format(version="2021-06-05") + TABLE.format(speed=108.13)
    assert [job.document for job in read("y.txt", text + text).jobs] == [0, 0, 1, 1]
    assert [job.document for job in read("y.txt", TABLE.format(speed=108) * 2).jobs] == [0, 0, 1, 1]

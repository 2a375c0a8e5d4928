"""Terse lines of every version."""

from __future__ import annotations

import pytest

from tests.storage.fio.outputs import codes, only_job, read, warned

PERCENTILES = [f"{percent:.6f}%={percent * 10:.0f}" for percent in (50, 95, 99)] + ["0%=0"] * 17
TAIL = ["1.5%", "2.5%", "9", "0", "3", *["0.1%"] * 7, *["0.00%"] * 22]


def fields(
    kib: int = 4096, iops: int = 512, runtime_ms: int = 2000, *, version: int = 3
) -> list[str]:
    """A direction: 41 fields, 47 in version 5."""
    rate = [str(kib), str(kib * 1000 // runtime_ms), str(iops), str(runtime_ms)]
    after = ["7", "3000", "98.500000%", "2000.0", "10.0"] + ["4"] * (6 if version == 5 else 0)
    lat = ["30", "9010", "260.500000", "4.0"]
    return [
        *rate,
        "1",
        "20",
        "5.5",
        "1.0",
        "25",
        "9000",
        "250.250000",
        "4.0",
        *PERCENTILES,
        *lat,
        *after,
    ]


def idle(version: int = 3) -> list[str]:
    return [
        "0%=0" if "%=" in field else "0.0%" if "%" in field else "0"
        for field in fields(version=version)
    ]


def line(*directions: list[str], head: str = "3;fio-3.7;job;0;0") -> str:
    return ";".join([head, *(field for one in directions for field in one), *TAIL]) + "\n"


def test_microseconds_and_kib_stay_in_fio_3() -> None:
    job = only_job(read("o.txt", line(fields(), fields(1024, 128))))
    result = job.directions["read"]
    assert (job.jobname, job.group, job.error, job.fio_version) == ("job", 0, 0, "fio-3.7")
    assert (result.io_bytes, result.runtime_ms) == (4096 * 1024, 2000)
    assert result.clat and result.clat.mean_ns == 250_250
    assert result.clat.printed_percentiles_ns == {50: 500_000, 95: 950_000, 99: 990_000}
    assert result.lat and result.lat.mean_ns == 260_500
    assert job.directions["write"].io_bytes == 1024 * 1024


def test_the_rate_is_as_printed_and_there_is_no_count() -> None:
    result = only_job(read("o.txt", line(fields(), idle()))).directions["read"]
    assert (result.total_ios, result.iops, result.iops_from) == (None, 512, "printed")


def test_an_idle_direction_is_not_there() -> None:
    assert set(only_job(read("o.txt", line(idle(), fields()))).directions) == {"write"}


@pytest.mark.parametrize(
    ("version", "head"), [(2, "2;job;0;0"), (4, "4;fio-3.30;job;0;0"), (5, "5;fio-3.30;job;0;0")]
)
def test_trims_are_in_versions_2_4_and_5(version: int, head: str) -> None:
    parts = [fields(version=version), idle(version), fields(77, 9, version=version)]
    job = only_job(read("o.txt", line(*parts, head=head)))
    assert set(job.directions) == {"read", "trim"}
    assert job.directions["trim"].io_bytes == 77 * 1024


def test_version_2_of_fio_1_has_no_rate_and_no_percentiles() -> None:
    old = ["4096", "2048", "2000", "1", "2", "1.5", "0.1", "25", "900", "250.5", "4.0"]
    old += ["30", "910", "260.5", "4.0", "7", "3000", "98.500000%", "2000.0", "10.0"]
    job = only_job(read("o.txt", line(old, old, head="2;old job;0;0")))
    result = job.directions["write"]
    assert (job.jobname, result.io_bytes, result.iops) == ("old job", 4096 * 1024, None)
    assert result.clat and result.clat.mean_ns == 250_500


def test_a_name_may_hold_what_separates_fields() -> None:
    job = only_job(read("o.txt", line(fields(), idle(), head="3;fio-3.7;50%;of 4k;2;0")))
    assert (job.jobname, job.group) == ("50%;of 4k", 2)


def test_lines_of_a_group_are_jobs_of_it() -> None:
    text = line(fields(4000, runtime_ms=2001), idle()) + line(fields(4100), idle())
    result = read("o.txt", f"fio: some note\n{text}")
    assert [job.index for job in result.jobs] == [0, 1]
    assert all(job.comparable for job in result.jobs)


def test_what_a_status_interval_writes_on_the_way_is_interim() -> None:
    text = "".join(line(fields(1000 * n, runtime_ms=1000 * n), idle()) for n in (1, 2, 3))
    assert [job.comparable for job in read("o.txt", text).jobs] == [False, False, True]


def test_gtod_reduce_leaves_no_latency() -> None:
    row = [*fields()[:4], *["0"] * 8, *["0%=0"] * 20, *["0"] * 4, *fields()[-5:]]
    assert only_job(read("o.txt", line(row, idle()))).directions["read"].clat is None


def test_a_failed_job_is_shown_and_not_compared() -> None:
    job = only_job(read("o.txt", line(fields(), idle(), head="3;fio-3.7;job;0;5")))
    assert [reason.code for reason in job.reasons] == ["job-error"]


@pytest.mark.parametrize("damage", [";512;", ";2048;"])
def test_a_line_that_is_cut_or_shifted_is_refused(damage: str) -> None:
    text = line(fields(), fields()).replace(damage, ";", 1)
    assert codes(read("o.txt", text)) == {"terse-invalid"}
    assert codes(read("o.txt", line(fields(), fields())[:300])) == {"terse-invalid"}


def test_a_signal_is_heard_here_too() -> None:
    result = read("o.txt", "fio: terminating on signal 15\n" + line(fields(), idle()))
    assert warned(result) == {"stopped-by-signal"}

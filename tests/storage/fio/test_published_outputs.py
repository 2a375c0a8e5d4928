"""Outputs of fio and YABS that people published, read in place.

`TIERCEL_PUBLISHED_FIO` names a folder that has one folder for each output: `input.*` as it was
published and `expected.json` with the right values. They belong to their publishers, so that none
is in this repository. The modules beside this one have small inputs of the same shapes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from storage.fio.log_series import windows
from storage.fio.reading import read_outputs
from storage.fio.results import DirectionResult, Imported, JobResult, LoggedSeries

FOLDER = os.environ.get("TIERCEL_PUBLISHED_FIO")
OUTPUTS = sorted(path.parent for path in Path(FOLDER).glob("*/expected.json")) if FOLDER else []
DIRECTIONS = ("read", "write", "trim", "mixed")

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="TIERCEL_PUBLISHED_FIO names no folder of published outputs"
)


@pytest.fixture(params=OUTPUTS, ids=lambda path: path.name)
def output(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def expected_of(output: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((output / "expected.json").read_text())
    return values


def imported_from(output: Path) -> Imported:
    return read_outputs({path.name: path.read_bytes() for path in output.glob("input.*")})


def same(value: float | None, expected: float | None) -> None:
    """To six figures."""
    if expected is None:
        assert value is None
    else:
        assert value == pytest.approx(expected, rel=1e-6)


def check_direction(result: DirectionResult, expected: dict[str, Any]) -> None:
    for key in ("total_ios", "runtime_ms", "io_bytes", "iops"):
        if key in expected:
            same(getattr(result, key), expected[key])
    if "bytes_per_s" in expected:
        same(result.bytes_per_s, expected["bytes_per_s"])
    if "iops_field" in expected:
        same(result.iops_printed, expected["iops_field"])
    latency = result.clat
    same(latency and latency.mean_ns, expected.get("clat_mean_ns"))
    for percent in (50, 95, 99):
        same(latency and latency.percentile_ns(percent), expected.get(f"p{percent}_ns"))
    if "percentiles_from" in expected:
        assert latency is not None
        assert latency.percentiles_from == expected["percentiles_from"]


def check_job(job: JobResult, expected: dict[str, Any]) -> None:
    assert job.jobname == expected["jobname"]
    assert (job.group, job.error) == (expected["groupid"], expected["error"])
    assert job.host == expected.get("hostname")
    assert job.is_sum_of_others == expected.get("is_sum_of_the_others", False)
    if "document" in expected:
        assert (job.document, job.index) == (expected["document"], expected["index"])
    assert set(job.directions) == {name for name in DIRECTIONS if name in expected}
    for name, result in job.directions.items():
        check_direction(result, expected[name])


def test_jobs_have_the_right_values(output: Path) -> None:
    expected, imported = expected_of(output), imported_from(output)
    jobs = expected.get("jobs", [])
    if "jobs" in expected:
        assert len(imported.jobs) == len(jobs)
    for job, values in zip(imported.jobs, jobs, strict=False):
        check_job(job, values)


def test_yabs_has_the_right_speeds(output: Path) -> None:
    expected, imported = expected_of(output), imported_from(output)
    tests = expected.get("fio", [])
    if "fio" in expected:
        assert len(imported.jobs) == len(tests)
        assert "mixed-50-50" in {remark.code for remark in imported.warnings}
    for job, values in zip(imported.jobs, tests, strict=False):
        sizes = {"4k": 4096, "64k": 65536, "512k": 524288, "1m": 1048576}
        assert job.block_size_bytes == (values.get("bs_bytes") or sizes[values["bs"]])
        assert job.comparable
        for name in ("read", "write"):
            check_direction(job.directions[name], values[name])
            assert job.directions[name].comparable


def check_series(series: LoggedSeries, expected: dict[str, Any]) -> None:
    assert (series.rows, series.columns) == (expected["rows"], expected["columns"])
    same(float(series.times_ms.max()), expected["last_ms"])
    if "bytes" in expected:
        assert series.every_io
        assert series.io_bytes == expected["bytes"]
        same(float(series.times_ms.min()), expected["first_ms"])
    for key in ("sum_ios", "sum_KiB"):
        if key in expected:
            same(windows(series).total, expected[key])
    if "unit" in expected:
        assert series.unit == expected["unit"]


def test_logs_have_the_right_sums(output: Path) -> None:
    expected, imported = expected_of(output), imported_from(output)
    for file, directions in expected.get("files", {}).items():
        for direction, values in directions.items():
            if "bins" in values:
                histogram = next(one for one in imported.histograms if one.file == file)
                assert (len(histogram.rows), histogram.last_ms) == (
                    values["rows"],
                    values["last_ms"],
                )
                bins = histogram.total
                assert bins.geometry.bins == values["bins"]
                same(bins.count, values["total_ios_in_log"])
                same(bins.mean_ns, values["mean_ns_from_bins"])
                for percent in (50, 95, 99):
                    same(bins.percentile_ns(percent), values[f"p{percent}_ns"])
            else:
                check_series(
                    next(
                        one
                        for one in imported.series
                        if (one.file, one.direction) == (file, direction)
                    ),
                    values,
                )


REFUSED = {
    "hist-3.7-impossible-counts": {"impossible-bins"},
    "json-3.1-steadystate-elided": {"json-invalid"},
    "json-3.36-cut-after-errors": {"json-cut-off"},
    "logs-3.19-doubled-rows": {"log-rows-doubled"},
    "logs-broken-token": {"log-row-invalid", "empty", "log-of-one-row"},
}
WARNED = {
    "json-3.13-false-unit-in-key": "unknown-latency-key",
    "json-3.33-stopped": "stopped-by-signal",
    "text-3.41-rate": "rate-limited",
    "logs-2.20-every-io": "log-of-every-io",
}


def test_what_cannot_be_true_is_refused_with_its_reason(output: Path) -> None:
    expected, imported = expected_of(output), imported_from(output)
    codes = {remark.code for remark in imported.refusals}
    if output.name in REFUSED:
        assert codes == REFUSED[output.name]
        assert not (imported.jobs or imported.series or imported.histograms)
    else:
        assert not codes
    if output.name in WARNED:
        assert WARNED[output.name] in {remark.code for remark in imported.warnings}
    refused = {(row["index"], row.get("direction")) for row in expected.get("refuse_jobs", [])}
    not_comparable = {(job.index, None) for job in imported.jobs if not job.comparable} | {
        (job.index, name)
        for job in imported.jobs
        for name, result in job.directions.items()
        if not result.comparable
    }
    sums = {(job.index, None) for job in imported.jobs if job.is_sum_of_others}
    assert not_comparable == refused | sums

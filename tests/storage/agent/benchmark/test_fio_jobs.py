"""The command lines of fio: what a run writes down stays small enough."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.benchmark import fio_jobs
from storage.agent.benchmark.kept_results import BYTES_LIMIT

RUN: dict[str, Any] = {
    "vg": "vg0",
    "key": "aaaaaaaa",
    "target": "hdd",
    "data_bytes": 64 << 20,
    "cache_bytes": 0,
    "state": "new",
    "profile": "mixed",
    "seconds": 60,
    "seed": 7,
    "jobs": 1,
    "iodepth": 4,
    "block_bytes": 4096,
}
IOPS_ROW_BYTES, HISTOGRAM_ROW_BYTES, LEGS_ROW_BYTES = 32, 5000, 600


@pytest.mark.parametrize("seconds", [5, 120, 1800, 7200, 12 * 3600, 24 * 3600])
@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_the_logs_of_the_longest_run_fit_its_result(seconds: int, jobs: int) -> None:
    args = {**RUN, "seconds": seconds, "jobs": jobs}
    rows = 1000 * seconds / fio_jobs.log_ms(args)
    histograms = 1000 * seconds / fio_jobs.histogram_ms(args)
    size = rows * LEGS_ROW_BYTES + 2 * jobs * rows * IOPS_ROW_BYTES
    size += 2 * jobs * histograms * HISTOGRAM_ROW_BYTES
    assert size < BYTES_LIMIT
    assert fio_jobs.log_ms(args) == 500 or seconds > 7200
    assert fio_jobs.histogram_ms(args) % 1000 == 0


def test_what_warms_a_cache_reads_the_same_blocks_as_what_is_measured() -> None:
    args = {**RUN, "state": "warmed", "warm_seconds": 30}
    differ = {"name", "runtime"}
    kept = [
        {word for word in words if word[2:].partition("=")[0] not in differ}
        for words in (fio_jobs.warm_argv(args), fio_jobs.measure_argv(args, "/x"))
    ]
    assert kept[0] <= kept[1]


def test_fio_is_one_process_that_a_signal_reaches() -> None:
    args = {**RUN, "state": "junk", "cache_bytes": 16 << 20, "target": "lvmcache"}
    for words in (
        fio_jobs.layout_argv(args),
        fio_jobs.junk_argv(args),
        fio_jobs.warm_argv(args),
        fio_jobs.measure_argv(args, "/x"),
    ):
        assert "--thread=1" in words and "--direct=1" in words


def test_junk_lies_behind_the_data() -> None:
    args = {**RUN, "state": "junk", "cache_bytes": 16 << 20, "target": "lvmcache"}
    words = fio_jobs.junk_argv(args)
    assert f"--offset={64 << 20}" in words and f"--size={20 << 20}" in words
    assert f"--size={84 << 20}" in fio_jobs.layout_argv(args)
    assert f"--size={64 << 20}" in fio_jobs.measure_argv(args, "/x")

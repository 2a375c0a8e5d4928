"""Logs of jobs whose windows drift, on one grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.fio.log_series import Windows, mean_latency_ns, merge, merged_logs, windows
from storage.fio.reading import read_outputs
from storage.fio.results import FioRefusal, Imported, LoggedSeries
from tests.storage.fio.outputs import direction, document, job, read, text_of

drifts = st.lists(st.integers(0, 9), min_size=20, max_size=60)
rates = st.lists(st.integers(200, 90_000), min_size=60, max_size=60)


def log_of(times: list[int], values: list[int], way: int = 0) -> bytes:
    return "".join(
        f"{time}, {value}, {way}, 0\n" for time, value in zip(times, values, strict=False)
    ).encode()


def series_of(times: list[int], values: list[int]) -> LoggedSeries:
    (series,) = read_outputs({"x_iops.1.log": log_of(times, values)}).series
    return series


def drifting(steps: list[int]) -> list[int]:
    """Times as fio has them: each window a little longer than 500 ms."""
    return np.cumsum([500 + step for step in steps]).tolist()


@given(
    st.lists(st.tuples(drifts, rates), min_size=1, max_size=4), st.sampled_from([250, 500, 1000])
)
def test_merged_jobs_have_what_fio_counted(
    jobs: list[tuple[list[int], list[int]]], step_ms: int
) -> None:
    """To 0.2 %: fio rounds the rate of a window, nothing else is lost."""
    counted, logged = 0.0, []
    for steps, per_s in jobs:
        times = drifting(steps)
        ios = [
            round(rate * (end - start) / 1000)
            for rate, (start, end) in zip(per_s, pairwise([0, *times]), strict=False)
        ]
        values = [
            round(count * 1000 / (end - start))
            for count, (start, end) in zip(ios, pairwise([0, *times]), strict=True)
        ]
        counted += sum(ios)
        logged.append(windows(series_of(times, values)))
    merged = merge(logged, step_ms)
    assert merged.together.total == pytest.approx(counted, rel=0.002)
    assert sum(grid.total for grid in merged.apart) == pytest.approx(merged.together.total)


def test_steady_jobs_stay_steady_however_their_windows_lie() -> None:
    jobs = [windows(series_of(drifting([step] * 30), [1000] * 30)) for step in (0, 3, 7)]
    grid = merge(jobs).together
    assert grid.rates[:30] == pytest.approx(np.full(30, 3000.0))


def test_what_the_last_row_lacks_is_a_last_piece() -> None:
    series = series_of([500, 1000, 1500], [1000] * 3)
    whole = windows(series, total=1600, runtime_ms=1700)
    assert (whole.total, whole.ends_ms[-1], whole.amounts[-1]) == (1600, 1700, 100)
    assert windows(series, total=1600).total == 1600
    assert windows(series).total == 1500
    assert windows(series, total=1499).total == 1500


def test_what_rounding_lost_makes_no_peak_at_the_end() -> None:
    whole = windows(series_of([500, 1000, 1500], [1000] * 3), total=1510, runtime_ms=1501)
    assert whole.total == pytest.approx(1510)
    assert merge([whole]).together.rates.max() == pytest.approx(1000, rel=0.01)


def test_a_total_of_another_job_changes_nothing() -> None:
    series = series_of([500, 1000, 1500], [1000] * 3)
    assert windows(series, total=9000, runtime_ms=1600).total == 1500


def test_logs_of_an_import_are_merged_with_the_totals_of_their_jobs() -> None:
    jobs = [job(read=direction(2100, 2100)), job(read=direction(2200, 2200))]
    files = {f"x_iops.{n}.log": log_of([1000, 2000], [1000, 1000]) for n in (1, 2)}
    imported = read_outputs({**files, "x.json": text_of(document(*jobs))})
    merged = merged_logs(imported, "iops", "read")
    assert merged and merged.together.total == pytest.approx(4300)
    assert [grid.total for grid in merged.apart] == pytest.approx([2100, 2200])
    assert merged_logs(imported, "iops", "write") is None
    alone = merged_logs(read_outputs(files), "iops", "read")
    assert alone and alone.together.total == pytest.approx(4000)


def test_a_late_sample_counts_its_whole_window() -> None:
    assert windows(series_of([500, 1505, 2005], [100, 100, 100])).total == pytest.approx(200.5)


def test_a_gap_stays_a_gap() -> None:
    logged = windows(series_of([500, 1000, 6000, 6500], [100] * 4))
    assert logged.total == 200
    rates = merge([logged]).together.rates
    assert np.isnan(rates[2:11]).all()
    assert rates[[0, 1, 11, 12]] == pytest.approx([100] * 4)


def test_a_known_total_says_that_a_long_window_was_one() -> None:
    series = series_of([500, 1000, 6000, 6500], [100] * 4)
    assert windows(series, total=650).total == 650
    assert windows(series, total=201, runtime_ms=6600).total == 201


def test_a_gap_of_one_job_is_none_of_all() -> None:
    steady = windows(series_of(drifting([0] * 13), [100] * 13))
    merged = merge([windows(series_of([500, 1000, 6000, 6500], [100] * 4)), steady])
    assert not np.isnan(merged.together.rates).any()
    assert np.isnan(merged.apart[0].rates).sum() == 9


def test_a_job_that_began_later_is_shifted() -> None:
    first = windows(series_of([500, 1000], [100, 100]))
    merged = merge([first, first.shifted(1000)])
    assert merged.together.amounts == pytest.approx([50] * 4)


def staggered(**second: int) -> Imported:
    jobs = [job(**({"job_start": 5_000} if second else {})), job(**second)]
    jobs[1]["job options"] = {"stonewall": ""}
    files = {f"x_iops.{n}.log": log_of([1000, 2000], [2000, 2000]) for n in (1, 2)}
    return read_outputs({**files, "x.json": text_of(document(*jobs))})


def test_jobs_that_wait_are_merged_where_they_began() -> None:
    merged = merged_logs(staggered(job_start=7_000), "iops", "read")
    assert merged and merged.together.rates == pytest.approx([2000] * 8)


def test_jobs_that_wait_for_an_unknown_time_are_not_merged() -> None:
    with pytest.raises(FioRefusal, match="log_unix_epoch"):
        merged_logs(staggered(), "iops", "read")


def test_times_since_1970_begin_where_the_run_began() -> None:
    at = 1_700_000_000_000
    logged = windows(series_of([at + 500, at + 1000, at + 1500], [100] * 3))
    assert logged.total == 150
    assert len(merge([logged]).together.amounts) == 3
    text = "".join(f"{at + time}, 1, 0, 4096\n" for time in (0, 10, 700))
    (series,) = read("x_iops.1.log", text).series
    assert merge([windows(series)]).together.amounts.tolist() == [2, 1]


def test_times_too_far_apart_are_refused() -> None:
    far = Windows(np.array([0.0, 1e15]), np.array([500.0, 1e15 + 500]), np.array([1.0, 1.0]))
    with pytest.raises(FioRefusal):
        merge([far])


def test_single_ios_are_spread_by_their_own_times() -> None:
    text = "".join(f"{time}, 1, 0, 4096\n" for time in (0, 10, 10, 700, 1499))
    (series,) = read("x_iops.1.log", text).series
    assert merge([windows(series)]).together.amounts.tolist() == [3, 1, 1]
    (series,) = read("x_bw.1.log", text).series
    assert windows(series).total == pytest.approx(20)


def test_the_mean_latency_is_weighted_by_ios() -> None:
    files = {
        "x_iops.1.log": log_of([1000, 2000], [30_000, 10_000]),
        "x_clat.1.log": log_of([1001, 2001], [2_000_000, 6_000_000]),
    }
    series = {one.quantity: one for one in read_outputs(files).series}
    mean = mean_latency_ns(series["clat"], windows(series["iops"]))
    assert mean == pytest.approx(3_000_000, rel=0.002)


def test_a_log_of_latency_counts_nothing() -> None:
    (series,) = read("x_clat.1.log", "1000, 2000000, 0, 0, 0\n2000, 6000000, 0, 0, 0\n").series
    with pytest.raises(ValueError, match="counts nothing"):
        windows(series)

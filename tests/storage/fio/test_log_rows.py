"""Logs as rows: their columns, what they measure, and rows that mean something else."""

from __future__ import annotations

import pytest

from storage.fio.log_series import windows
from storage.fio.reading import read_outputs
from storage.fio.results import Imported, LoggedSeries
from tests.storage.fio.outputs import codes, direction, document, job, read, text_of, warned


def rows(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def only_series(result: Imported) -> LoggedSeries:
    assert not result.refusals
    (series,) = result.series
    return series


def histogram_row(time_ms: int, counts: dict[int, int], width: int = 1856, way: int = 0) -> str:
    return ", ".join(map(str, [time_ms, way, 4096, *(counts.get(n, 0) for n in range(width))]))


@pytest.mark.parametrize("end", ["", ", 0", ", 4096", ", 8192, 0x4001", ", 8192, 0, 77", ", 0,"])
def test_columns_after_the_block_size_do_not_matter(end: str) -> None:
    series = only_series(
        read("x_iops.3.log", rows(f"500, 100, 1, 0{end}", f"1000, 200, 1, 0{end}"))
    )
    assert (series.quantity, series.direction, series.job_number) == ("iops", "write", 3)
    assert windows(series).total == 150


def test_a_maximum_beside_the_mean_is_not_taken_for_the_direction() -> None:
    series = only_series(
        read("x_bw.1.log", rows("500, 100, 900, 0, 0, 0", "1000, 200, 950, 0, 0, 0"))
    )
    assert (series.direction, series.values.tolist()) == ("read", [100, 200])


def test_reads_and_writes_have_windows_of_their_own() -> None:
    result = read(
        "x_iops.1.log", rows("500, 10, 0, 0", "504, 20, 1, 0", "1000, 10, 0, 0", "1008, 20, 1, 0")
    )
    reads, writes = result.series
    assert windows(reads).total == pytest.approx(10)
    assert windows(writes).total == pytest.approx(20 * 1.008)


def test_one_average_has_the_time_since_the_start_as_its_window() -> None:
    assert windows(only_series(read("x_iops.1.log", "10002, 100, 0, 0\n"))).total == 1000.2


def test_rows_of_single_ios_are_counted() -> None:
    text = rows("7, 1, 1, 8192", "3, 1, 0, 8192", "9, 1, 0, 4096", "5, 1, 1, 8192")
    result = read("x_iops.1.log", text)
    assert warned(result) == {"log-of-every-io"}
    reads, writes = result.series
    assert (reads.rows, reads.io_bytes, reads.every_io) == (2, 12_288, True)
    assert windows(writes).total == 2


def test_jobs_that_share_a_file_are_apart() -> None:
    text = rows("500, 10, 0, 0", "1000, 10, 0, 0", "502, 30, 0, 0", "1003, 30, 0, 0")
    assert [one.segment for one in read("x_iops.log", text).series] == [0, 1]


def test_doubled_rows_are_refused() -> None:
    text = rows("500, 10, 0, 0, 0", "500, 12, 0, 0, 0", "1000, 10, 0, 0, 0")
    assert codes(read("x_lat.1.log", text)) == {"log-rows-doubled"}


def test_a_broken_row_is_named() -> None:
    result = read("x_bw.1.log", rows("500, 10, 0, 0", "1000, 4w5, 0, 0", "1500, 10, 0, 0"))
    (refusal,) = result.refusals
    assert (refusal.code, refusal.sentence) == (
        "log-row-invalid",
        "Line 2 is not a row of numbers.",
    )
    cut = read("x_bw.1.log", "500, 10, 0, 0\n1000, 10")
    assert cut.refusals[0].sentence.endswith("The file may be cut off.")


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("x_iops.1.log", "500, 1, 0, 4096\n", "log-of-one-row"),
        ("x_iops.1.log", "0, 10, 0, 0\n", "log-of-one-row"),
        ("x_iops.1.log", " \n", "empty"),
        ("result.log", "500, 10, 0, 0\n1000, 10, 0, 0\n", "log-quantity-unknown"),
        ("x_iops.1.log", "500, 10, 7, 9\n1000, 10, 7, 9\n", "log-direction-unknown"),
        ("x_iops.1.log", "500, 10, 0, 0\n1000, 10, 0, 4096\n", "log-mixed-rows"),
        ("x_iops.1.log", "500, 10\n1000, 10\n", "log-columns-unknown"),
        ("x_iops.1.log", "500, -10, 0, 0\n1000, 10, 0, 0\n", "log-row-invalid"),
        ("x_iops.1.log", f"500, {10**19}, 0, 0\n1000, 10, 0, 0\n", "log-row-invalid"),
        ("x_iops.1.log.fz", "anything", "packed"),
    ],
)
def test_what_gives_no_series_is_refused(name: str, text: str, code: str) -> None:
    result = read(name, text)
    assert codes(result) == {code}
    assert not result.series


LATENCIES = rows("500, 90000, 0, 0", "1000, 110000, 0, 0")


@pytest.mark.parametrize(("version", "mean"), [("fio-2.17", 90_000_000), ("fio-3.7", 90_000)])
def test_the_unit_of_latencies_follows_from_the_version(version: str, mean: float) -> None:
    files = {"x_clat.1.log": LATENCIES.encode(), "x.json": text_of(document(version=version))}
    assert only_series(read_outputs(files)).values[0] == mean


def test_the_unit_of_latencies_follows_from_their_columns() -> None:
    text = rows("500, 90000, 0, 0, 0", "1000, 110000, 0, 0, 0")
    assert only_series(read("x_clat.1.log", text)).values[0] == 90_000


def test_microseconds_that_would_need_too_deep_a_queue_are_nanoseconds() -> None:
    busy = rows("500, 24000, 0, 0", "1000, 24000, 0, 0")
    files = {"x_clat.1.log": LATENCIES.encode(), "x_iops.1.log": busy.encode()}
    clat = next(one for one in read_outputs(files).series if one.unit == "ns")
    assert clat.values[0] == 90_000


@pytest.mark.parametrize(
    ("name", "value"),
    [("x_slat.1.log", 12_000), ("x_clat.1.log", 2_000_000)],
)
def test_microseconds_that_no_run_would_bear_are_nanoseconds(name: str, value: int) -> None:
    text = rows(f"500, {value}, 0, 0", f"1000, {value}, 0, 0")
    assert only_series(read(name, text)).values[0] == value


def test_single_ios_that_would_overlap_too_often_are_nanoseconds() -> None:
    text = rows(*(f"{2000 + n // 10}, 200000, 0, 4096" for n in range(1000)))
    assert only_series(read("x_clat.1.log", text)).values[0] == 200_000


def test_latencies_of_unknown_unit_are_refused() -> None:
    result = read("x_clat.1.log", LATENCIES)
    assert codes(result) == {"latency-unit-unknown"}
    assert not result.series


def test_a_log_of_maxima_has_no_sum() -> None:
    entry = job(**{"job options": {"log_max_value": "1"}})
    files = {
        "x_iops.1.log": rows("500, 9, 0, 0", "1000, 9, 0, 0").encode(),
        "x.json": text_of(document(entry)),
    }
    assert codes(read_outputs(files)) == {"log-of-maxima"}


@pytest.mark.parametrize(("width", "p50_ns"), [(1856, 100), (1216, 100_000), (928, 101), (29, 127)])
def test_a_histogram_says_its_unit_by_its_bins(width: int, p50_ns: float) -> None:
    stride = (1216 if width == 1216 else 1856) // width
    text = rows(*(histogram_row(1000 * n, {100 // stride: 40}, width) for n in (1, 2)))
    (histogram,) = read("x_clat_hist.2.log", text).histograms
    assert (histogram.job_number, len(histogram.rows), histogram.last_ms) == (2, 2, 2000)
    assert histogram.total.count == 80
    assert histogram.total.percentile_ns(50) == pytest.approx(
        p50_ns, rel=0.8 if width == 29 else 0.01
    )


def test_a_histogram_is_summed_over_any_range() -> None:
    text = rows(*(histogram_row(1000 * n, {n: 10}) for n in (1, 2, 3)))
    (histogram,) = read("x_clat_hist.1.log", text).histograms
    part = histogram.between(1000, 3000)
    assert part and part.count == 20
    assert histogram.between(5000, 6000) is None


@pytest.mark.parametrize("count", [127_000_000_000_000_000_000, 2**64 - 5, 10**13])
def test_counts_that_no_device_reaches_are_refused(count: int) -> None:
    assert codes(read("x_clat_hist.1.log", histogram_row(1000, {5: count}))) == {"impossible-bins"}


def test_a_histogram_of_more_than_its_job_did_is_refused() -> None:
    entry = job(read=direction(4000))
    files = {
        "x_clat_hist.1.log": histogram_row(1000, {5: 4100}).encode(),
        "x.json": text_of(document(entry)),
    }
    assert codes(read_outputs(files)) == {"impossible-bins"}

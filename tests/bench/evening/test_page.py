"""The page of an evening says what was published, what was found, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from storage.benchmarks.matrix import Cell
from storage.benchmarks.result_files import RunResult
from storage.benchmarks.summary import DirectionSummary, RunSeries, RunSummary
from tests.bench.evening import page
from tests.bench.evening.line_chart import MOST_POINTS, thinned
from tests.bench.evening.matrix import SIZES, compared, published, six_runs, sweep
from tests.bench.evening.played import Played

NOW = datetime(2026, 11, 27, tzinfo=UTC)
SIZE = SIZES["full"]


def played(cell: Cell, iops: float, hit_rate: float | None = None) -> Played:
    summary = RunSummary(
        seconds=cell.seconds,
        reached_seconds=cell.seconds,
        iops=iops,
        ios=int(iops * cell.seconds),
        bytes_s=4096 * iops,
        read=DirectionSummary(int(iops * cell.seconds), iops, 4096 * iops, 16e9 / iops),
        write=None,
        jobs=(),
        series=RunSeries(500, (iops, None, iops), hit_rate=(hit_rate, hit_rate, hit_rate)),
        hit_rate=hit_rate,
        end_hit_rate=hit_rate,
        first_30s_iops=iops / 2,
        ending="steady",
    )
    result = RunResult("finished", "", "", cell.seconds, "boot", "6.1.0-lab", "3.33", {}, summary)
    return Played(cell, result, summary)


def an_evening() -> page.Evening:
    six = {
        name: played(cell, 150.0 if name == "hdd" else 3000.0, 0.976 if cell.has_cache else None)
        for name, cell in six_runs(SIZE).items()
    }
    swept = {share: played(cell, 3000 / (1 + share), 0.9) for share, cell in sweep(SIZE).items()}
    runs = {
        name: [played(cell, iops * (1 - 0.3 * number), 0.97) for iops in (1000.0, 1010.0, 990.0)]
        for number, (name, cell) in enumerate(compared(SIZE).items())
    }
    return page.Evening(SIZE, six, swept, runs)


def test_each_of_the_six_runs_stands_beside_what_was_published() -> None:
    text = page.page(an_evening(), published(), NOW)
    assert "| SSD baseline | 104,848 | 3,000 | 111.8 | 20.0 |  |  |  |" in text
    assert "| HDD baseline | 938 | 150 | 1.0 | 1.0 |  |  |  |" in text
    assert "| 97.6% | 97.6% | 97.6% |" in text
    assert "27 November 2026: kernel 6.1.0-lab, fio 3.33" in text


def test_how_sure_a_difference_is_stands_in_words() -> None:
    text = page.page(an_evening(), published(), NOW)
    (row,) = [line for line in text.splitlines() if line.startswith("| lvmcache | ")]
    assert row.count("slower by") == 2, "in IOPS and in latency"


def test_a_short_evening_has_no_comparison() -> None:
    text = page.page(replace(an_evening(), compared={}), published(), NOW)
    assert "How sure" not in text and "outgrow" in text


def test_charts_have_a_line_for_each_run_and_units_on_their_axes() -> None:
    drawn = page.charts(an_evening(), published())
    counts = {name: svg.count("<polyline") for name, svg in drawn.items()}
    assert counts == {page.IOPS_CHART: 6, page.HITS_CHART: 4, page.SWEEP_CHART: 1}
    words = drawn[page.HITS_CHART]
    assert ">seconds</text>" in words and ">reads answered by the SSD, %</text>" in words


def test_a_long_line_is_thinned_to_means() -> None:
    line = [(float(n), float(n % 2)) for n in range(3 * MOST_POINTS)]
    few = thinned(line)
    assert len(few) == MOST_POINTS
    assert few[0] == (1.0, 1 / 3)

"""A part of the time of a contest in the finest steps that the raw files have."""

from __future__ import annotations

import gzip
from typing import Final

import numpy as np

from panel.benchmarks.contests import Contest
from panel.benchmarks.drawn_charts import (
    MS_IN_SECOND,
    DrawnChart,
    TimedSeries,
    Values,
    series_of,
    time_charts,
)
from panel.benchmarks.measured import MeasuredRun
from storage.fio.log_series import STEP_MS, merge, windows
from storage.fio.reading import read_outputs
from storage.fio.results import FioRefusal
from storage.models import BenchmarkFile

LOG_OF_IOPS: Final = r"iops\.\d+\.log$"


def zoomed_charts(
    contest: Contest, start: float | None, end: float | None
) -> tuple[DrawnChart, ...]:
    """The charts over time from one second to another; all of it without them."""
    series = {each.key: series_of(each.middle) for each in contest.entrants}
    if start is None or end is None:
        return time_charts(contest, series)
    span = (start * MS_IN_SECOND, end * MS_IN_SECOND)
    charts = time_charts(
        contest,
        {
            each.key: part_of(finest_iops(each.middle) or series[each.key], *span)
            for each in contest.entrants
        },
        span=(start, end),
    )
    hits = time_charts(
        contest,
        {key: part_of(whole, *span) for key, whole in series.items()},
        span=(start, end),
    )
    return (
        *(chart for chart in charts if chart.name == "iops"),
        *(chart for chart in hits if chart.name == "hits"),
    )


def finest_iops(run: MeasuredRun) -> TimedSeries | None:
    """IOPS of all streams on a grid of 500 ms, from the logs; None where there are none."""
    rows = BenchmarkFile.objects.filter(
        run__benchmark__key=run.source.key, run__number=run.number, name__regex=LOG_OF_IOPS
    )
    files = {row.name: gzip.decompress(bytes(row.packed)) for row in rows}
    logged = [each for each in read_outputs(files).series if each.quantity == "iops"]
    if not logged:
        return None
    try:
        grid = merge([windows(each) for each in logged]).together
    except FioRefusal:
        return None
    rates = [None if np.isnan(rate) else float(rate) for rate in grid.rates]
    return TimedSeries(STEP_MS, rates, start_ms=grid.start_ms)


def part_of(series: TimedSeries, start_ms: float, end_ms: float) -> TimedSeries:
    """The part between two times."""
    step = series.step_ms
    first = max(0, int((start_ms - series.start_ms) // step))
    last = max(first, int(-(-(end_ms - series.start_ms) // step)))

    def cut(values: Values) -> Values:
        return values[first:last]

    return TimedSeries(step, cut(series.iops), cut(series.hit_rate), series.start_ms + first * step)

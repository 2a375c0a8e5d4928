"""The invented intervals: the same each time, and of one piece."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from storage.metrics.rates import CachedBy
from storage.metrics.samples.columns import INTERVAL
from tests.fleet.workload import GAUGES, HISTOGRAMS, KINDS, counters, habit, intervals

START, MINUTE = 1_790_000_000, 60
DAY = 1440


def number_of(kind: str, technology: CachedBy) -> int:
    return next(
        n for n in range(1000) if (habit(n).kind, habit(n).technology) == (kind, technology)
    )


def test_every_column_of_an_interval_is_invented() -> None:
    _, columns = intervals(number_of("database", CachedBy.DM_CACHE), START, 10, MINUTE)
    assert set(INTERVAL) - set(columns) == set()


def test_the_same_arguments_give_the_same_intervals_and_other_volumes_others() -> None:
    ends, columns = intervals(7, START, 100, MINUTE)
    again_ends, again = intervals(7, START, 100, MINUTE)
    _, other = intervals(8, START, 100, MINUTE)
    assert (ends == again_ends).all()
    for name, column in columns.items():
        assert column is None or (column == again[name]).all(), name
    assert not np.array_equal(columns["writes"], other["writes"])


@pytest.mark.parametrize("technology", list(CachedBy))
def test_the_figures_of_an_interval_agree_with_each_other(technology: CachedBy) -> None:
    ends, columns = intervals(number_of("database", technology), START, DAY, MINUTE)
    there = {name: column for name, column in columns.items() if column is not None}
    assert (np.diff(ends) == there["dt_ms"][1:]).all()
    assert {name for name, column in there.items() if column.min() < 0} == set()
    assert (there["busy_ms"] <= there["dt_ms"]).all()
    if technology != CachedBy.BCACHE:
        ios = there["reads"] + there["writes"]
        assert (there["latency_counts"].sum(axis=1) == ios).all()
        assert there["reads"].sum() > 0
    if technology == CachedBy.DM_CACHE:
        assert (there["read_hits"] + there["read_misses"] == there["reads"]).all()
    for name in ("slow_reads", "fast_latency_counts", "cache_size_bytes"):
        assert (name in there) == (technology != CachedBy.NONE), name


def test_a_metrics_system_reads_counters_that_never_fall() -> None:
    _, columns = intervals(number_of("site", CachedBy.DM_CACHE), START, 200, MINUTE)
    figures = counters(columns, INTERVAL)
    assert all((np.diff(each) >= 0).all() for name, each in figures.items() if name not in GAUGES)
    assert (np.diff(figures["reads"]) == columns["reads"][1:]).all()
    bounds = [name for name in figures if name.startswith("latency_bucket")]
    assert bounds[0] == 'latency_bucket{le="0.0001"}' and bounds[-1] == 'latency_bucket{le="+Inf"}'
    everything = np.diff(figures[bounds[-1]])
    assert (everything == columns["reads"][1:] + columns["writes"][1:]).all()
    assert "technology" not in figures and not set(HISTOGRAMS) & set(figures)


def test_there_are_volumes_of_every_kind_and_a_quarter_does_nearly_nothing() -> None:
    kinds = Counter(habit(n).kind for n in range(1000))
    assert set(kinds) == set(KINDS)
    assert kinds["idle"] == pytest.approx(250, abs=60)
    _, idle = intervals(number_of("idle", CachedBy.NONE), START, DAY, MINUTE)
    _, busy = intervals(number_of("database", CachedBy.NONE), START, DAY, MINUTE)
    assert idle["reads"].mean() < busy["reads"].mean() / 100

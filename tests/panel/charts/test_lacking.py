"""Which charts have anything to draw, and why the others have not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from panel.charts import definitions
from panel.charts.definitions import ChartLack, ChartPanel
from panel.charts.lacking import as_begun
from storage.metrics.series import UNITS, Series
from tests.storage.metrics.samples.rounds import NOON

PANELS = definitions.panels(plain=False)
POINTS = 3


def measured(histogram: list[int] | None = None, **known: float) -> Series:
    """A series of three buckets in which these figures are known."""
    columns: dict[str, Any] = dict.fromkeys(UNITS, np.full(POINTS, np.nan))
    columns |= {name: np.full(POINTS, value) for name, value in known.items()}
    return Series(
        start=NOON,
        end=NOON + timedelta(minutes=POINTS),
        step_seconds=60,
        columns=columns,
        totals=dict.fromkeys(UNITS),
        seconds=60.0 * POINTS,
        histograms=[histogram] * POINTS,
    )


def begun(series: Series, laid: Series | None = None) -> dict[str, ChartPanel]:
    return {panel.name: panel for panel in as_begun(PANELS, series, {}, laid)}


def test_a_chart_of_known_figures_names_its_lines_for_its_legend() -> None:
    found = begun(measured([5, 1], read_iops=40.0, write_iops=9.0, read_bytes_per_s=1.0))
    assert found["operations"].known == ("Reads", "Writes")
    assert found["operations"].lack is None and not found["operations"].is_hidden
    assert found["latencies"].lack is None
    assert found["throughput"].known == ("Read",)


def test_charts_of_a_cache_say_that_there_was_none() -> None:
    found = begun(measured(read_iops=40.0))
    for name in ("hits", "contents", "churn"):
        assert found[name].lack is ChartLack.NO_CACHE and found[name].is_hidden


def test_of_a_volume_at_rest_the_first_chart_alone_is_drawn() -> None:
    found = begun(measured(read_iops=0.0, write_iops=0.0, read_bytes_per_s=0.0))
    assert found["operations"].lack is None
    assert found["latencies"].lack is found["throughput"].lack is ChartLack.AT_REST


def test_what_was_not_counted_is_distinguished_from_rest() -> None:
    found = begun(measured(read_iops=40.0, cache_size_bytes=1.0))
    assert found["latencies"].lack is ChartLack.NO_LATENCIES
    assert found["throughput"].lack is ChartLack.NO_FIGURES


def test_a_figure_that_is_laid_over_counts_as_known() -> None:
    found = begun(measured(read_iops=40.0), measured(read_bytes_per_s=9.0))
    assert found["throughput"].lack is None and found["throughput"].known == ("Read",)


def test_a_line_has_the_label_that_it_has_in_this_time() -> None:
    panels = as_begun(PANELS, measured(read_iops=40.0), {"read_iops": "web12"}, None)
    assert panels[0].known == ("web12",)

"""A part of the time of a contest in the finest steps that the raw files have."""

from __future__ import annotations

from panel.benchmarks.contests import Contest
from panel.benchmarks.drawn_charts import DrawnChart, series_of, time_charts


def zoomed_charts(
    contest: Contest, start: float | None, end: float | None
) -> tuple[DrawnChart, ...]:
    """The charts over time from one second to another; all of it without them."""
    series = {each.key: series_of(each.middle) for each in contest.entrants}
    return time_charts(contest, series)

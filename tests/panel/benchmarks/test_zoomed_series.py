"""A part of the time in the finest steps."""

from __future__ import annotations

import gzip

import pytest
from django.utils import timezone

from panel.benchmarks.contests import contests_of
from panel.benchmarks.drawn_charts import TimedSeries
from panel.benchmarks.measured import measured_runs
from panel.benchmarks.zoomed_series import part_of, zoomed_charts
from storage.models import BenchmarkFile
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark
from tests.storage.benchmarks.run_files import iops_log


def test_a_part_begins_with_the_step_in_which_its_time_lies() -> None:
    whole = TimedSeries(500, [1.0, 2.0, 3.0, 4.0], [0.1, 0.2, 0.3, 0.4])
    part = part_of(whole, 700, 1600)
    assert (part.start_ms, part.iops, part.hit_rate) == (500, [2.0, 3.0, 4.0], [0.2, 0.3, 0.4])


@pytest.mark.django_db
def test_the_logs_of_all_streams_are_added_up_on_a_grid_of_500_ms() -> None:
    made = make_benchmark(make.host(), EVENING, timezone.now())
    for run in made.runs.all():
        for number in (1, 2):
            content = iops_log(50)
            BenchmarkFile.objects.create(
                run=run,
                name=f"iops.{number}.log",
                packed=gzip.compress(content),
                size_bytes=len(content),
            )
    [contest] = contests_of(measured_runs(made))
    iops, hits = zoomed_charts(contest, 10.0, 12.0)
    assert (iops.span, hits.span) == ((10.0, 12.0), (10.0, 12.0))
    for line in iops.lines:
        assert (line.step, list(line.values)) == (0.5, [pytest.approx(100.0)] * 4)
    assert len(hits.lines) == 2


@pytest.mark.django_db
def test_without_logs_the_summary_is_drawn() -> None:
    made = make_benchmark(make.host(), EVENING, timezone.now())
    [contest] = contests_of(measured_runs(made))
    iops, _ = zoomed_charts(contest, 10.0, 12.0)
    assert all(len(line.values) == 4 for line in iops.lines)

"""Runs that are named, and benchmarks of a list."""

from __future__ import annotations

import pytest
from django.utils import timezone

from panel.benchmarks.stored_runs import (
    UnknownRuns,
    briefly_measured,
    named_runs,
    with_brief_runs,
)
from storage.models import Benchmark
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark

pytestmark = pytest.mark.django_db


def test_whole_benchmarks_and_single_runs_are_named() -> None:
    made, staff = make_benchmark(make.host(), EVENING, timezone.now()), make.staff_user()
    assert len(named_runs([made.key], staff)) == 12
    assert [run.number for run in named_runs([f"{made.key}.3", f"{made.key}.1"], staff)] == [3, 1]
    both = named_runs(["published", made.key, f"{made.key}.3"], staff)
    assert len(both) == 6 + 12


@pytest.mark.parametrize("name", ["nothing", "a.b", "", "x" * 40, "a.99999"])
def test_what_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(UnknownRuns):
        named_runs([name], make.staff_user())


def test_a_run_without_a_result_cannot_be_named() -> None:
    made = make_benchmark(make.host(), EVENING, timezone.now(), done=2)
    with pytest.raises(UnknownRuns, match="No benchmark or run with a result"):
        named_runs([f"{made.key}.3"], make.staff_user())


def test_customers_see_no_benchmark() -> None:
    made = make_benchmark(make.host(), EVENING, timezone.now())
    with pytest.raises(UnknownRuns):
        named_runs([made.key], make.user())


def test_a_list_does_not_load_what_happened_over_time() -> None:
    make_benchmark(make.host(), EVENING, timezone.now())
    [row] = with_brief_runs(Benchmark.objects.all())
    assert "series" not in row.brief_runs[0].brief  # type: ignore[attr-defined]
    runs = briefly_measured(row)
    assert len(runs) == 12
    assert runs[0].summary.iops > 0 and runs[0].summary.series.iops == ()

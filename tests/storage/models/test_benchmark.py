from __future__ import annotations

from datetime import time
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from storage.benchmarks.matrix import BadSpec
from storage.models import (
    Benchmark,
    BenchmarkFile,
    BenchmarkOrigin,
    BenchmarkRun,
    BenchmarkState,
    RunState,
)
from storage.planner.daily_window import DailyWindow
from tests import make
from tests.storage.benchmarks.make_spec import cell, spec

pytestmark = pytest.mark.django_db


def benchmark(**fields: Any) -> Benchmark:
    fields = {"host": make.host(), "spec": spec().to_json()} | fields
    return Benchmark.objects.create(**fields)


def refused(constraint: str, **fields: Any) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        benchmark(**fields)


def test_only_staff_see_benchmarks() -> None:
    benchmark()
    assert Benchmark.objects.visible_to(make.staff_user()).count() == 1
    for stranger in (make.user(), AnonymousUser()):
        assert not Benchmark.objects.visible_to(stranger).exists()


def test_a_benchmark_and_its_runs_give_back_what_was_ordered() -> None:
    made = benchmark()
    run = BenchmarkRun.objects.create(benchmark=made, number=1, cell=cell().to_json())
    assert (made.matrix, run.matrix_cell) == (spec(), cell())
    with pytest.raises(BadSpec):
        _ = Benchmark(spec={}).matrix


def test_results_from_elsewhere_have_no_host_and_are_done() -> None:
    now = timezone.now()
    elsewhere = {"host": None, "origin": BenchmarkOrigin.PUBLISHED, "spec": {}}
    benchmark(**elsewhere, state=BenchmarkState.DONE, ended_at=now)
    refused("benchmark_of_host_or_done", **elsewhere)
    refused("benchmark_of_host_or_done", host=None)


def test_what_is_over_has_an_end_and_one_that_was_cancelled_may_still_wind_down() -> None:
    benchmark(state=BenchmarkState.CANCELLED)
    refused("benchmark_over_has_end", state=BenchmarkState.DONE)
    refused("benchmark_over_has_end", state=BenchmarkState.PAUSED, ended_at=timezone.now())
    refused("benchmark_over_has_end", state="idle")


def test_a_window_and_a_share_are_whole() -> None:
    made = benchmark(window_start=time(2), window_end=time(5), window_zone="UTC")
    assert made.window == DailyWindow(time(2), time(5))
    refused("benchmark_window_whole", window_start=time(2))
    refused("benchmark_share_whole", share_key="k")
    shared = {"share_key": "k", "share_until": timezone.now()}
    benchmark(**shared)
    refused("benchmark_share_key_once", **shared)


def test_a_benchmark_does_one_run_at_a_time_and_numbers_them() -> None:
    made = benchmark()
    BenchmarkRun.objects.create(benchmark=made, number=1, state=RunState.RUNNING)
    for wrong, name in (
        ({"number": 2, "state": RunState.RUNNING}, "benchmark_one_run_at_a_time"),
        ({"number": 1}, "benchmark_run_number_once"),
        ({"number": 2, "state": RunState.DONE}, "benchmark_run_over_has_end"),
    ):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            BenchmarkRun.objects.create(benchmark=made, **wrong)


def test_a_run_keeps_each_file_once() -> None:
    run = BenchmarkRun.objects.create(benchmark=benchmark(), number=1)
    BenchmarkFile.objects.create(run=run, name="fio.json", packed=b"", size_bytes=0)
    with pytest.raises(IntegrityError, match="benchmark_file_name_once"), transaction.atomic():
        BenchmarkFile.objects.create(run=run, name="fio.json", packed=b"", size_bytes=0)

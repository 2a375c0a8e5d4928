"""Links for strangers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from panel.benchmarks.share_links import end_share, share, shared_benchmark
from storage.models import Benchmark
from storage.planner import Refused
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark

pytestmark = pytest.mark.django_db


@pytest.fixture
def measured() -> Benchmark:
    return make_benchmark(make.host(), EVENING, timezone.now())


def test_a_link_ends_by_itself(measured: Benchmark) -> None:
    address = share(measured, days=7)
    assert measured.share_key in address
    assert shared_benchmark(measured.share_key) == measured
    Benchmark.objects.update(share_until=timezone.now() - timedelta(seconds=1))
    assert shared_benchmark(measured.share_key) is None


def test_a_link_that_was_ended_shows_nothing_also_once_it_is_shared_anew(
    measured: Benchmark,
) -> None:
    share(measured)
    old = measured.share_key
    end_share(measured)
    assert shared_benchmark(old) is None
    share(measured)
    assert shared_benchmark(old) is None and measured.share_key != old


def test_one_that_is_shared_keeps_its_address(measured: Benchmark) -> None:
    assert share(measured, days=1) == share(measured, days=30)


def test_nothing_is_shared_without_a_key(measured: Benchmark) -> None:
    assert shared_benchmark("") is None


@pytest.mark.parametrize("days", [0, 366])
def test_a_link_lasts_some_days(measured: Benchmark, days: int) -> None:
    with pytest.raises(Refused):
        share(measured, days)


def test_what_has_no_result_is_not_shared() -> None:
    made = make_benchmark(make.host(), EVENING, timezone.now(), done=0)
    with pytest.raises(Refused):
        share(made)

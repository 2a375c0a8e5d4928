"""Means of paired differences."""

from __future__ import annotations

from random import Random
from statistics import mean, stdev

import pytest

from storage.analysis.before_after import mean_change


def test_of_few_independent_differences_it_is_the_plain_t_interval() -> None:
    values = [0.11, 0.08, 0.14, 0.05, 0.12, 0.10]
    found = mean_change(values, [1.0] * 6, least_error=0.0)
    assert found is not None
    assert found.mean == pytest.approx(mean(values))
    assert found.error == pytest.approx(stdev(values) / 6**0.5)
    assert found.high - found.mean == pytest.approx(2.571 * found.error, rel=1e-3)


def test_neighbours_that_are_alike_widen_the_interval() -> None:
    values = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    mixed = [0.3, 0.0, 0.5, 0.1, 0.6, 0.2, 0.4]
    trend, shuffled = (mean_change(each, [1.0] * 7, least_error=0.0) for each in (values, mixed))
    assert trend is not None and shuffled is not None
    assert trend.mean == pytest.approx(shuffled.mean)
    assert trend.error > 1.4 * shuffled.error
    assert trend.freedom < shuffled.freedom


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random, held = Random(7), 0
    for _ in range(300):
        found = mean_change(
            [random.gauss(0.1, 0.2) for _ in range(42)], [1.0] * 42, least_error=0.0
        )
        assert found is not None
        held += found.low <= 0.1 <= found.high
    assert held >= 0.91 * 300


def test_a_pair_counts_by_its_weight_but_never_alone() -> None:
    found = mean_change([0.0, 0.0, 0.0, 0.0, 1.0], [1, 1, 1, 1, 1000], least_error=0.0)
    assert found is not None
    assert found.mean == pytest.approx(0.5)


def test_equal_differences_are_still_not_certain() -> None:
    found = mean_change([0.1] * 8, [1.0] * 8, least_error=0.01)
    assert found is not None
    assert found.low < 0.1 < found.high

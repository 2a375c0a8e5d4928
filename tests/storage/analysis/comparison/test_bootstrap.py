"""Intervals by resampling."""

from __future__ import annotations

import numpy as np
import pytest

from storage.analysis.comparison.bootstrap import (
    block_resamples,
    measured_percentile,
    percentile_of_bins,
    samples_needed,
)

EDGES = np.arange(0, 1001, 10)
"""100 bins of 10 ns."""


def bins(latencies: np.ndarray) -> np.ndarray:
    return np.histogram(latencies, EDGES)[0]


def test_resamples_are_made_of_blocks_of_neighbours() -> None:
    resamples = block_resamples(np.arange(20.0), 5, draws=50)
    assert resamples.shape == (50, 20)
    steps = np.diff(resamples.reshape(50, 4, 5), axis=2) % 20
    assert (steps == 1).all()


def test_a_mean_of_neighbours_that_are_alike_scatters_more_than_single_draws_say() -> None:
    rng, series = np.random.default_rng(20261127), np.zeros(400)
    for n in range(1, 400):
        series[n] = 0.9 * series[n - 1] + rng.normal()
    single, blocks = (block_resamples(series, size).mean(axis=1).std() for size in (1, 50))
    assert blocks > 2 * single


def test_a_percentile_is_the_middle_of_its_bin() -> None:
    latencies = np.arange(1000)
    assert percentile_of_bins(bins(latencies), EDGES, 99) == 985
    assert percentile_of_bins(bins(latencies), EDGES, 50) == 495


def test_bins_of_units_are_summed_and_never_their_percentiles_averaged() -> None:
    calm, slow = bins(np.full(9000, 100)), bins(np.full(1000, 900))
    assert measured_percentile([calm, slow], EDGES, 50).value == 105
    assert measured_percentile([calm, slow], EDGES, 95).value == 905


@pytest.mark.parametrize(
    ("percent", "samples"), [(50, 20), (95, 200), (99, 1000), (99.9, 10_000), (99.99, 100_000)]
)
def test_a_percentile_takes_ten_ios_beyond_it(percent: float, samples: int) -> None:
    assert samples_needed(percent) == samples


def test_of_too_few_ios_no_percentile_is_shown() -> None:
    found = measured_percentile([bins(np.arange(999))], EDGES, 99)
    assert found.is_too_few and found.value is None
    assert not measured_percentile([bins(np.arange(1000))], EDGES, 99).is_too_few


def test_of_fewer_than_six_units_a_percentile_has_no_interval() -> None:
    units = [bins(np.arange(1000))] * 5
    assert measured_percentile(units, EDGES, 99).low is None
    assert measured_percentile([*units, units[0]], EDGES, 99).low == 985


def test_the_interval_holds_the_truth_nearly_as_often_as_it_says() -> None:
    """Ten boots, which deal each of their I/Os up to 10 % more or less: the percentile of them all
    is that of a uniform mixture."""
    rng, held = np.random.default_rng(20261127), 0
    many = np.exp(rng.normal(0, 0.1, 40_000)) * rng.uniform(100, 500, 40_000)
    truth = np.quantile(many, 0.95)
    for _ in range(100):
        boots = np.exp(rng.normal(0, 0.1, 10))
        found = measured_percentile(
            [bins(boot * rng.uniform(100, 500, 300)) for boot in boots], EDGES, 95
        )
        assert found.low is not None and found.high is not None
        held += found.low - 5 <= truth <= found.high + 5
    assert held >= 85

"""fio's bins: where a latency belongs, what sums give, and percentiles exact to a bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.fio.latency_bins import (
    GEOMETRIES,
    BinsError,
    Geometry,
    LatencyBins,
    index_of,
    lower_edge,
    middles_ns,
    samples_needed,
    too_few,
)

NANOSECONDS, MICROSECONDS = 1856, 1216


def bins_of(*latencies: int, bins: int = NANOSECONDS) -> LatencyBins:
    return LatencyBins.at([(index_of(latency, bins), 1) for latency in latencies], bins)


@given(st.integers(0, 2**33))
def test_a_latency_is_in_the_bin_that_covers_it(latency: int) -> None:
    index = index_of(latency, NANOSECONDS)
    assert lower_edge(index) <= latency < lower_edge(index + 1)


@given(st.integers(128, 2**33))
def test_the_middle_of_a_bin_is_within_a_128th_of_each_latency_in_it(latency: int) -> None:
    middle = middles_ns(Geometry(NANOSECONDS))[index_of(latency, NANOSECONDS)]
    assert abs(middle - latency) <= latency / 128


@pytest.mark.parametrize(
    ("index", "middle"), [(0, 0), (127, 127), (128, 129), (191, 255), (192, 258)]
)
def test_middles_are_those_that_fio_prints(index: int, middle: int) -> None:
    assert middles_ns(Geometry(NANOSECONDS))[index] == middle
    assert middles_ns(Geometry(MICROSECONDS))[index] == middle * 1000


def test_the_last_bin_is_open() -> None:
    assert index_of(2**60, NANOSECONDS) == NANOSECONDS - 1


def test_a_row_says_its_geometry_by_its_length() -> None:
    assert {geometry.unit_ns for geometry in GEOMETRIES.values()} == {1, 1000}
    assert len(GEOMETRIES) == 14
    assert LatencyBins.of([0] * 928).geometry == Geometry(NANOSECONDS, 1)
    assert LatencyBins.of([0] * 19).geometry == Geometry(MICROSECONDS, 6)
    with pytest.raises(BinsError):
        LatencyBins.of([0] * 1000)


@given(
    st.lists(st.integers(0, 10**10), min_size=1, max_size=300), st.sampled_from([1, 50, 95, 99.9])
)
def test_a_percentile_is_exact_to_the_bin(latencies: list[int], percent: float) -> None:
    rank = max(1, int(np.ceil(round(percent * len(latencies), 6) / 100)))
    true = sorted(latencies)[rank - 1]
    value = bins_of(*latencies).percentile_ns(percent)
    assert value == middles_ns(Geometry(NANOSECONDS))[index_of(true, NANOSECONDS)]


@given(st.lists(st.lists(st.integers(0, 10**9), min_size=1, max_size=50), min_size=1, max_size=5))
def test_a_percentile_of_a_sum_is_that_of_all_latencies(jobs: list[list[int]]) -> None:
    total = LatencyBins.sum(bins_of(*job) for job in jobs)
    together = bins_of(*(latency for job in jobs for latency in job))
    assert total.count == sum(map(len, jobs))
    assert total.percentile_ns(95) == together.percentile_ns(95)


def test_a_coarse_histogram_and_a_fine_one_add_up() -> None:
    fine = bins_of(1000, 2000, 500_000)
    coarse = bins_of(1000, 700_000).coarsened(3)
    total = LatencyBins.sum([fine, coarse])
    assert (total.geometry.coarseness, total.count) == (3, 5)
    assert total.percentile_ns(100) == pytest.approx(700_000, rel=0.07)


def test_microseconds_and_nanoseconds_are_not_added() -> None:
    with pytest.raises(BinsError):
        LatencyBins.sum([bins_of(1), bins_of(1, bins=MICROSECONDS)])


@pytest.mark.parametrize("count", [-1, 2**63, 127_000_000_000_000_000_000])
def test_impossible_counts_are_refused(count: int) -> None:
    with pytest.raises(BinsError):
        LatencyBins.at([(5, count)], NANOSECONDS)


def test_no_io_has_no_percentile() -> None:
    assert LatencyBins.of([0] * NANOSECONDS).percentile_ns(50) is None
    assert LatencyBins.of([0] * NANOSECONDS).mean_ns is None


def test_a_percentile_needs_ten_samples_above_it() -> None:
    assert [samples_needed(percent) for percent in (50, 99, 99.9, 99.99)] == [
        20,
        1000,
        10_000,
        100_000,
    ]
    assert too_few(99, 999)
    assert not too_few(99, 1000)

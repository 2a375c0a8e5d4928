"""Two stations, an SSD and an HDD."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.curve.queueing import SsdRate, closed_iops, slow_time_factor

SSD = SsdRate(0.0001, 1e9)


def mean_value_analysis(in_flight: int, hit_rate: float, hdd_iops: float) -> float:
    """Reiser and Lavenberg's recursion, for an SSD that serves all at once (a delay)."""
    queue, iops = 0.0, 0.0
    for n in range(1, in_flight + 1):
        at_hdd = (1 - hit_rate) / hdd_iops * (1 + queue)
        iops = n / (hit_rate * SSD.seconds + at_hdd)
        queue = iops * at_hdd
    return iops


@given(in_flight=st.integers(1, 256), hit_rate=st.floats(0, 1), hdd_iops=st.floats(1, 100_000))
def test_the_convolution_agrees_with_mean_value_analysis(
    in_flight: int, hit_rate: float, hdd_iops: float
) -> None:
    assert closed_iops(in_flight, hit_rate, SSD, hdd_iops) == pytest.approx(
        mean_value_analysis(in_flight, hit_rate, hdd_iops), rel=1e-6
    )


def test_all_hits_run_at_the_ssd_and_no_hits_at_the_hdd() -> None:
    ssd = SsdRate(0.0001, 104_848)
    assert closed_iops(16, 1.0, ssd, 366) == pytest.approx(104_848)
    assert closed_iops(4, 1.0, ssd, 366) == pytest.approx(40_000)
    assert closed_iops(16, 0.0, ssd, 366) == pytest.approx(366)


def test_a_few_misses_hold_up_all() -> None:
    assert closed_iops(16, 0.7364, SsdRate(0.0001, 104_848), 366) == pytest.approx(1388, abs=1)


@given(before=st.floats(-1, 2), after=st.floats(-1, 2))
def test_an_hdd_with_less_to_do_is_faster_and_never_slower_than_was_measured(
    before: float, after: float
) -> None:
    factor = slow_time_factor(before, after)
    assert 0 < factor <= 1
    assert (factor == 1) or after < before


def test_half_the_load_of_a_busy_hdd_makes_a_slow_read_much_shorter() -> None:
    assert slow_time_factor(0.8, 0.4) == pytest.approx(1 / 3)

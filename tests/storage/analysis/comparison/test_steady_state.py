"""Whether a run was steady."""

from __future__ import annotations

import numpy as np
import pytest

from storage.analysis.comparison.steady_state import (
    CacheRun,
    Ending,
    cache_run,
    last_window,
    round_means,
    seconds_until_reached,
    slope_at_end,
    steady_window,
)

MINUTES = 120


def noise(seed: int, minutes: int = MINUTES, *, sd: float = 0.01, alike: float = 0.5) -> np.ndarray:
    """A series of minutes, each like the one before."""
    rng, series = np.random.default_rng(seed), np.zeros(minutes)
    for n in range(minutes):
        series[n] = alike * series[n - 1] * bool(n) + rng.normal(0, sd * (1 - alike**2) ** 0.5)
    return series


def run(iops: np.ndarray, hit_rate: np.ndarray) -> CacheRun:
    """One value a minute."""
    return cache_run(iops, 60, ssd_reads=1e6 * hit_rate, hdd_reads=1e6 * (1 - hit_rate))


def test_rounds_are_means_of_whole_minutes() -> None:
    assert round_means([1.0] * 120 + [3.0] * 120 + [9.0] * 60, 0.5).tolist() == [1.0, 3.0]
    assert round_means([1.0] * 600 + [2.0] * 600, 0.1).tolist() == [1.0, 2.0]
    assert round_means([1.0] * 10, 0.5).size == 0


def test_a_flat_run_is_steady_from_its_fifth_round_on() -> None:
    window = steady_window(np.array([100.0, 104, 98, 101, 99, 50]))
    assert window is not None and window.is_steady
    assert (window.first_round, window.last_round) == (1, 5)
    assert window.mean == pytest.approx(100.4)
    assert window.excursion == pytest.approx(6 / 100.4)
    assert window.slope == pytest.approx(-0.5)
    assert window.intercept == pytest.approx(101.4)
    assert window.rise == pytest.approx(2 / 100.4)


def test_a_first_fast_minute_is_waited_for() -> None:
    window = steady_window(np.array([300.0, 150, 100, 101, 99, 100, 102]))
    assert window is not None and window.is_steady
    assert (window.first_round, window.last_round) == (3, 7)


def test_a_slow_drift_has_a_small_range_but_is_not_steady() -> None:
    window = steady_window(np.array([100.0, 104, 108, 112, 116]))
    assert window is not None
    assert window.excursion < 0.2 and window.rise > 0.1
    assert not window.is_steady


def test_a_saw_tooth_has_a_small_slope_but_is_not_steady() -> None:
    window = steady_window(np.array([115.0, 90, 115, 90, 115]))
    assert window is not None
    assert window.rise < 0.1 and window.excursion > 0.2
    assert not window.is_steady


def test_after_25_rounds_the_last_window_is_kept_as_not_steady() -> None:
    window = steady_window(np.array([100.0, 200] * 12 + [100] * 20))
    assert window is not None and not window.is_steady
    assert (window.first_round, window.last_round) == (21, 25)


def test_four_rounds_have_no_window() -> None:
    four = np.full(4, 100.0)
    assert steady_window(four) is None and last_window(four) is None
    assert seconds_until_reached(four) is None


def test_90_percent_is_reached_when_no_later_minute_falls_below_it() -> None:
    assert seconds_until_reached(np.array([10.0, 95, 50, 95, 100, 100, 100, 100, 100])) == 180
    assert seconds_until_reached(np.full(6, 100.0)) == 0
    assert seconds_until_reached(np.array([100.0, 100, 100, 100, 60])) is None


def test_a_cache_that_still_learns_is_not_steady_though_its_last_five_minutes_are() -> None:
    hours = np.arange(MINUTES) / 60
    found = run(10_000 * (1 + 0.06 * hours) * (1 + noise(1)), 0.5 + 0.03 * hours + noise(2))
    assert found.iops.window is not None and found.iops.window.is_steady
    assert found.ending is Ending.RISING
    assert found.iops.words.startswith("still rising, +6 % an hour (+")
    assert "hit rate: still rising, +" in found.sentence


def test_a_cache_whose_figures_stay_is_steady() -> None:
    found = run(10_000 * (1 + noise(1)), 0.5 + noise(2))
    assert found.ending is Ending.STEADY
    assert found.sentence.startswith("IOPS: steady, ") and found.sentence.endswith("points an hour")


def test_flat_iops_with_a_hit_rate_that_falls_are_not_steady() -> None:
    falling = 0.5 - 0.06 * np.arange(MINUTES) / 60
    found = run(10_000 * (1 + noise(1)), falling + noise(2, sd=0.002))
    assert (found.iops.ending, found.ending) == (Ending.STEADY, Ending.FALLING)
    assert "hit rate: still falling, -6 points an hour" in found.sentence


def test_without_a_hit_rate_a_cache_is_never_called_steady() -> None:
    found = cache_run(10_000 * (1 + noise(1)), 60)
    assert (found.iops.ending, found.ending) == (Ending.STEADY, Ending.UNKNOWN)
    assert found.sentence.endswith("hit rate: not known")


def test_a_run_of_25_minutes_is_too_short_to_call_a_cache_steady() -> None:
    found = run(np.full(25, 10_000.0), np.full(25, 0.5))
    assert found.ending is Ending.UNKNOWN
    assert found.iops.words == "cannot tell before 30 minutes"
    assert run(np.full(30, 10_000.0), np.full(30, 0.5)).ending is Ending.STEADY


def test_a_figure_that_swings_is_not_steady_though_its_slope_is_known() -> None:
    swings = np.tile([1.2, 0.9, 0.9], MINUTES // 3)
    found = run(10_000 * swings, 0.5 + noise(2))
    assert found.iops.words == "not steady, changes by 31 % in 5 minutes"


def test_the_first_half_minute_stands_by_itself() -> None:
    found = cache_run([1000.0] * 60 + [100.0] * 3540, 0.5)
    assert found.first_seconds_iops == 1000


@pytest.mark.parametrize("minutes", [30, 90, 200])
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_the_interval_of_the_slope_holds_the_truth_about_as_often_as_it_says(
    minutes: int, alike: float
) -> None:
    """Least often, in 88 %, of the shortest runs whose minutes are most alike."""
    held = 0
    for seed in range(100):
        drift = 0.03 * np.arange(minutes) / 60
        slope = slope_at_end(1 + noise(seed, minutes, sd=0.02, alike=alike) + drift, 1.0)
        assert slope is not None
        held += slope.low <= 0.03 <= slope.high
    assert held >= 85

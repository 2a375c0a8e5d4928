"""How many boots a comparison takes."""

from __future__ import annotations

import numpy as np
import pytest

from storage.analysis.comparison import Rule
from storage.analysis.comparison.power import (
    BootTimes,
    Spread,
    boots_needed,
    chance_to_name,
    order_of_boots,
    plan_comparison,
    plan_within,
    spread_of,
)

USUAL = Rule(alpha=0.05, least=0.0)
"""The plain test of 5 %, by which the table was published."""
CALM, MIDDLE, WIDE, WIDEST = (
    Spread(boots=boots, runs=runs)
    for boots, runs in ((0.01, 0.02), (0.02, 0.03), (0.03, 0.05), (0.05, 0.05))
)


@pytest.mark.parametrize(
    ("spread", "boots", "chances"),
    # Chances to see a slow-down by 5, 10 and 20 %, with two runs a boot.
    [
        (CALM, 3, (0.67, 0.99, 1.0)),
        (CALM, 4, (0.91, 1.0, 1.0)),
        (CALM, 6, (1.0, 1.0, 1.0)),
        (MIDDLE, 3, (0.30, 0.82, 1.0)),
        (MIDDLE, 4, (0.50, 0.98, 1.0)),
        (MIDDLE, 6, (0.77, 1.0, 1.0)),
        (WIDE, 3, (0.14, 0.46, 0.96)),
        (WIDE, 5, (0.31, 0.86, 1.0)),
        (WIDE, 8, (0.55, 0.99, 1.0)),
        (WIDEST, 3, (0.10, 0.28, 0.84)),
        (WIDEST, 5, (0.20, 0.63, 1.0)),
        (WIDEST, 8, (0.34, 0.88, 1.0)),
    ],
)
def test_the_published_table_of_chances_is_that_of_the_plain_test(
    spread: Spread, boots: int, chances: tuple[float, ...]
) -> None:
    for slower, chance in zip((0.05, 0.1, 0.2), chances, strict=True):
        found = chance_to_name(spread.of_boot_mean(2), boots, slower, USUAL)
        # Both are simulated.
        assert found == pytest.approx(chance, abs=0.03)


def test_the_variances_of_a_pilot_are_divided_between_boots_and_runs() -> None:
    rng = np.random.default_rng(20261127)
    pilots = [
        np.exp(rng.normal(0, 0.03, (4, 1)) + rng.normal(0, 0.05, (4, 3))).tolist()
        for _ in range(400)
    ]
    spreads = [spread_of(pilot) for pilot in pilots]
    assert np.mean([each.runs**2 for each in spreads]) ** 0.5 == pytest.approx(0.05, rel=0.05)
    # Negative estimates count as 0, so that the mean lies above the truth.
    assert 0.03 <= np.mean([each.boots**2 for each in spreads]) ** 0.5 <= 0.037


def test_boots_that_differ_less_than_their_runs_explain_do_not_differ() -> None:
    assert spread_of([[1.0, 1.1], [1.1, 1.0]]).boots == 0.0


def test_boots_may_have_unlike_numbers_of_runs() -> None:
    found = spread_of([[1.0, 1.02, 0.98], [1.1, 1.12], [0.9]])
    assert found.runs == pytest.approx(0.018, abs=0.003)
    assert found.boots == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("pilot", [[[1.0, 1.1]], [[1.0], [1.1], [1.2]]])
def test_one_boot_or_single_runs_are_no_pilot(pilot: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="two boots"):
        spread_of(pilot)


def test_the_number_of_boots_is_the_fewest_with_that_power() -> None:
    spread, rule = MIDDLE.of_boot_mean(2), Rule()
    boots = boots_needed(spread, 0.05, 0.8, rule)
    assert boots is not None
    assert chance_to_name(spread, boots, 0.05, rule) >= 0.8
    assert chance_to_name(spread, boots - 1, 0.05, rule) < 0.8


def test_a_slow_down_that_boots_drown_has_no_plan() -> None:
    times = BootTimes(until_ready_seconds=60, run_seconds=30)
    assert plan_comparison(Spread(boots=0.3, runs=0.1), times) is None


def test_what_a_plan_takes_is_said_before_it_begins() -> None:
    plan = plan_comparison(MIDDLE, BootTimes(until_ready_seconds=60, run_seconds=30))
    assert plan is not None
    assert (plan.boots_a_side, plan.runs_a_boot, plan.seconds) == (10, 2, 2400)
    assert plan.sentence == (
        "10 boots of each side with 2 runs each, 40 min altogether, "
        "name a slow-down by 5 % in 80 % of all cases"
    )
    assert plan.order == "ABBA" * 5


def test_where_runs_differ_most_and_boots_take_long_more_runs_a_boot_save_time() -> None:
    spread = Spread(boots=0.005, runs=0.06)
    plan = plan_comparison(spread, BootTimes(until_ready_seconds=600, run_seconds=30))
    assert plan is not None
    assert plan.runs_a_boot == 6


def test_in_a_given_time_a_plan_names_the_smallest_slow_down_that_it_can() -> None:
    times = BootTimes(until_ready_seconds=60, run_seconds=30)
    hour, quarter = (plan_within(MIDDLE, times, minutes * 60) for minutes in (60, 15))
    assert hour is not None and quarter is not None
    assert hour.seconds <= 3600 and quarter.seconds <= 900
    assert hour.slower == 0.05
    assert (quarter.boots_a_side, quarter.slower) == (3, pytest.approx(0.15, abs=0.01))
    chance = chance_to_name(MIDDLE.of_boot_mean(quarter.runs_a_boot), 3, quarter.slower, Rule())
    assert chance == pytest.approx(0.8, abs=0.02)
    assert plan_within(MIDDLE, times, 300) is None


def test_boots_alternate_so_that_a_steady_drift_hits_both_sides_alike() -> None:
    assert order_of_boots(3) == "ABBAAB"
    order = order_of_boots(6)
    assert order.count("A") == order.count("B") == 6
    assert sum(n if side == "A" else -n for n, side in enumerate(order)) == 0

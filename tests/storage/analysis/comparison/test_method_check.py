"""The method on itself: simulated pools of boots of one kernel.

The counts of boots are those of the plan for two runs a boot. What holds, with the standard rule
(alpha 1 %, least difference 5 %):

| sd of boots / runs | boots a side | because of |
|---|---|---|
| 1 % / 2 % | 5 | 5 % in 80 % |
| 2 % / 3 % | 10 | 5 % in 80 % |
| 3 % / 5 % | 21 | 5 % in 80 % |

At these counts 10 % is named in over 95 %. The shares of 5 % are those of the mean pool: half of
all pools happen to scatter more than their kernel does. A gate whose every pool must name 5 % in
80 % plans for a power of 95 %: 7, 14 and 31 boots.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from storage.analysis.comparison import Rule
from storage.analysis.comparison.method_check import (
    MethodCheck,
    check_method,
    share_named_slower,
)
from storage.analysis.comparison.power import Spread, boots_needed
from storage.analysis.comparison.welch import differences

RUNS = 2
POOLS = 40
REALISTIC = [
    Spread(boots=0.01, runs=0.02),
    Spread(boots=0.02, runs=0.03),
    Spread(boots=0.03, runs=0.05),
]


def pool(rng: np.random.Generator, spread: Spread, boots: int) -> list[list[float]]:
    """Figures of the runs of so many boots of one kernel."""
    of_boots = rng.normal(0, spread.boots, (boots, 1))
    of_runs = rng.normal(0, spread.runs, (boots, RUNS))
    figures: list[list[float]] = (10_000 * np.exp(of_boots + of_runs)).tolist()
    return figures


@cache
def checks(spread: Spread, power: float) -> list[MethodCheck]:
    """Of pools with as many boots as the plan asks for."""
    boots = boots_needed(spread.of_boot_mean(RUNS), 0.05, power, Rule())
    assert boots is not None
    rng = np.random.default_rng(20261127)
    return [check_method(pool(rng, spread, 2 * boots), boots) for _ in range(POOLS)]


@pytest.mark.parametrize("spread", REALISTIC)
def test_of_1000_splits_of_a_pool_at_most_2_percent_are_false_alarms(spread: Spread) -> None:
    found = checks(spread, power=0.8)
    assert {check.splits for check in found} == {1000}
    assert max(check.false_alarms for check in found) <= 0.02


@pytest.mark.parametrize("spread", REALISTIC)
def test_ten_percent_slower_is_named_in_95_and_five_in_80_of_100(spread: Spread) -> None:
    found = checks(spread, power=0.8)
    assert np.mean([check.named[0.1] for check in found]) >= 0.95
    assert np.mean([check.named[0.05] for check in found]) >= 0.8


@pytest.mark.parametrize("spread", REALISTIC)
def test_planned_for_95_percent_nearly_every_pool_names_five_percent_in_80(spread: Spread) -> None:
    found = checks(spread, power=0.95)
    assert min(check.named[0.1] for check in found) >= 0.95
    assert np.mean([check.named[0.05] >= 0.8 for check in found]) >= 0.9


@pytest.mark.parametrize(("of_boots", "false_alarms"), [(0.02, 0.36), (0.05, 0.70)])
def test_five_runs_of_one_boot_taken_for_five_boots_would_be_false_alarms(
    of_boots: float, false_alarms: float
) -> None:
    """Why boots are the units: runs in one boot share what that boot dealt."""
    rng = np.random.default_rng(20261127)
    a, b = (rng.normal(0, of_boots, (4000, 1)) + rng.normal(0, 0.02, (4000, 5)) for _ in range(2))
    less, more = differences(a, b).named(Rule(alpha=0.05, least=0.0))
    assert (less | more).mean() == pytest.approx(false_alarms, abs=0.03)


def test_a_pool_that_was_really_slowed_down_is_named_against_one_that_was_not() -> None:
    rng, spread = np.random.default_rng(20261127), Spread(boots=0.02, runs=0.03)
    usual, other, slow = (pool(rng, spread, 24) for _ in range(3))
    slow = [[0.9 * run for run in boot] for boot in slow]
    assert share_named_slower(usual, slow, 10) >= 0.95
    assert share_named_slower(usual, other, 10) <= 0.05


def test_a_pool_too_small_for_two_sides_is_refused() -> None:
    boots = [[1.0, 1.1]] * 7
    with pytest.raises(ValueError, match="8 boots are needed, there are 7"):
        check_method(boots, 4)
    with pytest.raises(ValueError, match="4 boots of each pool"):
        share_named_slower(boots, boots[:3], 4)

"""How many boots a comparison takes, known before it begins.

Boots differ, and runs in the same boot differ: a one-way random model, whose two variances are
estimated from a pilot by the analysis of variance (S. R. Searle, G. Casella and C. E. McCulloch,
"Variance Components", 1992, chapter 3). The chance to name a difference is counted in simulated
comparisons, by the same rule that later decides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log1p, sqrt
from typing import Final

import numpy as np

from storage.analysis.comparison.rule import Rule
from storage.analysis.comparison.welch import detectable, differences
from storage.formatting import counted
from storage.formatting import seconds as shown_seconds

DRAWS: Final = 4000
SEED: Final = 20261127
MOST_BOOTS: Final = 60
RUNS_A_BOOT: Final = range(2, 7)
"""Two at least: else no later comparison could know how runs differ."""
PILOT_BOOTS, PILOT_RUNS = 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Standard deviations of a figure's logarithm, so shares of the figure: 0.02 is 2 %. `boots`:
    of what a boot deals; `runs`: of runs in the same boot."""

    boots: float
    runs: float

    def of_boot_mean(self, runs_a_boot: int) -> float:
        """Of the mean of so many runs in one boot."""
        return sqrt(self.boots**2 + self.runs**2 / runs_a_boot)


def spread_of(pilot: Sequence[Sequence[float]]) -> Spread:
    """Estimated from the figures of runs, one sequence for each boot of the same kernel. The
    variance of boots is 0 where runs alone explain what is seen. A pilot of two boots knows little
    of boots: its plan may be too short, which ends in "cannot tell", never in a false alarm.
    Raises ValueError for fewer than two boots, or without a boot of several runs."""
    logs = [np.log(runs) for runs in pilot]
    counts = np.array([runs.size for runs in logs])
    boots, total = counts.size, int(counts.sum())
    if boots < PILOT_BOOTS or total == boots:
        raise ValueError("a pilot needs two boots, and several runs in a boot")
    means = np.array([runs.mean() for runs in logs])
    centre = sum(float(runs.sum()) for runs in logs) / total
    within = sum(float(((runs - runs.mean()) ** 2).sum()) for runs in logs) / (total - boots)
    between = float((counts * (means - centre) ** 2).sum()) / (boots - 1)
    runs_a_boot = (total - float((counts**2).sum()) / total) / (boots - 1)
    return Spread(boots=sqrt(max(0.0, (between - within) / runs_a_boot)), runs=sqrt(within))


def chance_to_name(spread: float, boots: int, slower: float, rule: Rule) -> float:
    """The share of comparisons of so many boots on each side that name a slow-down by `slower` (0.1
    = a tenth fewer IOPS). `spread`: `Spread.of_boot_mean`."""
    rng = np.random.default_rng(SEED)
    a, b = rng.normal(0, spread, (2, DRAWS, boots))
    return float(differences(a, b + log1p(-slower)).named(rule)[0].mean())


def boots_needed(spread: float, slower: float, power: float, rule: Rule) -> int | None:
    """The fewest boots on each side that name such a slow-down with `power`; None for more than
    `MOST_BOOTS`."""
    numbers = range(2, MOST_BOOTS + 1)
    place = bisect_left(
        numbers, power, key=lambda boots: chance_to_name(spread, boots, slower, rule)
    )
    return numbers[place] if place < len(numbers) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTimes:
    """What a boot takes in seconds until its first run begins, and what each run takes with its
    preparation."""

    until_ready_seconds: float
    run_seconds: float

    def of_boot(self, runs: int) -> float:
        """A boot with so many runs."""
        return self.until_ready_seconds + runs * self.run_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPlan:
    """The boots on each side, and the runs in each boot, that detect a slow-down by `slower` with
    `power`; they take `seconds` altogether."""

    boots_a_side: int
    runs_a_boot: int
    slower: float
    power: float
    seconds: float

    @property
    def order(self) -> str:
        """The sides in their order."""
        return order_of_boots(self.boots_a_side)

    @property
    def sentence(self) -> str:
        """What it takes, before it begins."""
        return (
            f"{counted(self.boots_a_side, 'boot')} of each side with "
            f"{counted(self.runs_a_boot, 'run')} each, {shown_seconds(self.seconds)} altogether, "
            f"name a slow-down by {self.slower:.0%} in {self.power:.0%} of all cases"
        ).replace("%", " %")


def order_of_boots(boots_a_side: int) -> str:
    """ "ABBAABBA...": pairs whose order alternates, so that what drifts with time (a disk that
    fills, a night) hits both sides alike."""
    return "".join("BA" if pair % 2 else "AB" for pair in range(boots_a_side))


def plan_comparison(
    spread: Spread,
    times: BootTimes,
    *,
    slower: float | None = None,
    power: float = 0.8,
    rule: Rule | None = None,
) -> ComparisonPlan | None:
    """The plan that takes the least time; None where none has `MOST_BOOTS` or fewer. `slower` is
    the least difference that matters, unless another is given. More runs in a boot help where runs
    differ more than boots do."""
    rule = rule or Rule()
    slower = rule.least if slower is None else slower
    plans = []
    for runs in RUNS_A_BOOT:
        boots = boots_needed(spread.of_boot_mean(runs), slower, power, rule)
        if boots is not None:
            plans.append(
                ComparisonPlan(
                    boots_a_side=boots,
                    runs_a_boot=runs,
                    slower=slower,
                    power=power,
                    seconds=2 * boots * times.of_boot(runs),
                )
            )
    return min(plans, key=lambda plan: plan.seconds, default=None)


def plan_within(
    spread: Spread,
    times: BootTimes,
    seconds: float,
    *,
    power: float = 0.8,
    rule: Rule | None = None,
) -> ComparisonPlan | None:
    """The plan that names the smallest slow-down in at most so many seconds; None where they are
    too few for two boots on each side."""
    rule = rule or Rule()
    plans = []
    for runs in RUNS_A_BOOT:
        boots = min(MOST_BOOTS, int(seconds / (2 * times.of_boot(runs))))
        if boots >= 2:
            variance = np.asarray(spread.of_boot_mean(runs) ** 2)
            least = detectable((variance, variance), (boots, boots), rule.alpha, power)
            plans.append(
                ComparisonPlan(
                    boots_a_side=boots,
                    runs_a_boot=runs,
                    slower=max(rule.least, -expm1(-least)),
                    power=power,
                    seconds=2 * boots * times.of_boot(runs),
                )
            )
    return min(plans, key=lambda plan: (plan.slower, plan.seconds), default=None)

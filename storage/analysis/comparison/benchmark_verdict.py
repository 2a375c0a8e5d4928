"""Two sides of a benchmark compared: slower or faster, no difference, or cannot tell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import exp, inf, log
from typing import Final

import numpy as np

from storage.analysis.comparison.conditions import Conditions, conditions_that_differ
from storage.analysis.comparison.measured_change import COVERAGE, MeasuredChange
from storage.analysis.comparison.rule import Rule
from storage.analysis.comparison.student import Floats, quantiles
from storage.analysis.comparison.welch import (
    Differences,
    detectable,
    differences,
    uncertainty,
    variances,
)
from storage.formatting import counted

LEAST_UNITS: Final = 2
LEAST_POOLED: Final = 4
"""Units of both sides together where they are taken to scatter alike."""
POWER: Final = 0.8
MOST_MORE: Final = 100


class Word(StrEnum):
    """The answer. `NO_DIFFERENCE`: none that matters."""

    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE = "no difference"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The figures of the runs in one boot, or of one cache made anew. They are IOPS, or times in
    any unit that is the same in all units compared."""

    runs: tuple[float, ...]
    conditions: Conditions = field(default_factory=Conditions)

    @property
    def is_measured(self) -> bool:
        """Whether it has runs, each with a figure above 0."""
        return bool(self.runs) and all(0 < run < inf for run in self.runs)

    @property
    def log_mean(self) -> float:
        """The mean of the logarithms of its runs."""
        return sum(map(log, self.runs)) / len(self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkVerdict:
    """B against A. `change` is the one of the figure's logarithm with its interval of 95 %; None
    where there are too few units. `detectable` is the difference that units like these would have
    named in `POWER` of all comparisons, as a share of A's figure, and never less than one that
    matters. `more_units` on each side would settle an open comparison in about as many cases, if
    the difference stays what it is; None where that takes more than `MOST_MORE`, or is settled.
    `refusals` say why nothing is claimed, whatever the figures. Units are called `noun`."""

    word: Word
    more_is_better: bool
    units: tuple[int, int]
    rule: Rule
    noun: str
    change: MeasuredChange | None = None
    detectable: float | None = None
    more_units: int | None = None
    refusals: tuple[str, ...] = ()

    @property
    def ratio(self) -> tuple[float, float, float] | None:
        """B's figure in multiples of A's: best estimate, least, most (95 %)."""
        return None if self.change is None else self.change.factors

    @property
    def percents(self) -> tuple[float, float] | None:
        """By how much B differs, least and most, in percent of A's figure; above 0 for more."""
        return None if self.ratio is None else (_percent(self.ratio[1]), _percent(self.ratio[2]))

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.word is Word.NO_DIFFERENCE:
            return f"no difference over {_shown(100 * self.rule.least)} %"
        if self.percents is not None and self.word is not Word.CANNOT_TELL:
            low, high = (_shown(each) for each in sorted(map(abs, self.percents)))
            return f"{self.word} by {low if low == high else f'{low}-{high}'} %"
        return f"cannot tell: {self._reason}"

    @property
    def _reason(self) -> str:
        if self.refusals or self.detectable is None:
            return "; ".join(self.refusals)
        seen = f"these runs would have seen {_shown(100 * self.detectable)} %"
        if self.more_units is None:
            return f"{seen}, even {MOST_MORE} more {self.noun}s a side would not settle it"
        more = counted(self.more_units, f"more {self.noun}")
        return f"{seen}, {more} a side would settle it"


def compare_units(
    a: Sequence[Unit],
    b: Sequence[Unit],
    *,
    more_is_better: bool,
    noun: str = "boot",
    varied: Collection[str] = (),
    rule: Rule | None = None,
    is_pooled: bool = False,
) -> BenchmarkVerdict:
    """Side B against side A, by Welch's test on the logarithms of units. `more_is_better` for IOPS,
    not for latency. `varied` are the conditions that the comparison is about.

    The number of units is chosen beforehand (`power`). To add units to an open comparison and look
    again is one more chance of a false alarm: `rule.alpha` is for one look; for n looks it is
    divided by n. `is_pooled`: as in `welch.differences`; one unit of B is enough."""
    rule = rule or Rule()
    unmeasured = _unmeasured(a, b, noun, is_pooled=is_pooled)
    differing = conditions_that_differ(
        [unit.conditions for unit in a], [unit.conditions for unit in b], varied
    )
    verdict = BenchmarkVerdict(
        word=Word.CANNOT_TELL,
        more_is_better=more_is_better,
        units=(len(a), len(b)),
        rule=rule,
        noun=noun,
        refusals=unmeasured + differing,
    )
    if unmeasured:
        return verdict
    logs_a, logs_b = (np.array([unit.log_mean for unit in side]) for side in (a, b))
    difference = differences(logs_a, logs_b, is_pooled=is_pooled)
    mean, error, freedom = (
        float(each) for each in (difference.mean, difference.error, difference.freedom)
    )
    of_sides = variances(logs_a, logs_b, is_pooled=is_pooled)
    least = detectable(of_sides, verdict.units, rule.alpha, POWER, is_pooled=is_pooled)
    measured = replace(
        verdict,
        change=MeasuredChange.of(mean, error, freedom),
        detectable=max(rule.least, abs(exp(-least if more_is_better else least) - 1)),
    )
    if differing:
        return measured
    word = _word(difference, rule, more_is_better=more_is_better)
    if word is not Word.CANNOT_TELL:
        return replace(measured, word=word)
    more = _more_units(logs_a, logs_b, mean, rule, is_pooled=is_pooled)
    return replace(measured, more_units=more)


def _unmeasured(
    a: Sequence[Unit], b: Sequence[Unit], noun: str, *, is_pooled: bool
) -> tuple[str, ...]:
    """Why these units have no difference that could be computed."""
    if not all(unit.is_measured for unit in (*a, *b)):
        return (f"a {noun} has no figures above 0",)
    if is_pooled:
        is_enough = min(len(a), len(b)) > 0 and len(a) + len(b) >= LEAST_POOLED
        return () if is_enough else (f"at least {LEAST_POOLED} {noun}s are needed",)
    if min(len(a), len(b)) < LEAST_UNITS:
        return (f"at least {LEAST_UNITS} {noun}s a side are needed",)
    return ()


def _word(difference: Differences, rule: Rule, *, more_is_better: bool) -> Word:
    less, more = difference.named(rule)
    if less or more:
        return Word.FASTER if bool(more) == more_is_better else Word.SLOWER
    return Word.NO_DIFFERENCE if difference.equal(rule) else Word.CANNOT_TELL


def _more_units(a: Floats, b: Floats, mean: float, rule: Rule, *, is_pooled: bool) -> int | None:
    """The fewest that would settle it with `POWER`, if the difference is what it is now and units
    scatter as they do now."""
    more = np.arange(1.0, MOST_MORE + 1)
    of_sides = variances(a, b, is_pooled=is_pooled)
    error, freedom = uncertainty(*of_sides, a.size + more, b.size + more, is_pooled=is_pooled)
    named_from = error * quantiles(1 - rule.alpha / 2, freedom)
    equal_to = np.maximum(0, rule.margin - error * quantiles((1 + COVERAGE) / 2, freedom))
    for count, each, open_from, open_to in zip(more, error, equal_to, named_from, strict=True):
        change = MeasuredChange.of(mean, float(each), float(freedom[int(count) - 1]))
        below = [change.chance_below(x) for x in (-open_to, -open_from, open_from, open_to)]
        if open_to <= open_from or below[1] - below[0] + below[3] - below[2] <= 1 - POWER:
            return int(count)
    return None


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)


def _shown(percent: float) -> str:
    """Whole percents; below one, so that it is not 0, with one significant digit."""
    return f"{percent:.0f}" if percent >= 1 else f"{percent:.1g}"

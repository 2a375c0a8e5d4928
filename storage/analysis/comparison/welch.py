"""Welch's t test on many pairs of samples at once.

B. L. Welch, "The generalization of 'Student's' problem when several different population variances
are involved", Biometrika 34, 1947; degrees of freedom by F. E. Satterthwaite, Biometrics 2, 1946.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.analysis.comparison.measured_change import COVERAGE
from storage.analysis.comparison.rule import Rule
from storage.analysis.comparison.student import Floats, quantiles

LEAST_VARIANCE: Final = 0.002**2
"""Of a unit's logarithm: fio's logs and its totals of the same run differ by up to 0.2 %. Without
it, units that happen to be alike would make any difference certain."""

DRAWS: Final = 4000
SEED: Final = 20261127

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of logarithms, B minus A; arrays of one shape. `error` is the standard error."""

    mean: Floats
    error: Floats
    freedom: Floats

    def named(self, rule: Rule) -> tuple[Flags, Flags]:
        """Which differences are certain and matter: below 0, above 0."""
        equal = self.equal(rule)
        reach = self.error * quantiles(1 - rule.alpha / 2, self.freedom)
        return (self.mean < -reach) & ~equal, (self.mean > reach) & ~equal

    def equal(self, rule: Rule) -> Flags:
        """Which differences surely do not matter."""
        reach = self.error * quantiles((1 + COVERAGE) / 2, self.freedom)
        return np.abs(self.mean) + reach < rule.margin


def differences(a: Floats, b: Floats, *, is_pooled: bool = False) -> Differences:
    """Of logarithms of units, along the last axis: a (..., units), b (..., units). With `is_pooled`
    both sides are taken to scatter alike, so that one unit of one side is enough (Student's test;
    for a single case J. R. Crawford and D. C. Howell, The Clinical Neuropsychologist 12, 1998)."""
    mean = b.mean(axis=-1) - a.mean(axis=-1)
    of_sides = variances(a, b, is_pooled=is_pooled)
    return Differences(mean, *uncertainty(*of_sides, a.shape[-1], b.shape[-1], is_pooled=is_pooled))


def variances(a: Floats, b: Floats, *, is_pooled: bool) -> tuple[Floats, Floats]:
    """Of one unit of each side."""
    if not is_pooled:
        return np.asarray(a.var(axis=-1, ddof=1)), np.asarray(b.var(axis=-1, ddof=1))
    squares = sum(((side - side.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1) for side in (a, b))
    pooled = np.asarray(squares / (a.shape[-1] + b.shape[-1] - 2))
    return pooled, pooled


def detectable(
    of_sides: tuple[Floats, Floats],
    counts: tuple[int, int],
    alpha: float,
    power: float,
    *,
    is_pooled: bool = False,
) -> float:
    """The least difference of logarithms that is certain in the share `power` of all comparisons,
    of units that truly have these `variances`. In each of many draws it is the bound of the test
    less the error of the estimate. The usual sum of two quantiles of Student's t promises too much:
    of four units a side it is certain in 66 % where it says 80 %, because Welch's degrees of
    freedom scatter."""
    rng = np.random.default_rng(SEED)
    if is_pooled:
        freedom = sum(counts) - 2
        drawn_a = drawn_b = of_sides[0] * rng.chisquare(freedom, DRAWS) / freedom
    else:
        drawn_a, drawn_b = (
            variance * rng.chisquare(count - 1, DRAWS) / (count - 1)
            for variance, count in zip(of_sides, counts, strict=True)
        )
    error, freedoms = uncertainty(drawn_a, drawn_b, *counts, is_pooled=is_pooled)
    true_error, _ = uncertainty(*of_sides, *counts, is_pooled=is_pooled)
    bounds = error * quantiles(1 - alpha / 2, freedoms) - true_error * rng.standard_normal(DRAWS)
    return float(np.quantile(bounds, power))


def uncertainty(
    variance_a: Floats | float,
    variance_b: Floats | float,
    count_a: Floats | int,
    count_b: Floats | int,
    *,
    is_pooled: bool = False,
) -> tuple[Floats, Floats]:
    """The standard error and the degrees of freedom, by the variances of units and their counts.
    Arrays of one shape, or numbers."""
    of_a = np.maximum(variance_a, LEAST_VARIANCE) / count_a
    of_b = np.maximum(variance_b, LEAST_VARIANCE) / count_b
    squared = of_a + of_b
    if is_pooled:
        return np.sqrt(squared), np.asarray(count_a + count_b - 2.0) + 0 * squared
    return np.sqrt(squared), squared**2 / (of_a**2 / (count_a - 1) + of_b**2 / (count_b - 1))

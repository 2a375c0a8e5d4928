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
    counts = a.shape[-1], b.shape[-1]
    if is_pooled:
        variance_a = variance_b = pooled_variance(a, b)
    else:
        variance_a, variance_b = (np.asarray(side.var(axis=-1, ddof=1)) for side in (a, b))
    mean = b.mean(axis=-1) - a.mean(axis=-1)
    return Differences(mean, *uncertainty(variance_a, variance_b, *counts, is_pooled=is_pooled))


def pooled_variance(a: Floats, b: Floats) -> Floats:
    """Of one unit, where both sides scatter alike."""
    squares = sum(((side - side.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1) for side in (a, b))
    return np.asarray(squares / (a.shape[-1] + b.shape[-1] - 2))


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

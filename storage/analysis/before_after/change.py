"""The mean of paired differences and how sure it is, though neighbours in time resemble each other.

Hours after one another are alike, so 168 of them prove far less than 168 independent ones would; a
plain t-test would find a gain in noise. Two remedies, both old and simple:

1. Batch means: the pairs are put into at most `BATCHES` consecutive batches, and only the batches'
   means are compared (Schmeiser, "Batch size effects in the analysis of simulation output",
   Operations Research 30, 1982: more than 30 batches hardly gain anything, correlation costs).
2. What correlation is left between neighbouring batches lowers the number of batches that count:
   k (1 - r) / (1 + r), the effective sample size of a first-order autoregression (Zwiers and von
   Storch, "Taking serial correlation into account in tests of the mean", J. Climate 8, 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Final

from storage.analysis.comparison.measured_change import MeasuredChange

BATCHES: Final = 7
"""Of a week: its days."""
LEAST: Final = 4
"""Fewer pairs prove nothing."""
HEAVIEST: Final = 4.0
"""A pair counts at most so many times as much as the middle one: a nightly backup with most of the
reads is still only one thing that happened."""
MOST_ALIKE: Final = 0.9


def mean_change(
    differences: Sequence[float],
    weights: Sequence[float],
    *,
    least_error: float,
    least_alike: float = 0.0,
) -> MeasuredChange | None:
    """The weighted mean of `differences`, which are in the order of time; None for fewer than
    `LEAST`. `least_error` is what is never undercut, however alike the differences are, and
    `least_alike` the correlation of neighbours that is taken for granted: few of them cannot show
    their own."""
    if len(differences) < LEAST:
        return None
    batches = _batches(differences, capped(weights))
    whole = sum(weight for _, weight in batches)
    mean = sum(value * weight for value, weight in batches) / whole
    # Of a ratio of sums: the residual of each batch, by its share of the weight.
    residuals = [(value - mean) * weight / whole for value, weight in batches]
    count = len(residuals)
    squares = sum(residual * residual for residual in residuals)
    alike = max(least_alike, _likeness(residuals, squares))
    error = sqrt(squares * count / (count - 1) * (1 + alike) / (1 - alike))
    error = max(error, least_error)
    freedom = max(2.0, count * (1 - alike) / (1 + alike) - 1)
    return MeasuredChange.of(mean, error, freedom)


def capped(weights: Sequence[float]) -> list[float]:
    """The weights, none above `HEAVIEST` times the middle one."""
    most = HEAVIEST * median(weights)
    return [min(weight, most) for weight in weights]


def _batches(differences: Sequence[float], weights: Sequence[float]) -> list[tuple[float, float]]:
    """The mean and the weight of each batch."""
    count = min(BATCHES, len(differences))
    batches = []
    for n in range(count):
        part = slice(len(differences) * n // count, len(differences) * (n + 1) // count)
        weight = sum(weights[part])
        value = sum(d * w for d, w in zip(differences[part], weights[part], strict=True))
        batches.append((value / weight, weight))
    return batches


def _likeness(residuals: Sequence[float], squares: float) -> float:
    """The correlation of neighbouring batches, 0 to `MOST_ALIKE`."""
    if not squares:
        return 0.0
    products = sum(a * b for a, b in pairwise(residuals))
    return max(0.0, min(MOST_ALIKE, products / squares))

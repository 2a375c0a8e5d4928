"""Student's t distribution, which the standard library lacks, for any positive number of degrees
of freedom."""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log, pi, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
TABLE: Final = 65
ENDLESS: Final = 1e6
STEPS: Final = 200
SMALL: Final = 1e-300
CLOSE: Final = 1e-12


def cdf(t: float, freedom: float) -> float:
    """The probability of a value up to `t`."""
    tail = 0.5 * _beta(freedom / (freedom + t * t), freedom / 2, 0.5)
    return 1 - tail if t >= 0 else tail


def quantile(probability: float, freedom: float) -> float:
    """The value that is exceeded with 1 - `probability`; `probability` lies in [0.5, 1). Found by
    Newton's method: above 0 the curve of `cdf` only flattens, so no step goes too far."""
    t = 0.0
    for _ in range(STEPS):
        missing = probability - cdf(t, freedom)
        if missing < CLOSE:
            break
        t += missing / _density(t, freedom)
    return t


def _density(t: float, freedom: float) -> float:
    half = (freedom + 1) / 2
    front = exp(lgamma(half) - lgamma(freedom / 2)) / sqrt(freedom * pi)
    return front * exp(-half * log(1 + t * t / freedom))


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: its continued fraction (Abramowitz and Stegun
    26.5.8) by Lentz's method, taken from the side where it converges fast."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(1 - x, b, a) / b
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, STEPS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + numerator * d)
            c = _away(1 + numerator / c)
            fraction *= d * c
        if abs(d * c - 1) < CLOSE:
            break
    return fraction


def _away(value: float) -> float:
    """Not so near to zero that the next division fails."""
    return value if abs(value) > SMALL else SMALL


@cache
def _table(probability: float) -> tuple[Floats, Floats]:
    """The logarithms of quantiles, by 1 / freedom from 0 to 1."""
    inverse = np.linspace(0, 1, TABLE)
    quantiles = [quantile(probability, 1 / max(each, 1 / ENDLESS)) for each in inverse]
    return inverse, np.log(quantiles)


def quantiles(probability: float, freedoms: Floats) -> Floats:
    """`quantile` for each of many degrees of freedom from 1 on, within 0.01 %: between the values
    of a table. `probability` lies in (0.5, 1)."""
    return np.exp(np.interp(1 / np.asarray(freedoms), *_table(probability)))

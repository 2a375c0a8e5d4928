"""A difference that was measured, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Final, Self

from storage.analysis.comparison import student

COVERAGE: Final = 0.95


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """`mean` after minus before; with a probability of `COVERAGE` the truth lies between `low` and
    `high`. `error` is the standard error, `freedom` its degrees of freedom."""

    mean: float
    error: float
    freedom: float
    low: float
    high: float

    @classmethod
    def of(cls, mean: float, error: float, freedom: float) -> Self:
        """With the interval of Student's t."""
        reach = error * student.quantile((1 + COVERAGE) / 2, freedom)
        return cls(mean, error, freedom, mean - reach, mean + reach)

    def chance_below(self, value: float) -> float:
        """How sure it is that the truth lies below `value`, 0 to 1."""
        return student.cdf((value - self.mean) / self.error, self.freedom)

    @property
    def p(self) -> float:
        """The two-sided probability of so large a change where there is none."""
        return 2 * student.cdf(-abs(self.mean) / self.error, self.freedom)

    @property
    def factors(self) -> tuple[float, float, float]:
        """Of a logarithm's change: so many times as much as before. Best estimate, least, most."""
        return exp(self.mean), exp(self.low), exp(self.high)

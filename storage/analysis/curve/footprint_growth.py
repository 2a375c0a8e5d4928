"""How many chunks a volume has touched after how many references: D(n), and beyond what was seen.

D is a Weibull function, cap * (1 - exp(-a * n ** b)): with a cap far above the volume it is the
power law, which finds new chunks for ever; with a cap fitted to the bend of what was seen it ends.
The true growth lies between the two. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, log, log1p
from typing import Final

ENDLESS: Final = 1000
"""The cap of the power law, as a multiple of the volume."""
CAPS: Final = 24
"""How many caps are tried between what was seen and the volume."""
LEAST_GROWTH: Final = 1.01
LEAST_EXPONENT: Final = 0.001
LONGEST: Final = 100
"""The logarithm of a number of references that no volume reaches."""


@dataclass(frozen=True, slots=True)
class FootprintGrowth:
    """D(n) beyond what was seen, in chunks; it never exceeds `most`, those of the volume."""

    cap: float
    a: float
    b: float
    most: float

    def distinct(self, n: float) -> float:
        """Chunks touched by `n` references."""
        return float(min(self.most, -self.cap * expm1(-self.a * n**self.b)))

    def references(self, distinct: float) -> float:
        """After how many references so many chunks are touched; infinite where never."""
        if distinct <= 0:
            return 0.0
        if not self.a or distinct >= min(self.cap, self.most):
            return inf
        logarithm = log(-log1p(-distinct / self.cap) / self.a) / self.b
        return exp(logarithm) if logarithm < LONGEST else inf

    def rate(self, n: float) -> float:
        """New chunks for each reference, after `n`: the derivative of `distinct`."""
        if n == inf or self.distinct(n) >= self.most:
            return 0.0
        grown = self.a * n**self.b
        return float(self.cap * grown * self.b / n * exp(-grown))


def growths(
    points: Sequence[tuple[float, float]], most: float
) -> tuple[FootprintGrowth, FootprintGrowth]:
    """The power law and the saturating growth through the last of `points`, (references, chunks)
    each; fitted to all of them by least squares of log(-log(1 - D / cap)) over log n."""
    if not points:
        nothing = FootprintGrowth(most, 0.0, 1.0, most)
        return nothing, nothing
    seen = points[-1][1]
    power = _fitted(points, ENDLESS * most, most)[0]
    first = LEAST_GROWTH * seen
    if first >= most:
        return power, power
    caps = [first * (most / first) ** (n / (CAPS - 1)) for n in range(CAPS)]
    saturating, _ = min((_fitted(points, cap, most) for cap in caps), key=lambda fit: fit[1])
    return power, saturating


def _fitted(
    points: Sequence[tuple[float, float]], cap: float, most: float
) -> tuple[FootprintGrowth, float]:
    """The growth with that cap, and the sum of its squared errors."""
    along = [log(n) for n, _ in points]
    upward = [log(-log1p(-distinct / cap)) for _, distinct in points]
    # Through the last point: there it continues what was seen.
    xs, ys = [x - along[-1] for x in along], [y - upward[-1] for y in upward]
    squares = sum(x * x for x in xs)
    b = sum(x * y for x, y in zip(xs, ys, strict=True)) / squares if squares else 1.0
    # No later reference finds new chunks more often than an earlier one.
    b = min(1.0, max(b, LEAST_EXPONENT))
    error = sum((y - b * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return FootprintGrowth(cap, exp(upward[-1] - b * along[-1]), b, most), error

"""What counts as a difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a difference is named. `alpha`: the share of comparisons without a difference that may
    be called slower or faster. `least`: the least difference that matters, as a share; smaller ones
    are no difference.

    Why 1 % and not the usual 5 %: among 1,000 random splits of one pool of boots, at most 2 % may
    be named. Welch's test keeps its alpha in the mean over pools, but a single pool of few boots
    may have twice as many; 1 % keeps 2 % in 99 of 100 pools that have the boots of a plan for
    `least` (`power`, `method_check`). It takes about 15 % more boots than 2 % would. So the
    interval of 95 % that is shown may exclude 0 where nothing is named yet.

    Why a difference is named from 0 on, and not from `least` on: otherwise one of exactly `least`
    would be named in half of all comparisons at best. It is no difference where the whole interval
    lies within `least`: two one-sided tests (D. J. Schuirmann, J. Pharmacokinetics and
    Biopharmaceutics 15, 1987)."""

    alpha: float = 0.01
    least: float = 0.05

    @property
    def margin(self) -> float:
        """`least` as a difference of logarithms."""
        return log1p(self.least)

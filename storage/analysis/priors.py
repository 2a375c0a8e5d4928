"""A host's rate, from its own figures, hosts with the same disks, and a published one. Pure.

A host that measured little is taken to be like the others, and one that measured much like itself:
its own rate counts by its weight, the prior by a tenth of the weight that is enough (shrinkage to
the group; Efron and Morris, "Stein's paradox in statistics", Scientific American 1977; Gelman et
al., "Bayesian Data Analysis", 5). Rates differ by factors, so logarithms are averaged. The prior is
the median of the others, which one wild host of three or more does not move; the published rate
counts as one more host.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from statistics import median
from typing import Final, Literal

PRIOR_PART: Final = 0.1
LEAST_RATE: Final = 1e-4
"""What was never counted happens at least so often: its logarithm is known."""

Source = Literal["own", "same_disks", "published"]


@dataclass(frozen=True, slots=True)
class Measured:
    """`rate` for each of `weight` misses, busy seconds or reads."""

    rate: float
    weight: float


@dataclass(frozen=True, slots=True)
class LearnedRate:
    """`source` is what counts most. The host measured it over `weight` misses, busy seconds or
    reads (0: not at all), and so did `hosts` others with the same disks, enough each."""

    rate: float
    source: Source
    weight: float = 0.0
    hosts: int = 0


def learned(
    own: Measured | None, others: Iterable[Measured], published: float, enough: float
) -> LearnedRate:
    """`enough` is the weight from which on a host's own figures count ten times the prior; others
    that measured less are left out."""
    logarithms = [log(max(LEAST_RATE, each.rate)) for each in others if each.weight >= enough]
    hosts, prior = len(logarithms), log(published)
    if hosts:
        prior = (hosts * median(logarithms) + prior) / (hosts + 1)
    weight = own.weight if own is not None else 0.0
    share = weight / (weight + PRIOR_PART * enough)
    if own is not None:
        prior += share * (log(max(LEAST_RATE, own.rate)) - prior)
    source: Source = "own" if share >= 1 / 2 else "same_disks" if hosts else "published"
    return LearnedRate(exp(prior), source, weight, hosts)

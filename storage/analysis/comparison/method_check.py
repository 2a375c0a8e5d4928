"""The method on itself: what it says of boots that do not differ, and of ones made slower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

import numpy as np

from storage.analysis.comparison.rule import Rule
from storage.analysis.comparison.student import Floats
from storage.analysis.comparison.welch import differences

SPLITS: Final = 1000
SEED: Final = 20261127
SLOW_DOWNS: Final = (0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCheck:
    """Of so many random `splits` of one pool into two sides with `boots_a_side` boots:
    `false_alarms` is the share called slower or faster, though both are the same kernel; `named`
    the share called slower where B was made slower by the key, 0.1 = a tenth fewer IOPS."""

    boots_a_side: int
    splits: int
    false_alarms: float
    named: dict[float, float]


def check_method(
    pool: Sequence[Sequence[float]],
    boots_a_side: int,
    *,
    slow_downs: Sequence[float] = SLOW_DOWNS,
    rule: Rule | None = None,
    splits: int = SPLITS,
    seed: int = SEED,
) -> MethodCheck:
    """`pool`: the figures of the runs of each boot, all of one kernel, of which more is better.
    Raises ValueError where the pool has fewer than two such sides."""
    rule = rule or Rule()
    logs = _log_means(pool)
    if logs.size < 2 * boots_a_side:
        raise ValueError(f"{2 * boots_a_side} boots are needed, there are {logs.size}")
    shuffled = _shuffled(logs, splits, seed)
    a, b = shuffled[:, :boots_a_side], shuffled[:, boots_a_side : 2 * boots_a_side]
    less, more = differences(a, b).named(rule)
    return MethodCheck(
        boots_a_side=boots_a_side,
        splits=splits,
        false_alarms=float((less | more).mean()),
        named={each: _share_named(a, b + log1p(-each), rule) for each in slow_downs},
    )


def share_named_slower(
    pool: Sequence[Sequence[float]],
    slower_pool: Sequence[Sequence[float]],
    boots_a_side: int,
    *,
    rule: Rule | None = None,
    splits: int = SPLITS,
    seed: int = SEED,
) -> float:
    """The same where a second pool was really slowed down (dm-delay): the share of random pairs of
    sides, one of each pool, that is called slower."""
    logs, slower = _log_means(pool), _log_means(slower_pool)
    if min(logs.size, slower.size) < boots_a_side:
        raise ValueError(f"{boots_a_side} boots of each pool are needed")
    return _share_named(
        _shuffled(logs, splits, seed)[:, :boots_a_side],
        _shuffled(slower, splits, seed + 1)[:, :boots_a_side],
        rule or Rule(),
    )


def _log_means(pool: Sequence[Sequence[float]]) -> Floats:
    return np.array([np.log(runs).mean() for runs in pool])


def _shuffled(logs: Floats, splits: int, seed: int) -> Floats:
    """(splits, boots)."""
    return np.random.default_rng(seed).permuted(np.tile(logs, (splits, 1)), axis=1)


def _share_named(a: Floats, b: Floats, rule: Rule) -> float:
    return float(differences(a, b).named(rule)[0].mean())

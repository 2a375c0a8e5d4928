"""When the load of a host has settled after a restart. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LEAST_SECONDS: Final = 60
MOST_SECONDS: Final = 1200
"""A host that is never calm is measured all the same: the guard of each run looks at neighbours."""
READINGS: Final = 3
QUIET_IOPS: Final = 20.0
"""Fewer requests a second disturb no run."""
LEAST_ALIKE: Final = 0.3
"""Readings that differ by at most such a share of their mean are alike."""


def has_settled(seconds: float, readings: Sequence[float], *, is_sampled: bool) -> bool:
    """`seconds` since the boot was seen, `readings` of the host's IOPS since, one for each round.
    `is_sampled`: whether there will be any."""
    if seconds < LEAST_SECONDS:
        return False
    if not is_sampled or seconds >= MOST_SECONDS:
        return True
    last = readings[-READINGS:]
    if len(last) < READINGS:
        return False
    return max(last) <= QUIET_IOPS or max(last) - min(last) <= LEAST_ALIKE * sum(last) / len(last)

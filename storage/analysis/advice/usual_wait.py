"""How long a volume waits for the slow disk on a usual day. Pure.

A cache is bought for months, so one busy hour decides nothing, whether it is now or was last week,
and a volume that is busy each night is as good a candidate at noon. Each day that has figures is
judged by itself, and the days with the longest waits are left out: a burst is one day, a job that
runs once a week two of two weeks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from storage.analysis.size_choice import bytes_per_day
from storage.metrics.rates import Sums

DAY: Final = 86_400
LEAST_COVERAGE: Final = 0.5
"""A day of which less has figures is not judged by itself."""
LEFT_OUT: Final = 2
"""Days with the longest waits that do not count; of less than four days half of them."""
ENOUGH_DAYS: Final = 3
"""Figures of fewer days are a first look, no advice to spend money on."""
LEAST_SECONDS: Final = 60
LEAST_WAIT_SECONDS: Final = 600
"""What waits less than this a day is worth neither SSD nor a click."""


@dataclass(frozen=True, slots=True)
class UsualWait:
    """`reads` is how many reads wait at a time on a usual day, on average over the day, `writes`
    how many writes; so many bytes are read and written a day. `days` have figures; without any it
    is of the time that is known."""

    reads: float
    days: int
    writes: float = 0.0
    bytes_per_day: float = 0.0

    @property
    def seconds_per_day(self) -> float:
        """What reads and writes wait, those at once counted each."""
        return (self.reads + self.writes) * DAY


def usual_wait(days: Sequence[Sums]) -> UsualWait:
    """What is usual on days of which these are the sums."""
    known = known_days(days)
    measured = [day for day in known or [sum(days, Sums())] if day.dt_ms]
    return UsualWait(
        _usual(day.read_ms / day.dt_ms for day in measured),
        len(known),
        _usual(day.write_ms / day.dt_ms for day in measured),
        mean(bytes_per_day(day) for day in measured) if measured else 0.0,
    )


def _usual(waits: Iterable[float]) -> float:
    """The mean without the longest."""
    ordered = sorted(waits)
    usual = ordered[: len(ordered) - min(LEFT_OUT, len(ordered) // 2)]
    return mean(usual) if usual else 0.0


def known_days(days: Sequence[Sums]) -> list[Sums]:
    """Those with figures enough to be judged by themselves."""
    return [day for day in days if day.dt_ms >= LEAST_COVERAGE * DAY * 1000]

"""Since when the reads of a volume have been slow, or a disk has been busy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from storage.health.slowness import SlowSpell, slow_spell

LOOKED_BACK: Final = timedelta(hours=6)
"""What lasts longer is known to have lasted so long at least."""
STEP_SECONDS: Final = 60
"""Slowness is judged by whole minutes of the clock, so that alert and card judge the same ones."""


@dataclass(frozen=True, slots=True)
class ReadMinute:
    """The reads of a volume in the time of `lasted` that ended `at`; `read_ms` is what all of them
    took."""

    at: datetime
    lasted: timedelta
    reads: int
    read_ms: int


@dataclass(frozen=True, slots=True)
class ReadCourse:
    """The reads of a volume up to the end of what is known, at `ended`. `current` is the slow time
    that is not over, `spell` that or the last one before; None where there was none."""

    minutes: Sequence[ReadMinute] = ()
    current: SlowSpell | None = None
    spell: SlowSpell | None = None

    @property
    def ended(self) -> datetime | None:
        return self.minutes[-1].at if self.minutes else None

    @property
    def is_slow(self) -> bool:
        """Whether the volume is slow: its slow time is long enough, and not over."""
        return self.current is not None and self.current.is_lasting

    @property
    def is_now(self) -> bool:
        """Whether reads were slow in the last minute."""
        return self.current is not None and self.current.last == self.ended

    def between(self, first: datetime, last: datetime) -> Sequence[ReadMinute]:
        return [each for each in self.minutes if first < each.at <= last]

    def average_ms(self, first: datetime, last: datetime) -> float | None:
        """What a read took between the two; None without reads."""
        minutes = self.between(first, last)
        reads = sum(each.reads for each in minutes)
        return sum(each.read_ms for each in minutes) / reads if reads else None


def read_course(
    minutes: Sequence[ReadMinute], limit_ms: int, noted: SlowSpell | None = None
) -> ReadCourse:
    """The oldest first; one slow minute alone is no slow time. `noted` is the slow time as it was
    known before, which may have begun before the figures."""
    if not minutes:
        return ReadCourse()
    current: SlowSpell | None = None
    lasting: SlowSpell | None = None
    first = minutes[0].at - minutes[0].lasted
    for each in minutes:
        current = slow_spell(
            current,
            at=each.at,
            lasted=each.lasted,
            reads=each.reads,
            read_ms=each.read_ms,
            limit_ms=limit_ms,
        )
        if current is not None and current.begun == first:
            begun, is_older = first, True
            if noted is not None and noted.begun <= first <= noted.last:
                begun, is_older = noted.begun, noted.is_older
            current = replace(current, begun=begun, is_older=is_older)
        if current is not None and current.is_lasting:
            lasting = current
    return ReadCourse(minutes, current, current or lasting)


def busy_since(
    shares: Iterable[float | None], start: datetime, limit: float
) -> tuple[datetime | None, bool]:
    """Since when a disk has been at least so busy, None where it is not now, and whether it was
    already at the `start`. `shares` are of each `STEP_SECONDS` from then on; a step without figures
    ends nothing."""
    begun: datetime | None = None
    is_older = False
    for n, busy in enumerate(shares):
        if busy is None:
            continue
        if busy < limit:
            begun, is_older = None, False
        elif begun is None:
            begun, is_older = start + timedelta(seconds=n * STEP_SECONDS), n == 0
    return begun, is_older

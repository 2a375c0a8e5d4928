"""Since when the reads of a volume have been slow, or a disk has been busy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from storage.health.slowness import SlowSpell, slow_spell

LOOKED_BACK: Final = timedelta(hours=6)
"""What lasts longer is known to have lasted so long at least."""
STEP_SECONDS: Final = 60


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
    """The last slow time of a volume up to the end of what is known: `spell` is None where there
    was none. `is_now`: it was slow when the last sample was taken, at `ended`. `is_older`: it was
    slow already where the figures begin."""

    ended: datetime | None = None
    spell: SlowSpell | None = None
    is_now: bool = False
    is_older: bool = False


def read_course(minutes: Sequence[ReadMinute], limit_ms: int) -> ReadCourse:
    """The oldest first; a minute or two that are slow count as now, but not as a slow time that
    was."""
    if not minutes:
        return ReadCourse()
    spell: SlowSpell | None = None
    lasting: SlowSpell | None = None
    for each in minutes:
        spell = slow_spell(
            spell,
            at=each.at,
            lasted=each.lasted,
            reads=each.reads,
            read_ms=each.read_ms,
            limit_ms=limit_ms,
        )
        if spell is not None and spell.is_lasting:
            lasting = spell
    ended, last = minutes[-1].at, spell or lasting
    first = minutes[0].at - minutes[0].lasted
    is_older = last is not None and last.begun <= first
    return ReadCourse(ended, last, spell is not None and spell.last == ended, is_older)


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

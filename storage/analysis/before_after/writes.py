"""The verdict on what writes gained, by their time, and the one on reads and writes together.

The rule for a cache that takes writes too:

1. Reads and writes are each judged by themselves: reads by the share that comes from SSD, writes by
   the time that one takes, of which a factor of `CLOSE` is notable.
2. Where only one of them can be judged, that is the verdict.
3. Where one gained and the other got worse, each counts by the time that the guest waited for it
   before: the verdict is whether all of them together would take notably less time now, or more.
   Reads have also got worse where a read surely takes notably longer, whatever their share.
4. Else a gain of one is a gain, a loss of one is a loss, and no gain is seen only where a gain of
   both is ruled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Final

from storage.analysis.before_after.block import Pair
from storage.analysis.before_after.verdict import (
    SUREST,
    Judged,
    Verdict,
    decide,
    least_alike,
    time_change,
)
from storage.analysis.comparison.measured_change import MeasuredChange
from storage.metrics.compare import CLOSE

NOTABLE: Final = log(CLOSE)
"""Of a factor's logarithm: less is called about the same."""
COIN: Final = 0.5


@dataclass(frozen=True, slots=True)
class JudgedWrites:
    """`time` is the change of the average write time as a factor's logarithm; `confidence` is how
    sure the verdict is, 0 to 1."""

    verdict: Verdict
    confidence: float
    time: MeasuredChange

    @property
    def times_as_long(self) -> tuple[float, float, float]:
        """A write takes so many times as long as before: best estimate, least, most."""
        return self.time.factors


@dataclass(frozen=True, slots=True)
class Combined:
    """`is_weighed`: reads and writes went different ways."""

    verdict: Verdict
    confidence: float
    is_weighed: bool


def judge_writes(measured: Sequence[Pair], *, is_short: bool = False) -> JudgedWrites | None:
    """Pairs with enough writes; None where there are too few of them for any word."""
    time = time_change(
        [
            (before.writes, before.write_ms, after.writes, after.write_ms)
            for before, after in measured
        ],
        least_alike(is_short=is_short),
    )
    if time is None:
        return None
    verdict, confidence = decide(_saved(time), NOTABLE)
    return JudgedWrites(verdict, round(min(SUREST, confidence), 3), time)


def combine(
    reads: Judged | None, writes: JudgedWrites | None, waited: tuple[float, float]
) -> Combined | None:
    """The verdict on both; None where neither can be judged. `waited` is how long the reads and the
    writes took before, added up."""
    if reads is None or writes is None:
        only = reads or writes
        return Combined(only.verdict, only.confidence, False) if only is not None else None
    is_worse = reads.verdict is Verdict.LOSS or _is_slower(reads)
    if (writes.verdict is Verdict.GAIN and is_worse) or (
        writes.verdict is Verdict.LOSS and reads.verdict is Verdict.GAIN
    ):
        return Combined(*_weighed(reads, writes, waited), True)
    both = (reads, writes)
    for verdict in (Verdict.GAIN, Verdict.LOSS, Verdict.UNCLEAR):
        if sure := [each.confidence for each in both if each.verdict is verdict]:
            return Combined(verdict, max(sure), False)
    return Combined(Verdict.NONE, min(reads.confidence, writes.confidence), False)


def _is_slower(reads: Judged) -> bool:
    time = reads.read_time
    return time is not None and time.low > 0 and time.mean >= NOTABLE


def _weighed(
    reads: Judged, writes: JudgedWrites, waited: tuple[float, float]
) -> tuple[Verdict, float]:
    if reads.times_as_long is None or not sum(waited):
        return Verdict.UNCLEAR, COIN
    mean, low, high = (
        (waited[0] * of_reads + waited[1] * of_writes) / sum(waited)
        for of_reads, of_writes in zip(reads.times_as_long, writes.times_as_long, strict=True)
    )
    confidence = min(reads.confidence, writes.confidence)
    if high < 1 and mean <= 1 / CLOSE:
        return Verdict.GAIN, confidence
    if low > 1 and mean >= CLOSE:
        return Verdict.LOSS, confidence
    return (Verdict.NONE, confidence) if low > 1 / CLOSE else (Verdict.UNCLEAR, COIN)


def _saved(time: MeasuredChange) -> MeasuredChange:
    """The same, but more is better."""
    return replace(time, mean=-time.mean, low=-time.high, high=-time.low)

"""The verdict on what reads gained, from the hit rates of paired blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from typing import Final

from storage.analysis.before_after.block import Pair
from storage.analysis.before_after.change import LEAST, capped, mean_change
from storage.analysis.comparison.measured_change import MeasuredChange
from storage.metrics.compare import notable

LEAST_ERROR: Final = 0.003
"""Samples cut off the ends of a window, and reads in flight are counted twice or not at all."""
LEAST_ERROR_LOG: Final = 0.02
SHORT_ALIKE: Final = 0.5
"""What neighbouring parts of a short window have in common at least: what drifts within an hour or
a day looks calm within a minute. Without it one in five gains claimed of minutes would be noise."""
WEEK_ALIKE: Final = 0.3
"""The same of the days of a week: seven of them show too little of what they have in common, and
deployments or the end of a month last for days."""
SUREST: Final = 0.999


class Verdict(StrEnum):
    """`NONE`: a notable gain can be ruled out. `UNCLEAR`: too few or too different figures to tell;
    neither gain nor loss is claimed."""

    GAIN = "gain"
    LOSS = "loss"
    NONE = "none"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Judged:
    """`hit_rate` is the change of the share of reads from SSD (0.1 = ten points), which was
    `before` and is `after`, both weighed alike; `read_time` is the change of the average read time
    as a factor's logarithm, None where too few pairs have read times. `confidence` is how sure the
    verdict is, 0 to 1, 0.5 being a coin."""

    verdict: Verdict
    confidence: float
    before: float
    after: float
    hit_rate: MeasuredChange
    read_time: MeasuredChange | None

    @property
    def times_as_long(self) -> tuple[float, float, float] | None:
        """A read takes so many times as long as before: best estimate, least, most."""
        return self.read_time.factors if self.read_time is not None else None


def verdict_of(measured: Sequence[Pair], *, is_short: bool = False) -> Judged | None:
    """None where there are too few pairs for any word. Each pair counts by the harmonic mean of its
    two numbers of reads, so that an hour that is busy in one window alone cannot decide. In windows
    that are short, of less than a week, more has to be seen before anything is claimed."""
    if len(measured) < LEAST:
        return None
    weights = capped([_weight(before.accesses, after.accesses) for before, after in measured])
    alike = least_alike(is_short=is_short)
    shift = mean_change(
        [after.hit_rate - before.hit_rate for before, after in measured],
        weights,
        least_error=LEAST_ERROR,
        least_alike=alike,
    )
    if shift is None:
        return None
    weighed = zip(measured, weights, strict=True)
    before = sum(pair[0].hit_rate * weight for pair, weight in weighed) / sum(weights)
    verdict, confidence = decide(shift, notable(before))
    return Judged(
        verdict=verdict,
        confidence=round(min(SUREST, confidence), 3),
        before=before,
        after=min(1.0, max(0.0, before + shift.mean)),
        hit_rate=shift,
        read_time=time_change(
            [
                (before.reads, before.read_ms, after.reads, after.read_ms)
                for before, after in measured
            ],
            alike,
        ),
    )


def least_alike(*, is_short: bool) -> float:
    """What neighbouring blocks have in common at least."""
    return SHORT_ALIKE if is_short else WEEK_ALIKE


def decide(shift: MeasuredChange, worth: float) -> tuple[Verdict, float]:
    """What a change is, of which more is better and one by `worth` notable; how sure that is."""
    if shift.low > 0 and shift.mean >= worth:
        return Verdict.GAIN, 1 - shift.chance_below(0)
    if shift.high < 0 and shift.mean <= -worth:
        return Verdict.LOSS, shift.chance_below(0)
    if shift.high < worth:
        return Verdict.NONE, shift.chance_below(worth)
    chance = shift.chance_below(0)
    return Verdict.UNCLEAR, max(chance, 1 - chance)


Timed = tuple[int, int, int, int]
"""How many there were before and how long they took together, and the same after."""


def time_change(measured: Sequence[Timed], alike: float) -> MeasuredChange | None:
    """The change of the average time of a read, or of a write, as a factor's logarithm; None where
    too few pairs have both times."""
    timed = [each for each in measured if min(each) > 0]
    if len(timed) < LEAST:
        return None
    return mean_change(
        [
            log(after_ms / after * before / before_ms)
            for before, before_ms, after, after_ms in timed
        ],
        [_weight(before, after) for before, _, after, _ in timed],
        least_error=LEAST_ERROR_LOG,
        least_alike=alike,
    )


def _weight(a: float, b: float) -> float:
    return 2 * a * b / (a + b)

"""When Tiercel's own long I/O works and when it rests. Pure except for the clock and the
measurements passed in.

A cycle has a period of work and one of rest. During work, our I/O comes in short pulses, few
requests at a time: on a disk that serves one request after the other, every request waits for the
whole queue before it. During rest we do no I/O, so the latency of the others then is their latency
without us.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

from ..kernel.local_host import Beat
from .pace import MOST_SHARE, Governor, Histograms

# Before anything is begun: what the others feel without us.
FIRST_LOOK_SECONDS = 4.0
# It has to last where our I/O does not wholly end in a rest.
ONLY_LOOK_SECONDS = 20.0
WORK_SECONDS = 6.0
# After work the disks and the others still do what had to wait: that belongs to the work.
SETTLE_SECONDS = 1.0
REST_SECONDS = 3.0
# One pulse takes at least so long, and there is no need to ask more or less often.
PULSE_SECONDS = 0.01
MOST_BEAT_SECONDS = 0.05
# Where it is not known what the others feel.
BLIND_SHARE = 0.25


class Rhythm:
    """`look` says what the others did since it was asked last, None where that is not known; `busy`
    says whether I/O of ours is under way, and is None where the kernel itself keeps the duty.
    `most_share` is what our I/O takes where no one else does any."""

    def __init__(
        self,
        clock_ns: Callable[[], int],
        look: Callable[[], Histograms | None],
        allowed_percent: Callable[[], int],
        busy: Callable[[], bool] | None,
        most_share: float = 1.0,
    ) -> None:
        self.governor = Governor(rests_fully=busy is not None)
        self._clock_ns = clock_ns
        self._look = look
        self._allowed = allowed_percent
        self._busy = busy
        self._most_share = most_share
        self._is_blind = look() is None
        self._last_ns = self._until_ns = clock_ns()
        self._is_on = False
        self._pulse_seconds = 0.0
        self._credit_seconds = 0.0
        self._work_seconds = 0.0
        # The share of the time now: 0 at rest.
        self._duty = 0.0
        self._phases = self._turns()

    @property
    def share(self) -> float:
        share = BLIND_SHARE if self._is_blind else self.governor.share
        return min(share, self._most_share)

    def duty(self) -> float:
        """Which share of the time our I/O is to take from now on, until it is asked again."""
        while self._clock_ns() >= self._until_ns:
            self._until_ns += int(next(self._phases) * 1e9)
        return self._duty

    def beat(self) -> Beat:
        """To be asked again after the seconds of the last answer, from before the work begins."""
        now_ns = self._clock_ns()
        passed = (now_ns - self._last_ns) / 1e9
        self._last_ns = now_ns
        # What was begun before a pulse ended is part of it.
        is_busy = self._busy is not None and self._busy()
        if self._is_on or is_busy:
            self._work_seconds += passed
            self._credit_seconds -= passed
        self._pulse_seconds = self._pulse_seconds + passed if self._is_on else 0.0
        duty = self.duty()
        if duty <= 0 or duty >= 1:
            self._is_on, self._credit_seconds = duty >= 1, min(0.0, self._credit_seconds)
            return Beat(not self._is_on, MOST_BEAT_SECONDS)
        self._credit_seconds += passed * duty
        if self._is_on:
            self._is_on = self._pulse_seconds < PULSE_SECONDS or self._credit_seconds > 0
        else:
            self._is_on = self._credit_seconds >= 0
        if self._is_on:
            left_seconds = max(PULSE_SECONDS - self._pulse_seconds, self._credit_seconds)
        else:
            left_seconds = PULSE_SECONDS if is_busy else -self._credit_seconds / duty
        return Beat(not self._is_on, min(max(left_seconds, PULSE_SECONDS / 4), MOST_BEAT_SECONDS))

    def _turns(self) -> Iterator[float]:
        """The seconds of one phase after the other; `_duty` says what is done in it."""
        first_look_seconds = FIRST_LOOK_SECONDS if self._busy else ONLY_LOOK_SECONDS
        yield first_look_seconds
        self._finish(({}, 0.0, 0.0), first_look_seconds)
        while True:
            share = self.share
            if share > MOST_SHARE:
                self._duty = 1.0
                yield WORK_SECONDS
                self._finish((self._others(), WORK_SECONDS, WORK_SECONDS), 0.0)
                continue
            self._duty = share * (WORK_SECONDS + SETTLE_SECONDS + REST_SECONDS) / WORK_SECONDS
            self._work_seconds = 0.0
            yield WORK_SECONDS
            if self._busy is None:
                self._work_seconds = self._duty * WORK_SECONDS
            self._duty = 0.0
            yield SETTLE_SECONDS
            beside = self._others(), WORK_SECONDS + SETTLE_SECONDS, self._work_seconds
            yield REST_SECONDS
            self._finish(beside, REST_SECONDS)

    def _finish(self, beside: tuple[Histograms, float, float], rest_seconds: float) -> None:
        alone = self._others() if rest_seconds else {}
        self.governor.look(self._allowed(), beside, (alone, rest_seconds))

    def _others(self) -> Histograms:
        others = self._look()
        self._is_blind = others is None
        return others or {}

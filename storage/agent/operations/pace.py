"""Progress and permitted speed of long operations: rate, remaining time, stall; and the share of
the time that an operation may take, given the latency of the other volumes on its disks. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..kernel.stats import FINE_NS

WINDOW_NS = 30_000_000_000
CLASSES = len(FINE_NS) + 1
# What long work takes of the time: at first, at least, and at most where others do I/O.
FIRST_SHARE = 0.02
LEAST_SHARE = 0.01
MOST_SHARE = 0.5
UNKNOWN_SHARE = 0.5
# From one turn to the next it becomes at most so many times as much; the second where its effect is
# unknown yet. The third is the step between the shares that are compared.
FASTER, SLOWER, FINER = 2.0, 1.1, 0.95
# The share of what is allowed that is aimed at: the rest is for what a turn cannot foresee.
AIM = 0.75
# After so long what was seen counts half.
HALF_LIFE_SECONDS = 120.0
# With more than this many times the I/Os a second of the first look, or less than 1 / this, the
# first look is no measure.
CHANGED = 1.5
# Fewer I/Os say nothing of a p95.
ENOUGH = 50


@dataclass(frozen=True)
class Pace:
    """`rate_bytes_s` is 0 where it rises; `left_s` None where no end is in sight; `stalled_s` is
    how long ago the lowest amount so far was reached."""

    rate_bytes_s: int
    left_s: int | None
    stalled_s: int

    def to_json(self) -> dict[str, object]:
        return {
            "rate_bytes_s": self.rate_bytes_s,
            "left_s": self.left_s,
            "stalled_s": self.stalled_s,
        }


class RemainingWork:
    """Bytes that are still to be done, measured again and again; `peak` is the highest value."""

    def __init__(self, at_ns: int, dirty: int) -> None:
        self.peak = dirty
        self._least = dirty
        self._least_ns = at_ns
        self._looks: deque[tuple[int, int]] = deque([(at_ns, dirty)])

    def update(self, at_ns: int, dirty: int, limit: int) -> Pace:
        """Record that `dirty` bytes remain; the pace towards `limit` over the last half minute."""
        self.peak = max(self.peak, dirty)
        if dirty < self._least:
            self._least, self._least_ns = dirty, at_ns
        self._looks.append((at_ns, dirty))
        while len(self._looks) > 2 and at_ns - self._looks[0][0] > WINDOW_NS:
            self._looks.popleft()
        first_ns, first = self._looks[0]
        seconds = (at_ns - first_ns) / 1e9
        rate = max(0, int((first - dirty) / seconds)) if seconds > 0 else 0
        left_bytes = max(0, dirty - limit)
        left_s = 0 if left_bytes == 0 else -(-left_bytes // rate) if rate else None
        return Pace(rate, left_s, (at_ns - self._least_ns) // 1_000_000_000)


def percentile_ns(
    counts: Sequence[float], share: float = 0.95, bounds_ns: Sequence[int] = FINE_NS
) -> float:
    """The latency that `share` of the I/Os in a histogram of these bounds stay below, evenly spread
    inside their class. `counts` hold at least one I/O."""
    rank = share * sum(counts)
    lower = 0.0
    for count, upper in zip(counts, (*bounds_ns, 2 * bounds_ns[-1])):
        if count and rank <= count:
            return lower + (upper - lower) * rank / count
        rank -= count
        lower = float(upper)
    return lower


@dataclass(frozen=True)
class Others:
    """What the other volumes on the same disks feel: the p95 of their I/Os, and what it would be
    without our own. 0 and 0 where they do no I/O, or it is unknown. `share_percent`: how
    much of the time our own I/O takes, that their p95 may rise by `allowed_percent` at most."""

    p95_ns: int
    alone_p95_ns: int
    allowed_percent: int
    share_percent: int

    def to_json(self) -> dict[str, object]:
        return {
            "p95_us": self.p95_ns // 1000,
            "alone_p95_us": self.alone_p95_ns // 1000,
            "allowed_percent": self.allowed_percent,
            "share_percent": self.share_percent,
        }


Histograms = Mapping[str, Sequence[float]]


class _Flow:
    """I/Os per class on each set of disks, for so many seconds, and for how many of these our own
    I/O was under way; what is old counts less and less."""

    def __init__(self) -> None:
        self._counts: dict[str, list[float]] = {}
        self.seconds = 0.0
        self.work_seconds = 0.0

    def fade(self, factor: float) -> None:
        self.seconds *= factor
        self.work_seconds *= factor
        self._counts = {
            name: [count * factor for count in counts] for name, counts in self._counts.items()
        }

    def add(self, counts: Histograms, seconds: float, work_seconds: float) -> None:
        self.seconds += seconds
        self.work_seconds += work_seconds
        for name, more in counts.items():
            old = self._counts.get(name, [0.0] * CLASSES)
            self._counts[name] = [a + b for a, b in zip(old, more)]

    def total(self, name: str) -> float:
        return sum(self._counts.get(name, ()))

    def names(self) -> frozenset[str]:
        return frozenset(self._counts)

    def rate(self, name: str) -> list[float]:
        seconds = self.seconds or 1.0
        return [count / seconds for count in self._counts.get(name, [0.0] * CLASSES)]


class Governor:
    """Which share of the time our own I/O may take. It works in turns of work and rest, so both the
    others' latency beside it and without it are known, and with them what each share would bring:
    the largest one is taken that keeps the p95 of the others, over work and rest together, within
    what is allowed. Never less than LEAST_SHARE, so that what was begun ends.

    Where `rests_fully` is False, our own I/O goes on a little in each rest (a mirror's). What the
    first look saw then stands for the others alone, unless a rest is quieter still, or they do so
    much more or less than at first that only the rests show it."""

    def __init__(self, *, rests_fully: bool = True) -> None:
        self._rests_fully = rests_fully
        self._first = _Flow()
        self.share = FIRST_SHARE
        self.p95_ns = 0.0
        self.alone_p95_ns = 0.0
        self._beside = _Flow()
        self._alone = _Flow()

    def look(
        self,
        allowed_percent: int,
        beside: tuple[Histograms, float, float],
        alone: tuple[Histograms, float],
    ) -> None:
        """Take a turn in: the others' I/Os and the seconds of its work, and for how many of these
        our own I/O was under way; the others' I/Os and the seconds of its rest."""
        factor = 0.5 ** ((beside[1] + alone[1]) / HALF_LIFE_SECONDS)
        for flow in (self._beside, self._alone):
            flow.fade(factor)
        if not self._first.seconds and not beside[1]:
            self._first.add(*alone, 0.0)
        self._beside.add(*beside)
        self._alone.add(*alone, 0.0)
        names = self._beside.names() | self._alone.names()
        totals = {name: (self._beside.total(name), self._alone.total(name)) for name in names}
        if all(sum(each) < 1 for each in totals.values()):
            self.share, self.p95_ns, self.alone_p95_ns = 1.0, 0.0, 0.0
            return
        known = [name for name, each in totals.items() if min(each) >= ENOUGH]
        self.share = FIRST_SHARE if self.share > MOST_SHARE else self.share
        if not known:
            # Too few I/Os for a p95, at all or yet.
            self.share = max(self.share, min(UNKNOWN_SHARE, self.share * SLOWER))
            return
        worst = max(known, key=lambda name: self._rise(name, self.share))
        self.alone_p95_ns = percentile_ns(self._without_us(worst))
        self.p95_ns = percentile_ns(self._mixed(worst, self.share))
        aim = AIM * allowed_percent / 100
        share = min(MOST_SHARE, self.share * FASTER)
        while share > LEAST_SHARE and any(self._rise(name, share) > aim for name in known):
            share *= FINER
        self.share = max(LEAST_SHARE, share)

    def _mixed(self, name: str, share: float) -> list[float]:
        """What the others would feel at this share: what each second of ours changed, on top of
        what they feel without us."""
        beside, alone = self._beside.rate(name), self._without_us(name)
        done = self._beside.work_seconds / (self._beside.seconds or 1.0)
        times = share / done if done > 0 else 0.0
        return [max(0.0, b + times * (a - b)) for a, b in zip(beside, alone)]

    def _rise(self, name: str, share: float) -> float:
        return percentile_ns(self._mixed(name, share)) / percentile_ns(self._without_us(name)) - 1

    def _without_us(self, name: str) -> list[float]:
        first, rests = self._first.rate(name), self._alone.rate(name)
        if self._rests_fully or self._first.total(name) < ENOUGH:
            return rests
        if not 1 / CHANGED < sum(rests) / sum(first) < CHANGED:
            return rests
        return min(first, rests, key=percentile_ns)

"""Figures of a time before and of a time after, side by side, and what difference counts. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from storage import formatting
from storage.metrics.rates import FiguresWindow

LEAST_INTERVALS: Final = 3
"""Fewer intervals are a moment, not a time to compare with."""
LEAST_COVERAGE: Final = 0.25
"""Of a time that is known less, the rest may have been otherwise."""
CLOSE: Final = 1.1
"""A factor below which two figures are called equal, wherever a time before is compared with a time
after."""
NOTABLE: Final = 0.05
"""Five reads in a hundred more from SSD are worth a word, ..."""
NOTABLE_OF_MISSES: Final = 0.2
"""... and where few are left to win, a fifth of those, ..."""
LEAST_NOTABLE: Final = 0.01
"""... but never less than one in a hundred."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure: both with units, "-" where unknown, and the difference in words. `verdict` is
    better or worse where more of it can be judged by itself, else ""."""

    what: str
    before: str
    after: str
    difference: str
    verdict: str


def compared(before: FiguresWindow, after: FiguresWindow) -> list[Compared]:
    """The figures that both windows could have; without a cache in both, no hit rates."""
    has_cache = before.cache_size_bytes is not None or after.cache_size_bytes is not None
    rows = [
        _rate("Read IOPS", before.read_iops, after.read_iops, formatting.iops),
        _rate("Write IOPS", before.write_iops, after.write_iops, formatting.iops),
        _time("Read time", before.read_ms, after.read_ms),
        _time("Write time", before.write_ms, after.write_ms),
        _time("Median latency", before.latency_p50_ms, after.latency_p50_ms),
        _time("p95 latency", before.latency_p95_ms, after.latency_p95_ms),
        _time("p99 latency", before.latency_p99_ms, after.latency_p99_ms),
        _rate(
            "Data read",
            before.read_bytes_per_s,
            after.read_bytes_per_s,
            formatting.speed,
        ),
        _rate(
            "Data written",
            before.write_bytes_per_s,
            after.write_bytes_per_s,
            formatting.speed,
        ),
    ]
    if has_cache:
        rows += [
            _share("Read hit rate", before.hit_rate, after.hit_rate),
            _share("Write hit rate", before.write_hit_rate, after.write_hit_rate),
        ]
    return [
        each
        for each in rows
        if (each.before, each.after) != (formatting.NOTHING, formatting.NOTHING)
    ]


def is_enough(window: FiguresWindow) -> bool:
    """Whether the window has figures enough to compare."""
    return window.intervals >= LEAST_INTERVALS and window.coverage >= LEAST_COVERAGE


def notable(hit_rate_before: float) -> float:
    """What change of a hit rate is one, wherever a time before is compared with a time after."""
    return min(NOTABLE, max(LEAST_NOTABLE, NOTABLE_OF_MISSES * (1 - hit_rate_before)))


def times_as_much(before: float | None, after: float | None) -> float | None:
    """The factor between two figures; None where one is unknown or zero, 1 where they are close."""
    if not before or not after:
        return None
    factor = after / before
    return 1.0 if max(factor, 1 / factor) < CLOSE else factor


def times_longer(before: float | None, after: float | None) -> str:
    """The same in words: "3.2 times faster", "the same"; "" where unknown."""
    return _factor(before, after, "slower", "faster")


def _rate(
    what: str, before: float | None, after: float | None, say: Callable[[object], str]
) -> Compared:
    """How much was done: the guest's choice as much as the disk's, so without a verdict."""
    return Compared(what, say(before), say(after), _factor(before, after, "more", "less"), "")


def _time(what: str, before: float | None, after: float | None) -> Compared:
    difference = times_longer(before, after)
    verdict = {"slower": "worse", "faster": "better"}.get(difference.rpartition(" ")[2], "")
    return Compared(what, formatting.ms(before), formatting.ms(after), difference, verdict)


def _share(what: str, before: float | None, after: float | None) -> Compared:
    shown = formatting.percent(before), formatting.percent(after)
    if before is None or after is None:
        return Compared(what, *shown, "", "")
    change = after - before
    if abs(change) < notable(before):
        return Compared(what, *shown, "about the same", "")
    points = f"{change * 100:+.0f} points"
    return Compared(what, *shown, points, "better" if change > 0 else "worse")


def _factor(before: float | None, after: float | None, more: str, less: str) -> str:
    factor = times_as_much(before, after)
    if factor is None or factor == 1:
        return "" if factor is None else "the same"
    factor, word = (factor, more) if factor > 1 else (1 / factor, less)
    digits = 0 if factor >= 10 else 1 if factor >= 2 else 2
    return f"{factor:.{digits}f} times {word}"

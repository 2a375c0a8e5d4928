"""The figures of one volume in two time windows, side by side. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from storage import formatting
from storage.metrics.rates import FiguresWindow

LEAST_INTERVALS: Final = 3
"""Fewer intervals are a moment, not a time to compare with."""
CLOSE: Final = 1.1
"""A factor below which two figures are called equal, here and wherever a time before is compared
with a time after."""
CLOSE_POINTS: Final = 1.0


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
        _time("Median latency", before.latency_ms_p50, after.latency_ms_p50),
        _time("p95 latency", before.latency_ms_p95, after.latency_ms_p95),
        _rate(
            "Data read",
            before.read_bytes_per_second,
            after.read_bytes_per_second,
            formatting.speed,
        ),
        _rate(
            "Data written",
            before.write_bytes_per_second,
            after.write_bytes_per_second,
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
    return window.intervals >= LEAST_INTERVALS


def _rate(
    what: str, before: float | None, after: float | None, say: Callable[[object], str]
) -> Compared:
    """How much was done: the guest's choice as much as the disk's, so without a verdict."""
    return Compared(what, say(before), say(after), _factor(before, after, "more", "less"), "")


def _time(what: str, before: float | None, after: float | None) -> Compared:
    difference = _factor(before, after, "slower", "faster")
    verdict = {"slower": "worse", "faster": "better"}.get(difference.rpartition(" ")[2], "")
    return Compared(what, formatting.ms(before), formatting.ms(after), difference, verdict)


def _share(what: str, before: float | None, after: float | None) -> Compared:
    shown = formatting.percent(before), formatting.percent(after)
    if before is None or after is None:
        return Compared(what, *shown, "", "")
    points = (after - before) * 100
    if abs(points) < CLOSE_POINTS:
        return Compared(what, *shown, "the same", "")
    return Compared(what, *shown, f"{points:+.0f} points", "better" if points > 0 else "worse")


def _factor(before: float | None, after: float | None, more: str, less: str) -> str:
    """ "3.2 times faster", "the same", or "" where one of them is unknown or zero."""
    if not before or not after:
        return ""
    factor = max(before, after) / min(before, after)
    if factor < CLOSE:
        return "the same"
    digits = 0 if factor >= 10 else 1 if factor >= 2 else 2
    return f"{factor:.{digits}f} times {more if after > before else less}"

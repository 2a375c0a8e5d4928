"""The colours of maps, by place and by time: a figure's band, with the figure in words. Pure.

The last band begins where the panel calls something slow or saturated. What is unknown has no
colour, and is never the best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from storage.formatting import ms, percent
from storage.models.host import FAST_READ_MS

Band = Literal["none", "1", "2", "3", "unknown", "4"]
"""From the best to the worst: "none" has nothing to measure, "4" is over its limit."""
WORSE: Final[tuple[Band, ...]] = ("none", "1", "2", "3", "unknown", "4")
OVER: Final = "4"
SSD_MS: Final = 1
HALF, MUCH = 0.3, 0.6


@dataclass(frozen=True, slots=True)
class Heat:
    """`words` are the figure with its unit."""

    band: Band
    words: str


UNKNOWN: Final = Heat("unknown", "unknown")
NO_READS: Final = Heat("none", "no reads")


def latency_heat(read_ms: float | None, slow_ms: float) -> Heat:
    """Of reads that took `read_ms` on average; None where there were none. What takes `slow_ms` is
    slow."""
    return volume_heat(read_ms, is_slow=read_ms is not None and read_ms >= slow_ms)


def volume_heat(read_ms: float | None, *, is_slow: bool) -> Heat:
    """The same of a volume, of which the judge of slow volumes says whether it is slow."""
    words = NO_READS.words if read_ms is None else ms(read_ms)
    if is_slow:
        return Heat(OVER, words)
    if read_ms is None:
        return NO_READS
    return Heat("1" if read_ms < SSD_MS else "2" if read_ms < FAST_READ_MS else "3", words)


def busy_heat(busy: float | None, limit_percent: float) -> Heat:
    """Of what had I/O under way for `busy` of the time (0 to 1), None where that is unknown. From
    `limit_percent` on it is saturated."""
    if busy is None:
        return UNKNOWN
    words = percent(round(busy, 3))
    if busy * 100 >= limit_percent:
        return Heat(OVER, words)
    return Heat("1" if busy < HALF else "2" if busy < MUCH else "3", words)


def hottest(heats: Iterable[Heat]) -> Heat:
    """The worst of several, the first where they are alike; unknown where there is none."""
    return max(heats, key=lambda each: WORSE.index(each.band), default=UNKNOWN)


def latency_legend(
    slow_ms: float, *, differs: str = "", quiet: str = NO_READS.words
) -> tuple[Heat, ...]:
    """The bands in words. `differs` says which other limits hold, `quiet` of what no latency is
    known."""
    return (
        Heat("1", f"under {SSD_MS} ms"),
        Heat("2", f"{SSD_MS} to {FAST_READ_MS} ms"),
        Heat("3", f"from {FAST_READ_MS} ms"),
        Heat(OVER, f"slow: from {slow_ms:g} ms{differs}"),
        Heat(NO_READS.band, quiet),
        UNKNOWN,
    )


def busy_legend(limit_percent: float, *, differs: str = "") -> tuple[Heat, ...]:
    return (
        Heat("1", f"under {percent(HALF)}"),
        Heat("2", f"{HALF * 100:.0f} to {percent(MUCH)}"),
        Heat("3", f"from {percent(MUCH)}"),
        Heat(OVER, f"saturated: from {limit_percent:g} %{differs}"),
        UNKNOWN,
    )

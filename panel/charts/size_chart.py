"""A curve over sizes of SSD as a drawing: the share of reads from SSD with its range, and where the
plans on sale lie on it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

from storage.analysis.curve.prospects import Prospect
from storage.formatting import size

WIDTH: Final = 640
HEIGHT: Final = 260
LEFT, RIGHT, TOP, BOTTOM = 78, 44, 14, 34
LABEL_PIXELS: Final = 110
"""So much room a label of the lower axis takes."""
LETTER_PIXELS: Final = 13
"""So much a letter takes at most, on a narrow screen."""
ROW_PIXELS: Final = 28
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Tick:
    """Where a line of the grid lies, in pixels, and what stands beside it ("": nothing)."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class PlanDot:
    """A plan on the curve, and where its name stands below: at its end where `is_last`, as there is
    no room to the right."""

    x: str
    y: str
    text: str
    text_y: str
    is_last: bool


@dataclass(frozen=True, slots=True)
class SizeChart:
    """In pixels from the upper left corner. `band` is a polygon, `line` a polyline. `now` and
    `enough` are where an upright line stands ("": none)."""

    band: str
    line: str
    sizes: tuple[Tick, ...]
    shares: tuple[Tick, ...]
    now: str
    enough: str
    plans: tuple[PlanDot, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def size_chart(
    prospects: Sequence[Prospect],
    size_now: int | None,
    enough: int | None,
    plans: Sequence[tuple[str, Prospect]] = (),
) -> SizeChart:
    """The curve of at least one prospect, sizes on a scale of powers of two; `plans` by name, each
    with the prospect of its size."""
    first, last = log2(prospects[0].size_bytes), log2(prospects[-1].size_bytes)
    span = last - first or 1.0

    def x(size_bytes: float) -> float:
        return LEFT + (log2(size_bytes) - first) / span * (WIDTH - LEFT - RIGHT)

    def mark(size_bytes: int | None) -> str:
        return f"{x(size_bytes):.1f}" if size_bytes else ""

    upper = [f"{x(each.size_bytes):.1f},{_y(each.hit_rate.high)}" for each in prospects]
    lower = [f"{x(each.size_bytes):.1f},{_y(each.hit_rate.low)}" for each in prospects]
    ticks, free_from = [], 0.0
    for each in prospects:
        at = x(each.size_bytes)
        text = size(each.size_bytes) if at >= free_from else ""
        free_from = at + LABEL_PIXELS if text else free_from
        ticks.append(Tick(f"{at:.1f}", text))
    dots, rows = _plan_dots([(x(each.size_bytes), name, each) for name, each in plans])
    return SizeChart(
        band=" ".join((*upper, *reversed(lower))),
        line=" ".join(f"{x(each.size_bytes):.1f},{_y(each.hit_rate.likely)}" for each in prospects),
        sizes=tuple(ticks),
        shares=tuple(Tick(_y(share), f"{share:.0%}".replace("%", " %")) for share in SHARES),
        now=mark(size_now),
        enough=mark(enough),
        plans=dots,
        height=HEIGHT + rows * ROW_PIXELS,
    )


def _plan_dots(
    plans: Sequence[tuple[float, str, Prospect]],
) -> tuple[tuple[PlanDot, ...], int]:
    """The dots, the names in as few rows as do not overlap, and how many rows these are."""
    ends: list[float] = []
    dots = []
    for x, name, prospect in sorted(plans, key=lambda each: each[0]):
        wide = LETTER_PIXELS * len(name)
        is_last = x + wide > WIDTH
        begin, end = (x - wide, x) if is_last else (x, x + wide)
        row = next((n for n, taken in enumerate(ends) if taken < begin), len(ends))
        ends[row : row + 1] = [end + LETTER_PIXELS]
        y = HEIGHT + (row + 0.5) * ROW_PIXELS
        dots.append(
            PlanDot(f"{x:.1f}", _y(prospect.hit_rate.likely), name, f"{y:.1f}", is_last=is_last)
        )
    return tuple(dots), len(ends)


def _y(share: float) -> str:
    return f"{TOP + (1 - share) * (HEIGHT - TOP - BOTTOM):.1f}"

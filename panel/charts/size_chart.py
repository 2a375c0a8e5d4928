"""Curves over sizes of SSD as drawings: the share of reads from SSD, and where the plans on sale
lie. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

from storage.analysis.curve.prospects import Prospect
from storage.formatting import size

WIDTH: Final = 640
HEIGHT: Final = 264
LEFT, RIGHT, TOP, BOTTOM = 78, 44, 14, 38
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
class NamedLine:
    """A polyline and its name."""

    name: str
    points: str


@dataclass(frozen=True, slots=True)
class PlanDot:
    """A plan on the curve, and where its name stands below: at its end where `is_last`, as there is
    no room to the right."""

    x: str
    y: str
    text: str
    text_y: str
    is_last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """In pixels from the upper left corner: sizes on a scale of powers of two, and shares."""

    sizes: tuple[Tick, ...]
    shares: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChart(Axes):
    """`band` is a polygon, `line` a polyline. `now` and `enough` are where an upright line stands
    ("": none)."""

    band: str
    line: str
    now: str
    enough: str
    plans: tuple[PlanDot, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesChart(Axes):
    """Several curves."""

    lines: tuple[NamedLine, ...]


class _Scale:
    """The lower axis of at least one size."""

    def __init__(self, sizes_bytes: Sequence[int]) -> None:
        self._first = log2(sizes_bytes[0])
        self._span = log2(sizes_bytes[-1]) - self._first or 1.0

    def x(self, size_bytes: float) -> float:
        return LEFT + (log2(size_bytes) - self._first) / self._span * (WIDTH - LEFT - RIGHT)

    def mark(self, size_bytes: int | None) -> str:
        return f"{self.x(size_bytes):.1f}" if size_bytes else ""

    def points(self, sizes_bytes: Sequence[int], shares: Sequence[float]) -> list[str]:
        pairs = zip(sizes_bytes, shares, strict=True)
        return [f"{self.x(size):.1f},{_y(share)}" for size, share in pairs]

    def ticks(self, sizes_bytes: Sequence[int]) -> tuple[Tick, ...]:
        ticks, free_from = [], 0.0
        for each in sizes_bytes:
            at = self.x(each)
            text = size(each) if at >= free_from else ""
            free_from = at + LABEL_PIXELS if text else free_from
            ticks.append(Tick(f"{at:.1f}", text))
        return tuple(ticks)


def size_chart(
    prospects: Sequence[Prospect],
    size_now: int | None,
    enough: int | None,
    plans: Sequence[tuple[str, Prospect]] = (),
) -> SizeChart:
    """The curve of at least one prospect, with its range; `plans` by name, each with the
    prospect of its size."""
    sizes = [each.size_bytes for each in prospects]
    scale, rates = _Scale(sizes), [each.hit_rate for each in prospects]
    upper = scale.points(sizes, [rate.high for rate in rates])
    lower = scale.points(sizes, [rate.low for rate in rates])
    dots, rows = _plan_dots([(scale.x(each.size_bytes), name, each) for name, each in plans])
    return SizeChart(
        band=" ".join((*upper, *reversed(lower))),
        line=" ".join(scale.points(sizes, [rate.likely for rate in rates])),
        sizes=scale.ticks(sizes),
        shares=_share_ticks(),
        now=scale.mark(size_now),
        enough=scale.mark(enough),
        plans=dots,
        height=HEIGHT + rows * ROW_PIXELS,
    )


def lines_chart(sizes_bytes: Sequence[int], curves: Mapping[str, Sequence[float]]) -> LinesChart:
    """Several curves over the same sizes, by name."""
    scale = _Scale(sizes_bytes)
    return LinesChart(
        lines=tuple(
            NamedLine(name, " ".join(scale.points(sizes_bytes, shares)))
            for name, shares in curves.items()
        ),
        sizes=scale.ticks(sizes_bytes),
        shares=_share_ticks(),
    )


def _share_ticks() -> tuple[Tick, ...]:
    return tuple(Tick(_y(share), f"{share:.0%}".replace("%", " %")) for share in SHARES)


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

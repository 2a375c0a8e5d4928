"""Forecast shares of reads against measured ones as a drawing. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from panel.proofs.calibration import HeldForecast

SIDE: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 48, 26, 10, 40
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class ScatterTick:
    """A share, and the position of its grid line, in pixels."""

    x: str
    y: str
    text: str


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """The position of an order; its range goes from `low` to `high`, in pixels from the left."""

    x: str
    y: str
    low: str
    high: str
    forecast: HeldForecast


@dataclass(frozen=True, slots=True)
class Scatter:
    """In pixels from the upper left corner: forecasts to the right, what was measured upwards."""

    points: tuple[ScatterPoint, ...]
    ticks: tuple[ScatterTick, ...]
    width: int = LEFT + SIDE + RIGHT
    height: int = TOP + SIDE + BOTTOM
    left: int = LEFT
    right: int = LEFT + SIDE
    top: int = TOP
    bottom: int = TOP + SIDE


def scatter(forecasts: Iterable[HeldForecast]) -> Scatter:
    """A point for each."""
    points = (
        ScatterPoint(_x(each.likely), _y(each.measured), _x(each.low), _x(each.high), each)
        for each in forecasts
    )
    ticks = (ScatterTick(_x(each), _y(each), f"{100 * each:.0f} %") for each in SHARES)
    return Scatter(tuple(points), tuple(ticks))


def _x(share: float) -> str:
    return f"{LEFT + share * SIDE:.1f}"


def _y(share: float) -> str:
    return f"{TOP + (1 - share) * SIDE:.1f}"

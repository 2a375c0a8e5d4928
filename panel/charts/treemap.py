"""A squarified treemap (Bruls, Huizing and van Wijk, 2000): the area of a tile is its part of the
whole, and tiles are as square as they can be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST: Final = 1 / 2000
"""A smaller part of the whole would not be seen."""


@dataclass(frozen=True, slots=True)
class TilePlace:
    """In percent of the whole, from its upper left corner: lengths of SVG."""

    x: float
    y: float
    width: float
    height: float


@dataclass(slots=True)
class _Room:
    """What is not filled yet."""

    x: float
    y: float
    width: float
    height: float

    @property
    def side(self) -> float:
        """Rows are laid along the shorter one."""
        return min(self.width, self.height)

    def fill(self, areas: Sequence[float]) -> list[tuple[float, float, float, float]]:
        """Lay a row of tiles, and leave what remains."""
        depth, along = sum(areas) / self.side, 0.0
        is_upright = self.width >= self.height
        tiles = []
        for area in areas:
            length = area / depth
            if is_upright:
                tiles.append((self.x, self.y + along, depth, length))
            else:
                tiles.append((self.x + along, self.y, length, depth))
            along += length
        if is_upright:
            self.x, self.width = self.x + depth, self.width - depth
        else:
            self.y, self.height = self.y + depth, self.height - depth
        return tiles


def squarified(sizes: Sequence[float], aspect: float) -> tuple[TilePlace, ...]:
    """A tile for each of `sizes` (0 or more) in a room that is `aspect` times as wide as it is
    high, from the upper left on. They are squarest where the sizes fall."""
    whole = sum(sizes)
    shown = [max(size, whole * LEAST) if whole else 1.0 for size in sizes]
    scale = aspect / sum(shown) if shown else 0.0
    areas = [size * scale for size in shown]
    room = _Room(0.0, 0.0, aspect, 1.0)
    tiles: list[tuple[float, float, float, float]] = []
    first = 0
    while first < len(areas):
        last = _row_end(areas, first, room.side)
        tiles += room.fill(areas[first:last])
        first = last
    return tuple(_in_percent(tile, aspect) for tile in tiles)


def _row_end(areas: Sequence[float], first: int, side: float) -> int:
    """Where the row that begins with `first` ends: a tile more would make the worst one longer."""
    total = largest = smallest = areas[first]
    end, worst = first + 1, _longest(total, largest, smallest, side)
    while end < len(areas):
        total += areas[end]
        largest, smallest = max(largest, areas[end]), min(smallest, areas[end])
        ratio = _longest(total, largest, smallest, side)
        if ratio > worst:
            break
        worst, end = ratio, end + 1
    return end


def _longest(total: float, largest: float, smallest: float, side: float) -> float:
    """The worst ratio of the sides of a tile in a row of that total area."""
    square = (total / side) ** 2
    return max(largest / square, square / smallest)


def _in_percent(tile: tuple[float, float, float, float], aspect: float) -> TilePlace:
    x, y, width, height = tile
    return TilePlace(100 * x / aspect, 100 * y, 100 * width / aspect, 100 * height)

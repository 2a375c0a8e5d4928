"""What a map draws: things as tiles, with what a screen reader says of each. Pure.

A tile's size is in percent of its map, which is as wide as the page and has one of a few heights.
The browser leaves out or shortens what a tile has no room for (`static/map.css`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from panel.charts.heat_bands import Heat
from panel.charts.treemap import TilePlace, squarified
from storage.formatting import percent, size
from storage.health.failure_reach import PartFault

Kind = Literal["disk", "array", "missing", "volume", "cache", "guest", "host", "free", "other"]
RESTS: Final = ("free", "other")
NARROW_PX: Final = 290
"""The width of a map on a small screen."""
NARROW_WEIGHT: Final = 2 / 3
"""How much more the shape of tiles is made for a small screen: there a name has least room."""
LEAST_SLICE: Final = 1 / 50
"""No slice is a smaller part of its row."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A cache on a tile: `filled` and `dirty` are shares of it in percent, `filled` None where that
    is unknown. `detail` is what it is and where it lies."""

    size_bytes: int | None
    filled: float | None
    dirty: float
    hit_rate: float | None
    detail: str = ""

    @property
    def hits(self) -> str:
        """Its hit rate on the tile; "" where that is unknown."""
        return "" if self.hit_rate is None else f", hits {percent(self.hit_rate)}"

    @property
    def words(self) -> str:
        fill = "fill unknown" if self.filled is None else f"{percent(self.filled / 100)} full"
        hits = "unknown" if self.hit_rate is None else percent(self.hit_rate)
        dirty = f", {percent(self.dirty / 100)} dirty" if self.dirty else ""
        what = f"cache {size(self.size_bytes)}{f', {self.detail}' if self.detail else ''}"
        return f"{what}: {fill}{dirty}, hit rate {hits}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """`key` is unique in its map. `heats` are by the name of what they measure ("latency")."""

    key: str
    kind: Kind
    name: str
    size_bytes: int | None = None
    url: str = ""
    detail: str = ""
    heats: tuple[tuple[str, Heat], ...] = ()
    fault: PartFault | None = None
    strip: Strip | None = None

    @property
    def own_words(self) -> str:
        """The second line of what nothing is measured of."""
        return "" if self.size_bytes is None else size(self.size_bytes)

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of it, in words."""
        return (
            *((size(self.size_bytes),) if self.size_bytes is not None else ()),
            *((self.detail,) if self.detail else ()),
            *(f"{name}: {heat.words}" for name, heat in self.heats),
            *((self.strip.words,) if self.strip is not None else ()),
        )

    @property
    def trouble(self) -> str:
        """What is wrong with it, or with what it lies on; "" for nothing."""
        if self.fault is None:
            return ""
        return self.fault.what if self.fault.source == self.name else str(self.fault)

    @property
    def title(self) -> str:
        """All of it in one line."""
        said = f"{self.name}: {', '.join(self.facts)}" if self.facts else self.name
        return f"{said}. {self.trouble}" if self.fault is not None else said

    @property
    def look(self) -> str:
        """The classes of its tile."""
        bands = (f"{name}-{heat.band}" for name, heat in self.heats)
        fault = (f"tile-{self.fault.level}",) if self.fault is not None else ()
        return " ".join((f"tile-{self.kind}", *bands, *fault))


@dataclass(frozen=True, slots=True)
class Tile:
    """A thing in its place."""

    thing: Thing
    place: TilePlace


@dataclass(frozen=True, slots=True)
class Branch:
    """A thing in the list that says what a map shows, with those below it."""

    thing: Thing
    below: tuple[Thing, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """What volumes lie on: a disk alone, or something with disks in it as `parts`."""

    tile: Tile
    parts: tuple[Tile, ...]

    @property
    def branch(self) -> Branch:
        return Branch(self.tile.thing, tuple(part.thing for part in self.parts))


Height = Literal["row", "s", "m", "l", "xl", "guests"]
HEIGHTS_PX: Final[Mapping[Height, tuple[int, int]]] = {
    "row": (76, 76),
    "s": (120, 160),
    "m": (220, 300),
    "l": (340, 480),
    "xl": (480, 640),
    "guests": (150, 320),
}
"""Of a picture on a large screen and on a small one, as `map.css` has them."""


@dataclass(frozen=True, slots=True)
class TilePicture:
    """Tiles in a picture."""

    tiles: tuple[Tile, ...]
    height: Height

    @property
    def branches(self) -> tuple[Branch, ...]:
        return tuple(Branch(tile.thing) for tile in self.tiles)


def tiled(
    weighed: Sequence[tuple[Thing, float]], wide_px: int, height: Height | None = None
) -> TilePicture:
    """A treemap of things with their weights, what is no thing of its own last; `wide_px` is its
    width on a large screen."""
    height = height or height_for(len(weighed))
    wide_high, narrow_high = HEIGHTS_PX[height]
    wide, narrow = wide_px / wide_high, NARROW_PX / narrow_high
    aspect = wide ** (1 - NARROW_WEIGHT) * narrow**NARROW_WEIGHT
    order = sorted(weighed, key=lambda each: (each[0].kind in RESTS, -each[1], each[0].key))
    places = squarified([weight for _, weight in order], aspect)
    return TilePicture(
        tuple(Tile(thing, place) for (thing, _), place in zip(order, places, strict=True)),
        height,
    )


def sliced(weighed: Sequence[tuple[Thing, float]]) -> TilePicture:
    """Things beside each other in their order, as wide as their weights."""
    whole = sum(weight for _, weight in weighed)
    weights = [max(weight, whole * LEAST_SLICE) if whole else 1.0 for _, weight in weighed]
    share = 100 / sum(weights) if weights else 0.0
    tiles, x = [], 0.0
    for (thing, _), weight in zip(weighed, weights, strict=True):
        tiles.append(Tile(thing, TilePlace(x, 0.0, weight * share, 100.0)))
        x += weight * share
    return TilePicture(tuple(tiles), "row")


def height_for(count: int) -> Height:
    """More tiles have more room."""
    heights: tuple[tuple[int, Height], ...] = ((4, "s"), (12, "m"), (60, "l"))
    return next((height for most, height in heights if count <= most), "xl")

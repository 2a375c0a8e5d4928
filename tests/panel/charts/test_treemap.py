"""Tiles of a treemap: their areas, their shapes, and that they fill the room."""

from __future__ import annotations

import pytest

from panel.charts.treemap import LEAST, TilePlace, squarified


def area(place: TilePlace) -> float:
    return place.width * place.height / 10_000


def longest(place: TilePlace, aspect: float) -> float:
    """The ratio of its sides as drawn."""
    sides = place.width * aspect, place.height
    return max(sides) / min(sides)


def test_areas_are_as_the_sizes() -> None:
    sizes = (6, 6, 4, 3, 2, 2, 1)
    found = squarified(sizes, 1.5)
    assert [area(each) for each in found] == pytest.approx([size / 24 for size in sizes])


def test_the_example_of_the_paper_is_laid_as_there() -> None:
    found = squarified((6, 6, 4, 3, 2, 2, 1), 1.5)
    first, second = found[:2]
    assert (first.x, first.y, first.width, first.height) == pytest.approx((0, 0, 50, 50))
    assert (second.x, second.y) == pytest.approx((0, 50))
    assert max(longest(each, 1.5) for each in found) < 3.5


def test_tiles_fill_the_room_and_none_lies_on_another() -> None:
    found = squarified([100 / n for n in range(1, 41)], 2.0)
    assert sum(area(each) for each in found) == pytest.approx(1)
    for n, one in enumerate(found):
        assert one.x + one.width <= 100.001 and one.y + one.height <= 100.001
        for other in found[n + 1 :]:
            beside = one.x + one.width <= other.x + 0.001 or other.x + other.width <= one.x + 0.001
            above = one.y + one.height <= other.y + 0.001 or other.y + other.height <= one.y + 0.001
            assert beside or above


def test_what_is_tiny_is_still_seen() -> None:
    _, tiny = squarified((10**12, 1), 1.0)
    assert area(tiny) == pytest.approx(LEAST, rel=0.01)


@pytest.mark.parametrize(("sizes", "count"), [((), 0), ((0, 0), 2), ((5,), 1)])
def test_nothing_and_zeros_are_laid_out(sizes: tuple[int, ...], count: int) -> None:
    found = squarified(sizes, 1.0)
    assert len(found) == count
    assert sum(area(each) for each in found) == pytest.approx(1 if count else 0)

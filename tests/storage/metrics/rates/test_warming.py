"""When a cache is warm: neither its hit rate nor its fill grows any more."""

from __future__ import annotations

import pytest

from storage.metrics.rates.warming import LEAST_PARTS, CachePart, Learning, learning


def found(fills: list[float | None], rates: list[float], reads: int = 1000) -> Learning:
    return learning(
        [
            CachePart(n, reads, rate * reads, None if fill is None else fill * 100, 100)
            for n, (fill, rate) in enumerate(zip(fills, rates, strict=True))
        ]
    )


RISING = [0.1 * n for n in range(LEAST_PARTS)]
STEADY = [0.5] * LEAST_PARTS
UNKNOWN: list[float | None] = [None] * LEAST_PARTS


@pytest.mark.parametrize(
    ("fills", "rates", "is_warm"),
    [
        (STEADY, STEADY, True),
        (STEADY, RISING, False),
        (RISING, STEADY, False),
        ([0.96, 0.97, 0.98, 0.98, 0.99, 1.0], STEADY, True),
        (STEADY, RISING[::-1], True),
        (UNKNOWN, STEADY, True),
        (UNKNOWN, RISING, False),
    ],
    ids=[
        "steady",
        "the hit rate rises",
        "the cache fills",
        "it is full",
        "the hit rate falls",
        "fill unknown",
        "fill unknown and hit rate rising",
    ],
)
def test_warm_is_what_neither_learns_nor_fills(
    fills: list[float | None], rates: list[float], is_warm: bool
) -> None:
    assert found(fills, rates).is_warm is is_warm


def test_few_reads_leave_the_word_to_the_fill() -> None:
    of_silent_guest = found([*STEADY], RISING, reads=10)
    assert (of_silent_guest.rise, of_silent_guest.is_warm) == (None, True)
    assert found(UNKNOWN, RISING, reads=10).is_warm is None


def test_a_moment_tells_no_growth() -> None:
    moment = found([0.5] * 5, [0.5] * 5)
    assert (moment.growth, moment.rise, moment.is_warm) == (None, None, False)
    assert learning([]).is_warm is None

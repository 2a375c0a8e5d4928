"""When a cache is warm, by the blocks of a proof."""

from __future__ import annotations

from dataclasses import replace

from storage.analysis.before_after import is_warm, warm_from
from tests.storage.analysis.before_after.load import block


def warming(count: int, accesses: int = 1000) -> list[float]:
    """Hit rates of a cache that learns half of the rest with each block, up to 80 %."""
    return [0.8 * (1 - 0.5**n) for n in range(count)]


def test_a_hit_rate_that_still_rises_is_not_flat() -> None:
    assert not is_warm([block(n, 1000, rate) for n, rate in enumerate(warming(6))])


def test_the_wait_ends_when_it_no_longer_rises() -> None:
    blocks = [block(n, 1000, rate) for n, rate in enumerate(warming(20))]
    assert warm_from(blocks) == 10


def test_a_falling_hit_rate_is_warm_enough() -> None:
    assert is_warm([block(n, 1000, 0.8 - n / 50) for n in range(6)])


def test_a_rise_is_weighed_by_its_reads() -> None:
    """Two blocks of a few reads at the end: the hit rate of all reads stays as it was."""
    rates = [(1000, 0.6), (1000, 0.6), (1000, 0.6), (1000, 0.6), (5, 1.0), (5, 1.0)]
    assert is_warm([block(n, accesses, rate) for n, (accesses, rate) in enumerate(rates)])


def test_a_cache_without_reads_is_never_called_warm() -> None:
    assert warm_from([block(n, 20, 0.5) for n in range(50)]) is None


def test_five_blocks_are_too_few() -> None:
    assert warm_from([block(n, 1000, 0.5) for n in range(5)]) is None


def test_a_flat_hit_rate_is_not_enough_while_the_cache_still_fills() -> None:
    blocks = [
        replace(block(n, 1000, 0.5), used_bytes=min(100, 10 * n), cache_size_bytes=100)
        for n in range(20)
    ]
    assert warm_from(blocks) == 11


def test_a_cache_without_reads_is_not_warm_because_it_takes_in_nothing() -> None:
    blocks = [replace(block(n, 20, 0.5), used_bytes=50, cache_size_bytes=100) for n in range(20)]
    assert warm_from(blocks) is None

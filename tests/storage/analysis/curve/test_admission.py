"""A full cache that admits some misses only, held against one that is played step by step."""

from __future__ import annotations

import random
from collections import OrderedDict

import numpy as np
import pytest

from storage.analysis.curve.admission import later_admission, most_misses, rate_mixture
from storage.analysis.curve.heat import usable
from storage.analysis.curve.miss_ratio import miss_ratio_curve
from tests.storage.analysis.curve.traces import CHUNK_BYTES, Trace, heat, zipf_load

VOLUME, SEEN, WARM = 4096, 30_000, 60_000


def played(chunks: list[int], size: int, promotion_share: float) -> float:
    """The miss ratio after `WARM` references."""
    draw = random.Random(7)
    cache, missed = OrderedDict[int, None](), 0
    for at, chunk in enumerate(chunks):
        if chunk in cache:
            cache.move_to_end(chunk)
            continue
        missed += at >= WARM
        if draw.random() < promotion_share:
            cache[chunk] = None
            if len(cache) > size:
                cache.popitem(last=False)
    return missed / (len(chunks) - WARM)


@pytest.mark.parametrize("theta", [0.8, 1.1])
@pytest.mark.parametrize("promotion_share", [1.0, 0.3, 0.1])
def test_a_cache_that_admits_less_keeps_more_of_what_is_hot(
    theta: float, promotion_share: float
) -> None:
    trace = zipf_load(theta, 2 * WARM, VOLUME)
    curve = miss_ratio_curve(usable(heat(trace.part(0, SEEN), share=1)), trace.volume_bytes)
    assert curve is not None
    mixture = rate_mixture(curve)
    assert sum(mixture.shares) == pytest.approx(1, abs=0.01)
    for size in (200, 800):
        factor = later_admission(curve, mixture, size * CHUNK_BYTES, promotion_share).likely
        miss_ratio = curve.miss_ratios(size * CHUNK_BYTES, curve.growths[0]).both
        exact = played(trace.chunks.tolist(), size, promotion_share)
        assert factor <= 1
        assert miss_ratio * factor == pytest.approx(exact, abs=0.015)


def test_a_cache_as_large_as_all_that_is_touched_misses_nothing() -> None:
    trace = zipf_load(1.1, SEEN, VOLUME)
    curve = miss_ratio_curve(usable(heat(trace, share=1)), trace.volume_bytes)
    assert curve is not None
    assert rate_mixture(curve).miss_ratio(1e9, 0.5) == 0


def test_chunks_that_are_hot_for_a_while_miss_until_one_miss_is_admitted() -> None:
    """Ten references to each chunk, and then never again: an LRU cache misses the first alone."""
    chunks = [chunk for chunk in range(WARM // 5) for _ in range(10)]
    assert played(chunks, 50, 1.0) == pytest.approx(0.1, abs=0.001)
    assert most_misses(0.1, 0.2) == pytest.approx(played(chunks, 50, 0.2), abs=0.01)
    assert most_misses(0.1, 1.0) == 0.1
    assert most_misses(0.9, 0.001) == pytest.approx(0.999, abs=0.001)


def test_runs_of_unlike_lengths_miss_less_than_those_of_the_mean_length() -> None:
    chunks = [chunk for chunk in range(WARM // 5) for _ in range(2 if chunk % 2 else 18)]
    assert played(chunks, 50, 0.2) < most_misses(0.1, 0.2) - 0.03


def test_a_loop_that_does_not_fit_stays_in_part_where_few_misses_are_admitted() -> None:
    loop = np.arange(3 * WARM) % 1000
    trace = Trace(loop, loop < 0, VOLUME)
    curve = miss_ratio_curve(usable(heat(trace, share=1)), trace.volume_bytes)
    assert curve is not None
    exact = played(loop.tolist(), 500, 0.05)
    assert played(loop.tolist(), 500, 1.0) == 1
    later = later_admission(curve, rate_mixture(curve), 500 * CHUNK_BYTES, 0.05)
    assert later.least <= exact + 0.05 < 0.7

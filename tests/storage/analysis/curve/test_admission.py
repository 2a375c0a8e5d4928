"""A full cache that admits some misses only, held against one that is played step by step."""

from __future__ import annotations

import random
from collections import OrderedDict

import pytest

from storage.analysis.curve.admission import full_cache_factor, rate_mixture
from storage.analysis.curve.heat import usable
from storage.analysis.curve.miss_ratio import miss_ratio_curve
from tests.storage.analysis.curve.traces import CHUNK_BYTES, heat, zipf_load

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
        factor = full_cache_factor(curve, mixture, size * CHUNK_BYTES, promotion_share)
        miss_ratio = curve.miss_ratios(size * CHUNK_BYTES, curve.growths[0]).both
        exact = played(trace.chunks.tolist(), size, promotion_share)
        assert factor <= 1
        assert miss_ratio * factor == pytest.approx(exact, abs=0.015)


def test_a_cache_as_large_as_all_that_is_touched_misses_nothing() -> None:
    trace = zipf_load(1.1, SEEN, VOLUME)
    curve = miss_ratio_curve(usable(heat(trace, share=1)), trace.volume_bytes)
    assert curve is not None
    assert rate_mixture(curve).miss_ratio(1e9, 0.5) == 0

"""Bounds of a hit rate: how far they are, and that the truth lies between them."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from statistics import median

import numpy as np
import pytest

from storage.analysis.curve.bands import DAY, Bounds, HitRates, hit_rates
from storage.analysis.curve.heat import NS, HeatRecord, usable
from storage.analysis.curve.miss_ratio import miss_ratio_curve
from tests.storage.analysis.curve import traces
from tests.storage.analysis.curve.test_miss_ratio import LOADS
from tests.storage.analysis.curve.traces import (
    CHUNK_BYTES,
    Trace,
    heat,
    uniform_load,
    zipf_load,
    zipf_ranks,
)

VOLUME, SEEN, WEEK = 16_384, 40_000, 7 * DAY
SIZES = tuple(VOLUME * percent // 100 for percent in (5, 10, 20))


def bands(
    records: list[HeatRecord], sizes: tuple[int, ...] = SIZES, horizon_seconds: float = WEEK
) -> tuple[HitRates, ...]:
    parts = usable(records)
    curve = miss_ratio_curve(parts, VOLUME * CHUNK_BYTES)
    assert curve is not None
    in_bytes = [size * CHUNK_BYTES for size in sizes]
    return hit_rates(parts, curve, in_bytes, horizon_seconds=horizon_seconds)


def width(bounds: Bounds | None) -> float:
    assert bounds is not None
    assert 0 <= bounds.low <= bounds.likely <= bounds.high <= 1
    return bounds.high - bounds.low


def days(of: Trace, number: int, *, unlike: bool = False) -> list[HeatRecord]:
    """Days of eight records; where they are `unlike`, every other one reads everything alike."""
    records, each = list[HeatRecord](), len(of) // number
    for day in range(number):
        part = of.part(day * each, (day + 1) * each)
        if unlike and day % 2:
            part = uniform_load(each, VOLUME, seed=day)
        begun_ns = day * DAY * NS
        records += heat(part, share=4, hours=8, begun_ns=begun_ns, offset=day, seconds=DAY // 8)
    return records


@pytest.mark.parametrize("name", LOADS)
def test_the_half_hour_after_half_an_hour_lies_within_narrow_bounds(name: str) -> None:
    trace = LOADS[name](2 * SEEN, VOLUME)
    exact = traces.hit_rates(trace, SIZES, warm_after=SEEN)
    records = list(heat(trace.part(0, SEEN), share=4, hours=15, seconds=120))
    found = bands(records, horizon_seconds=1800)
    for kind in ("reads", "writes"):
        for each, hit_rate in zip(found, exact[kind], strict=True):
            assert getattr(each, kind).low <= hit_rate <= getattr(each, kind).high
    assert median(width(each.reads) for each in found) / 2 <= 0.07


def test_one_hour_promises_nothing_of_a_week() -> None:
    found = bands(list(heat(zipf_load(0.9, SEEN, VOLUME), share=4)))
    assert all(width(each.reads) > 0.6 for each in found)


def test_bounds_close_in_as_days_agree() -> None:
    trace = zipf_load(0.9, 6 * 30_000, VOLUME)
    widths = [width(bands(days(trace, number))[1].reads) for number in (1, 2, 6)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.5 * widths[0]


def test_days_that_differ_have_wider_bounds_than_days_that_agree() -> None:
    trace = zipf_load(1.1, 4 * 30_000, VOLUME)
    alike, unlike = (bands(days(trace, 4, unlike=each))[1] for each in (False, True))
    assert width(unlike.reads) > 2 * width(alike.reads)


def test_a_quiet_hour_that_differs_counts_for_little() -> None:
    trace = zipf_load(1.1, SEEN, VOLUME)
    usual = list(heat(trace, share=4, hours=24))
    odd = next(heat(uniform_load(100, VOLUME), share=4, begun_ns=24 * 3600 * NS))
    loud = next(heat(uniform_load(SEEN, VOLUME), share=4, begun_ns=24 * 3600 * NS))
    quiet, louder = (width(bands([*usual, each])[1].reads) for each in (odd, loud))
    assert quiet < 1.2 * width(bands(usual)[1].reads)
    assert louder > quiet


def test_the_fewer_observed_chunks_fit_into_the_cache_the_wider_the_bounds() -> None:
    trace = zipf_load(0.9, SEEN, VOLUME)
    many, few = (bands(list(heat(trace, share=share, hours=24))) for share in (4, 64))
    for more, fewer in zip(many, few, strict=True):
        assert width(fewer.reads) > width(more.reads)


def test_a_larger_cache_is_never_said_to_hit_less_often() -> None:
    """Of a small cache few chunks were observed, and more is known of a larger one."""
    order = np.random.default_rng(3)
    trace = Trace(order.permutation(VOLUME), np.zeros(VOLUME, bool), VOLUME)
    records = list(heat(trace, share=64, hours=60))
    sizes = tuple(VOLUME * percent // 100 for percent in (1, 2, 5, 10, 20))
    found = [each.reads for each in bands(records, sizes)]
    for smaller, larger in pairwise(found):
        assert smaller is not None and larger is not None
        assert smaller.low <= larger.low and smaller.high <= larger.high
    unsorted = bands(records, (sizes[3], sizes[0]))
    assert [each.size_bytes for each in unsorted] == [n * CHUNK_BYTES for n in (sizes[3], sizes[0])]


def test_bounds_hold_for_the_days_that_follow() -> None:
    """Twenty volumes, each day with another skew: the mean of the next three days lies within the
    bounds of the first four, in nine of ten volumes."""
    inside, day, size = 0, 5000, VOLUME // 20
    for seed in range(20):
        random = np.random.default_rng(seed)
        places = random.permutation(VOLUME)
        skews = random.normal(1.0, 0.08, 7)
        ranks = [zipf_ranks(random, day, VOLUME, float(skew)) for skew in skews]
        chunks = places[np.concatenate(ranks)]
        trace = Trace(chunks, np.zeros(len(chunks), dtype=bool), VOLUME)
        found = bands(days(trace.part(0, 4 * day), 4), (size,), horizon_seconds=3 * DAY)[0].reads
        assert found is not None
        inside += found.low <= traces.played(trace, size, warm_after=4 * day) <= found.high
    assert inside >= 18


def test_bounds_hold_where_new_data_come_for_ever() -> None:
    """Mail, logs: what a day shows of it looks like data that come back after more than a day."""
    random, n = np.random.default_rng(4), 30_000
    days_of = 7
    newest = np.arange(days_of * n) // 16
    ages = np.minimum((random.pareto(0.9, len(newest)) * 40).astype(np.int64), newest)
    chunks = np.where(random.random(len(newest)) < 0.3, newest, newest - ages)
    trace = Trace(chunks, np.zeros(len(chunks), dtype=bool), VOLUME)
    seen = days(trace.part(0, 4 * n), 4)
    size = VOLUME // 2
    found = bands(seen, (size,), horizon_seconds=3 * DAY)[0].reads
    assert found is not None
    assert found.low <= traces.played(trace, size, warm_after=4 * n) <= found.high


def test_a_volume_that_is_only_read_has_no_hit_rate_of_writes() -> None:
    trace = zipf_load(0.9, 5000, VOLUME)
    only_read = dataclasses.replace(trace, is_write=trace.is_write & False)
    assert all(each.writes is None for each in bands(list(heat(only_read, share=4))))

"""Figures are sums over sums, and unknown is not zero."""

from __future__ import annotations

import math
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import Sums, figures, percentile_ms
from tests.storage import wire

BUCKETS = wire.BUCKETS


def test_rates_are_per_second_of_the_intervals_own_time() -> None:
    found = figures(Sums(dt_ms=20_500, reads=4100, read_sectors=32_800, read_ms=8200, writes=41))
    assert found.seconds == 20.5
    assert found.read_iops == 200
    assert found.read_bytes_per_s == 1600 * 512
    assert found.read_ms == 2
    assert (found.write_iops, found.write_ms) == (2, 0)


def test_nothing_measured_is_unknown_and_not_zero() -> None:
    found = figures(Sums())
    assert (found.read_iops, found.read_ms, found.latency_p50_ms) == (None, None, None)
    assert (found.hit_rate, found.write_hit_rate, found.accesses) == (None, None, 0)


def test_an_idle_volume_does_zero_io_in_unknown_time_each() -> None:
    found = figures(Sums(dt_ms=10_000))
    assert (found.read_iops, found.read_ms) == (0, None)


def test_reads_and_writes_have_hit_rates_apart() -> None:
    found = figures(Sums(read_hits=900, read_misses=100, write_hits=100, write_misses=300))
    assert (found.hit_rate, found.accesses) == (0.9, 1000)
    assert (found.write_hit_rate, found.write_accesses) == (0.25, 400)


def test_a_few_accesses_make_no_hit_rate() -> None:
    found = figures(Sums(read_hits=99, write_misses=99))
    assert (found.hit_rate, found.write_hit_rate, found.accesses) == (None, None, 99)


def test_hit_rates_are_not_averaged() -> None:
    busy, idle = Sums(read_hits=9000, read_misses=1000), Sums(read_misses=100)
    assert figures(busy + idle).hit_rate == pytest.approx(9000 / 10_100)


@pytest.mark.parametrize(("backing", "share"), [(0, 1), (250, 0.75), (1000, 0), (1100, 0)])
def test_bcache_is_what_the_backing_device_did_not_read(backing: int, share: float) -> None:
    sums = Sums(bcache_reads=125, bcache_read_sectors=1000, backing_read_sectors=backing)
    assert (figures(sums).hit_rate, figures(sums).accesses) == (share, 125)


def test_a_change_of_technology_weighs_both_by_their_reads() -> None:
    dm_cache = Sums(read_hits=300)
    bcache = Sums(bcache_reads=100, bcache_read_sectors=800, backing_read_sectors=800)
    assert figures(dm_cache + bcache).hit_rate == 0.75


def test_percentiles_are_placed_inside_their_bucket() -> None:
    counts = wire.latency(100, 0, 0, 0, 0, 100)["counts"]
    assert percentile_ms(counts, 0.25) == pytest.approx(0.05)
    assert percentile_ms(counts, 0.5) == pytest.approx(0.1)
    assert percentile_ms(counts, 0.75) == pytest.approx(math.sqrt(2 * 5))
    assert percentile_ms(counts, 1.0) == pytest.approx(5)


def test_the_open_bucket_says_a_second_or_more() -> None:
    assert percentile_ms([0] * (BUCKETS - 1) + [7], 0.5) == 1000


def test_without_io_there_is_no_percentile() -> None:
    assert percentile_ms([0] * BUCKETS, 0.95) is None


@settings(deadline=None)
@given(
    latencies_ns=st.lists(st.integers(1, 3_000_000_000), min_size=1, max_size=300),
    quantile=st.sampled_from([0.05, 0.5, 0.9, 0.95, 0.99]),
)
def test_a_percentile_is_in_the_bucket_of_the_true_one(
    latencies_ns: list[int], quantile: float
) -> None:
    counts = [0] * BUCKETS
    for latency_ns in latencies_ns:
        counts[bisect_right(LATENCY_BOUNDS_NS, latency_ns)] += 1
    # The same rank as in the code: with floats, 0.95 * 20 is above 19.
    truth_ns = sorted(latencies_ns)[math.ceil(quantile * len(latencies_ns)) - 1]
    bucket = bisect_right(LATENCY_BOUNDS_NS, truth_ns)
    edges_ms = [0.0, *(bound / 1e6 for bound in LATENCY_BOUNDS_NS), 1000.0]
    found = percentile_ms(counts, quantile)
    assert found is not None
    assert edges_ms[bucket] * 0.999999 <= found <= edges_ms[bucket + 1] * 1.000001

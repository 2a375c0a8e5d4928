"""Time spent waiting for the slow disk: each moment once, and only what missed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.metrics.rates import Sums
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.waiting import slowest_ms, waited_seconds

MINUTE_MS = 60_000


def histogram(**at: int) -> tuple[int, ...]:
    """I/Os by bucket: `b9=3` puts three into the tenth (50 to 100 ms)."""
    counts = list(NO_LATENCY)
    for name, count in at.items():
        counts[int(name[1:])] = count
    return tuple(counts)


def test_reads_at_once_are_waited_for_once() -> None:
    eight_at_once = Sums(dt_ms=MINUTE_MS, reads=8000, read_ms=8 * 30_000, busy_ms=30_000)
    assert waited_seconds(eight_at_once) == 30


def test_writes_take_their_part_of_the_busy_time() -> None:
    both = Sums(dt_ms=MINUTE_MS, reads=100, read_ms=10_000, writes=9, write_ms=30_000, busy_ms=8000)
    assert waited_seconds(both) == 2


def test_waiting_is_never_longer_than_the_time() -> None:
    assert waited_seconds(Sums(dt_ms=1000, reads=1, read_ms=9000, busy_ms=9000)) == 1


def test_without_reads_there_was_no_waiting() -> None:
    assert waited_seconds(Sums(dt_ms=MINUTE_MS, writes=10, write_ms=100, busy_ms=100)) == 0
    assert waited_seconds(Sums()) == 0


def test_reads_that_the_cache_served_are_not_waited_for() -> None:
    half = {"dt_ms": MINUTE_MS, "reads": 1000, "read_hits": 500, "read_misses": 500}
    assert waited_seconds(Sums(**half, read_ms=5100, busy_ms=5100)) == 5  # 500 hits of 0.2 ms
    every = Sums(dt_ms=MINUTE_MS, reads=1000, read_hits=1000, read_ms=5000, busy_ms=5000)
    assert waited_seconds(every) == 0


def test_the_slowest_of_the_histogram_are_those_that_missed() -> None:
    """A queue before a fast disk is no wait for the slow one: 90 reads of 7 ms all hit."""
    sums = Sums(
        dt_ms=MINUTE_MS,
        reads=100,
        read_hits=90,
        read_misses=10,
        read_ms=90 * 7 + 10 * 70,
        busy_ms=90 * 7 + 10 * 70,
        latency_counts=histogram(b6=90, b9=10),
    )
    assert waited_seconds(sums) == pytest.approx(10 * 0.0707, rel=0.01)


def test_a_volume_of_the_other_kind_has_its_share_from_the_backing_device() -> None:
    """bcache has no histogram: what its reads took less what hits take."""
    sums = Sums(
        dt_ms=MINUTE_MS,
        reads=1000,
        bcache_reads=1000,
        bcache_read_sectors=8000,
        backing_read_sectors=800,
        read_ms=1180,
        busy_ms=1180,
    )
    assert waited_seconds(sums) == pytest.approx(1.0)


def test_the_slowest_are_taken_from_the_top() -> None:
    assert slowest_ms(histogram(b0=10, b13=2), 3) == pytest.approx(2000.05)
    assert slowest_ms(NO_LATENCY, 5) == 0


WHOLE = st.integers(0, 10**7)


@given(
    sums=st.builds(
        Sums,
        dt_ms=st.integers(1, 10**7),
        reads=WHOLE,
        writes=WHOLE,
        read_ms=WHOLE,
        write_ms=WHOLE,
        busy_ms=WHOLE,
        read_hits=WHOLE,
        read_misses=WHOLE,
        bcache_reads=WHOLE,
        bcache_read_sectors=WHOLE,
        backing_read_sectors=WHOLE,
        latency_counts=st.tuples(*[st.integers(0, 10**6)] * len(NO_LATENCY)),
    )
)
def test_whatever_was_counted_the_wait_fits_into_the_time_and_the_reads(sums: Sums) -> None:
    waited_ms = waited_seconds(sums) * 1000
    assert 0 <= waited_ms <= min(sums.dt_ms, sums.read_ms) + 1e-6

"""What a cache writes to its SSD, by what it hits and what it takes in."""

from __future__ import annotations

import dataclasses

import pytest

from storage.analysis.curve.bands import Bounds
from storage.analysis.curve.cache_policy import CachePolicy, bcache, lvmcache
from storage.analysis.curve.heat import (
    HeatRecord,
    ReuseByKind,
    ReuseTimes,
    SequentialIos,
)
from storage.analysis.curve.ssd_writes import DAY, ssd_bytes_per_day

CHUNK = 64 * 1024
NONE, ALL = Bounds(0.0, 0.0, 0.0), Bounds(1.0, 1.0, 1.0)
TIMES = ReuseTimes(1, ())
HOUR = HeatRecord(
    begun_ns=0,
    seconds=3600,
    chunk_bytes=CHUNK,
    share=64,
    reads=6000,
    writes=2000,
    read_bytes=6000 * CHUNK,
    write_bytes=2000 * CHUNK,
    clock_before=0,
    clock=8000,
    sequential=SequentialIos(
        reads=1000, read_bytes=1000 * CHUNK, writes=500, write_bytes=500 * CHUNK
    ),
    reuse=ReuseByKind(TIMES, TIMES),
    kept=None,
)
HOURS_A_DAY = DAY / 3600


def written(policy: CachePolicy, reads: Bounds, writes: Bounds) -> tuple[float, float]:
    """In chunks an hour."""
    least, most = ssd_bytes_per_day([HOUR], policy, reads, writes)
    return least / CHUNK / HOURS_A_DAY, most / CHUNK / HOURS_A_DAY


@pytest.mark.parametrize(
    ("policy", "reads", "writes", "chunks"),
    [
        (lvmcache(writeback=False), NONE, NONE, 8000),
        (lvmcache(writeback=False, promotion_share=0.1), NONE, NONE, 800),
        (lvmcache(writeback=False), ALL, ALL, 2000),
        (lvmcache(writeback=True), ALL, ALL, 2000),
        (bcache(writeback=False), NONE, NONE, 5000 + 1500),
        (bcache(writeback=True), ALL, ALL, 1500),
    ],
)
def test_what_misses_is_copied_and_what_is_written_is_kept(
    policy: CachePolicy, reads: Bounds, writes: Bounds, chunks: float
) -> None:
    least, most = written(policy, reads, writes)
    assert least == pytest.approx(most) == pytest.approx(chunks)


def test_bounds_of_the_hit_rates_are_bounds_of_what_is_written() -> None:
    reads = Bounds(0.5, 0.6, 0.7)
    least, most = written(lvmcache(writeback=False), reads, Bounds(0.2, 0.3, 0.4))
    assert least == pytest.approx(6000 * 0.3 + 2000 * 0.6 + 2000 * 0.2)
    assert most == pytest.approx(6000 * 0.5 + 2000 * 0.8 + 2000 * 0.4)


def test_days_do_not_add_up() -> None:
    policy = lvmcache(writeback=False)
    twice = [HOUR, dataclasses.replace(HOUR, begun_ns=3600 * 10**9, clock_before=8000)]
    assert ssd_bytes_per_day(twice, policy, NONE, NONE) == pytest.approx(
        ssd_bytes_per_day([HOUR], policy, NONE, NONE)
    )

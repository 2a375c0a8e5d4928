"""Golden figures: a published comparison of Linux block caches, replayed as kernel counters.

30 minutes of each run are sampled once a minute; 4 KiB random reads, 8 sectors each.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from storage.benchmarks.published import published_runs
from storage.metrics.rates import CounterReading, Delta, Figures, Sums, delta, figures
from tests.storage import wire

RUNS = published_runs()
CACHED = {"bcache-sc4m": 0.976, "bcache-sc0": 0.9962, "lvmcache-empty": 0.9974}
CACHED["lvmcache-full"] = 0.7364
MINUTES = 30
SECTORS = 8


def replay(readings: list[CounterReading]) -> Figures:
    total = Sums()
    for before, after in pairwise(readings):
        found = delta(before, after)
        assert isinstance(found, Delta), found
        assert found.cache_gap is None
        total += Sums.of(found.columns)
    return figures(total)


def so_far(count: int, minute: int) -> int:
    return count * minute // MINUTES


def as_dm_cache(run: dict[str, Any], start: int = 0) -> Figures:
    """The run as dm-cache hits and misses, its counters beginning at `start`."""
    issued, hits = sum(run["issued_reads"]), run["cache_device_reads"]
    readings = []
    for minute in range(MINUTES + 1):
        cache = wire.cache(
            read_hits=(start + so_far(hits, minute)) % 2**32,
            read_misses=(start + so_far(issued, minute) - so_far(hits, minute)) % 2**32,
        )
        reads = so_far(issued, minute)
        disk = wire.disk(reads=reads, read_sectors=reads * SECTORS)
        readings.append(wire.reading(60 * minute + 1, disk=disk, cache=cache))
    return replay(readings)


def as_bcache(run: dict[str, Any]) -> Figures:
    """The run as what the guest read and what the backing device had to read."""
    issued, backing = sum(run["issued_reads"]), run["backing_device_reads"]
    readings = []
    for minute in range(MINUTES + 1):
        reads, below = so_far(issued, minute), so_far(backing, minute)
        guest = wire.disk(reads=reads, read_sectors=reads * SECTORS)
        disk = wire.disk(reads=below, read_sectors=below * SECTORS)
        bcache = wire.bcache(disk=guest)
        readings.append(wire.reading(60 * minute + 1, disk=disk, bcache=bcache))
    return replay(readings)


@pytest.mark.parametrize(("run", "hit_rate"), CACHED.items())
def test_cache_device_reads_over_issued_give_the_published_hit_rate(
    run: str, hit_rate: float
) -> None:
    found = as_dm_cache(RUNS[run])
    assert found.hit_rate is not None
    assert round(found.hit_rate, len(str(hit_rate)) - 2) == hit_rate
    assert found.accesses == sum(RUNS[run]["issued_reads"])
    assert hit_rate == RUNS[run]["hit_rate"]


@pytest.mark.parametrize("run", CACHED)
def test_the_counters_may_wrap_in_the_middle_of_a_run(run: str) -> None:
    assert as_dm_cache(RUNS[run], start=2**32 - 100_000) == as_dm_cache(RUNS[run])


@pytest.mark.parametrize(("run", "hit_rate"), CACHED.items())
def test_one_minus_backing_over_issued_agrees_within_a_fifth_of_a_point(
    run: str, hit_rate: float
) -> None:
    assert as_bcache(RUNS[run]).hit_rate == pytest.approx(hit_rate, abs=0.002)


@pytest.mark.parametrize("run", CACHED)
def test_iops_agree_with_the_published_mean(run: str) -> None:
    assert as_dm_cache(RUNS[run]).read_iops == pytest.approx(RUNS[run]["mean_iops"], rel=0.01)

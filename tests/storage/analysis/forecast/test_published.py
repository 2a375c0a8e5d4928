"""The published comparison of caches: what would have been said of those runs.

Sixteen reads were in flight for 30 minutes, so all reads together took 16 times that.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.analysis.forecast import CacheChoice, Stretch, Use, forecast, today, use
from storage.benchmarks.published import published_runs
from storage.byte_sizes import GIB
from storage.metrics.rates import CachedBy, Sums

RUNS = published_runs()
RUN_MS, IN_FLIGHT = 30 * 60_000, 16
START = datetime(2017, 7, 1, tzinfo=UTC)


def used(run: dict[str, Any]) -> Use:
    """The run as a volume of 100 GiB was used, its cache of 4 GiB full."""
    reads, hits = sum(run["issued_reads"]), run.get("cache_device_reads")
    sums = Sums(
        intervals=30,
        dt_ms=RUN_MS,
        reads=reads,
        read_sectors=8 * reads,
        read_ms=IN_FLIGHT * RUN_MS,
        busy_ms=RUN_MS,
        read_hits=hits or 0,
        read_misses=reads - hits if hits else 0,
    )
    kind, size = (CachedBy.DM_CACHE, 4 * GIB) if hits else (CachedBy.NONE, None)
    end = START + timedelta(milliseconds=RUN_MS)
    return use(100 * GIB, [Stretch(START, end, kind, size, size, sums)], end)


def test_a_slow_disk_alone_is_waited_for_all_the_time() -> None:
    found = used(RUNS["hdd"])
    assert found.waited_seconds == pytest.approx(30 * 60)
    assert today(found).sentence == (
        "None of your reads came from SSD; your volume waited 30 minutes for the slow disk. "
        "Based on 30 minutes of data."
    )


def test_a_cache_full_of_other_data_saves_hardly_any_time_though_it_serves_most_reads() -> None:
    """73.6 % hit, and 1.6 times the I/O of the disk alone: nearly all the time is still waited."""
    found = used(RUNS["lvmcache-full"])
    assert found.hit_rate == pytest.approx(0.7364, abs=0.0001)
    assert found.waited_seconds / 1800 == pytest.approx(0.986, abs=0.001)
    larger = forecast(found, CacheChoice(8 * GIB))
    assert larger is not None
    assert (larger.kind, larger.hit_rate_high) == ("own_misses", 1)


def test_a_cache_that_serves_nearly_all_still_leaves_much_waiting_at_full_load() -> None:
    found = used(RUNS["bcache-sc4m"])
    assert found.hit_rate == pytest.approx(0.976, abs=0.0001)
    assert 0.5 < found.waited_seconds / 1800 < 0.9


@pytest.mark.parametrize("run", ["bcache-sc0", "lvmcache-empty"])
def test_where_the_cache_serves_all_but_a_few_an_upgrade_would_not_help(run: str) -> None:
    found = used(RUNS[run])
    assert found.waited_seconds / 1800 < 0.2
    larger = forecast(found, CacheChoice(8 * GIB))
    assert larger is not None
    assert larger.kind == "no_help"
    assert "nearly all of your reads already come from SSD" in larger.text

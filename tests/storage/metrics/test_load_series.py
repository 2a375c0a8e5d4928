"""The series of a host and of the fleet: sums over sums, in buckets of five minutes or more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from storage.byte_sizes import GIB
from storage.metrics import load_series
from storage.metrics.load_series import (
    LOAD_UNITS,
    fine_host_series,
    fine_time,
    fleet_series,
    host_series,
)
from storage.metrics.samples import ensure_partitions
from storage.metrics.samples.load_rollup import add_up_fleet
from storage.models import Host, HostOutline, Placement
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def host() -> Host:
    ensure_partitions(NOON)
    host = make.host()
    HostOutline.objects.create(host=host, fast_total_bytes=100 * GIB, fast_free_bytes=40 * GIB)
    return host


def test_a_host_has_the_rates_of_all_its_volumes_and_a_gap_where_it_was_silent(host: Host) -> None:
    _, one = placed(host)
    _, two = placed(host)
    for n in (0, 1, 2, 3, 11, 12):
        slow = wire.latency(30 * n, 0, 0, 0, 0, 70 * n)
        take(host, 60 * n, reading(one, 600 * n, latency=slow), reading(two, 1200 * n))
    found = host_series(host, NOON, NOON + 15 * MINUTE)
    assert found.step_seconds == 300
    columns = found.to_json()["series"]
    assert set(columns) == set(LOAD_UNITS)
    assert columns["read_iops"] == [30, None, 30]
    assert columns["read_ms"] == [0.5, None, 0.5]
    assert columns["latency_p95_ms"][0] > 1
    assert columns["ssd_used_bytes"] == [60 * GIB, None, 60 * GIB]
    assert columns["ssd_sold_bytes"] == [0, None, 0]
    assert not found.has_cache


def test_longer_buckets_are_sums_with_the_sizes_of_their_end(host: Host) -> None:
    _, one = placed(host)
    for n in range(31):
        cache = wire.cache(read_hits=900 * n, read_misses=100 * n, used=8, dirty=n)
        take(host, 60 * n, reading(one, 1000 * n, cache=cache))
    found = host_series(host, NOON, NOON + 60 * MINUTE, points=2)
    assert found.step_seconds == 1800
    columns = found.to_json()["series"]
    assert columns["hit_rate"] == [0.9, 0.9]
    assert columns["dirty_bytes"] == [29 * 65_536, 30 * 65_536]
    assert found.has_cache


def test_the_fleet_is_all_hosts_together(host: Host) -> None:
    other = make.host()
    _, one = placed(host)
    _, two = placed(other)
    for n in range(4):
        take(host, 60 * n, reading(one, 600 * n))
        take(other, 60 * n, reading(two, 1200 * n))
    add_up_fleet()
    columns = fleet_series(NOON, NOON + 5 * MINUTE).to_json()["series"]
    assert columns["read_iops"] == [30]
    assert columns["ssd_free_bytes"] == [40 * GIB]
    assert host_series(host, NOON, NOON + 5 * MINUTE).to_json()["series"]["read_iops"] == [10]


def test_without_loads_everything_is_unknown(host: Host) -> None:
    found = host_series(host, NOON, NOON + 60 * MINUTE)
    assert found.is_empty
    assert set(found.to_json()["series"]) == set(LOAD_UNITS)


def test_a_short_time_of_a_host_is_shown_as_it_was_sampled(host: Host) -> None:
    _, one = placed(host)
    _, two = placed(host)
    # Else they came to the host after these samples, in the afternoon.
    Placement.objects.filter(host=host).update(since=NOON)
    for n in range(11):
        reads = 600 * n + (6000 if n > 4 else 0)
        cache = wire.cache(read_hits=90 * n, read_misses=10 * n, used=8, dirty=n)
        take(host, 60 * n, reading(one, reads, cache=cache), reading(two, 1200 * n))
    found = fine_host_series(host, NOON, NOON + 10 * MINUTE, 60)
    columns = found.to_json()["series"]
    assert set(columns) == set(LOAD_UNITS)
    assert columns["read_iops"] == [30, 30, 30, 30, 130, 30, 30, 30, 30, 30], "a stall is seen"
    assert columns["dirty_bytes"][-1] == 10 * 65_536
    assert columns["ssd_used_bytes"] == [60 * GIB] * 10
    whole = host_series(host, NOON, NOON + 10 * MINUTE).to_json()["series"]
    assert whole["read_iops"] == [30, 50]


def test_how_long_a_fine_time_may_be_depends_on_what_there_is_to_read(
    host: Host, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 10
    for _ in range(4):
        placed(host)
    assert fine_time(host) == timedelta(hours=3)
    monkeypatch.setattr(load_series, "FINE_SAMPLES", 400)
    assert fine_time(host) == timedelta(seconds=1000)

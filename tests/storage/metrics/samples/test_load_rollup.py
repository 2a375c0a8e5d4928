"""Loads of hosts and of the fleet are sums of whole rounds."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.metrics.load_series import fleet_series, host_series
from storage.metrics.samples import ensure_partitions
from storage.metrics.samples.chunk_store import FLEET, HOSTS
from storage.metrics.samples.load_rollup import add_up_fleet
from storage.metrics.samples.packer import pack_samples
from storage.metrics.samples.sample_round import make_partition
from storage.models import CachePlan, FleetLoad, Host, HostLoad, HostOutline, Volume
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def host() -> Host:
    ensure_partitions(NOON)
    host = make.host()
    HostOutline.objects.create(host=host, fast_total_bytes=100 * GIB, fast_free_bytes=40 * GIB)
    return host


def cached(lv_uuid: str, n: int, *, dirty: int = 0) -> dict[str, Any]:
    """Round `n` of a volume with 60 % write hits and a latency histogram."""
    disk = wire.disk(reads=100 * n, writes=100 * n)
    cache = wire.cache(
        write_hits=60 * n, write_misses=40 * n, promotions=5 * n, used=8, dirty=dirty,
        cdata=wire.disk(writes=n, write_sectors=2000 * n), origin=wire.disk(),
    )  # fmt: skip
    return wire.volume(lv_uuid, disk=disk, cache=cache, latency=wire.latency(100 * n, 10 * n))


def loads() -> list[dict[str, Any]]:
    return list(HostLoad.objects.order_by("bucket").values())


def test_a_row_holds_latencies_writes_and_the_sizes_at_its_end(host: Host) -> None:
    volume, one = placed(host)
    _, two = placed(host)
    plan = CachePlan.objects.create(
        name="S", mode="writethrough", size_bytes=GIB, price_minor=490, currency="EUR"
    )
    Volume.objects.filter(pk=volume.pk).update(cache_plan=plan)
    for n in range(4):
        take(host, 60 * n, cached(one, n, dirty=n), cached(two, n))
    (load,) = HostLoad.objects.all()
    assert load.latency_counts[:3] == [600, 60, 0]
    assert (load.write_hits, load.write_misses, load.promotions) == (360, 240, 30)
    assert load.ssd_write_sectors == 12_000
    assert (load.dirty_bytes, load.used_bytes) == (3 * 65_536, 16 * 65_536)
    assert (load.cache_size_bytes, load.sold_bytes) == (2 * 2**31, 2**31)
    assert (load.fast_total_bytes, load.fast_free_bytes) == (100 * GIB, 40 * GIB)


def test_a_row_from_before_an_update_takes_a_round_as_it_is(host: Host) -> None:
    _, one = placed(host)
    for n in range(2):
        take(host, 60 * n, cached(one, n))
    HostLoad.objects.update(latency_counts=[], dirty_bytes=None)
    take(host, 120, cached(one, 2, dirty=1))
    (load,) = HostLoad.objects.all()
    assert load.latency_counts[:2] == [100, 10]
    assert load.dirty_bytes == 65_536


def test_the_fleet_is_the_sum_of_its_hosts_also_where_one_began_later(host: Host) -> None:
    other = make.host()
    _, one = placed(host)
    _, two = placed(other)
    for n in range(5):
        take(host, 60 * n, reading(one, 600 * n))
        if n >= 2:
            take(other, 60 * n, reading(two, 1200 * n))
    add_up_fleet()
    (load,) = FleetLoad.objects.all()
    assert load.dt_ms == 240_000
    assert load.reads / 240 == 30  # 10 IOPS of one, 20 of the other for half of the time
    assert load.fast_free_bytes == 40 * GIB


def test_the_fleet_catches_up_with_what_was_missed_and_with_late_rounds(host: Host) -> None:
    _, one = placed(host)
    for n in range(4):
        take(host, 600 * n, reading(one, 600 * n))
    add_up_fleet()
    HostLoad.objects.update(reads=7)
    add_up_fleet()
    assert [load.reads for load in FleetLoad.objects.order_by("bucket")] == [7, 7, 7]


def test_loads_of_more_than_a_week_ago_are_packed_and_charts_are_the_same(host: Host) -> None:
    _, one = placed(host)
    start = NOON - timedelta(days=12)
    make_partition(start.date())
    for n in range(100):
        take(host, 60 * n, cached(one, n, dirty=n), start=start)
    add_up_fleet()
    ends = (start - timedelta(hours=12), start + timedelta(hours=36))
    before = [host_series(host, *ends, points).to_json() for points in (2, 48, 576)]
    before += [fleet_series(*ends, points).to_json() for points in (2, 48, 576)]
    assert before[0]["totals"]["read_iops"]
    for kind in (HOSTS, FLEET):
        assert pack_samples(kind, NOON, seconds=inf).is_done
    assert (HostLoad.objects.count(), FleetLoad.objects.count()) == (0, 0)
    after = [host_series(host, *ends, points).to_json() for points in (2, 48, 576)]
    after += [fleet_series(*ends, points).to_json() for points in (2, 48, 576)]
    assert after == before


def test_loads_of_the_last_week_stay_rows(host: Host) -> None:
    _, one = placed(host)
    for n in range(3):
        take(host, 60 * n, cached(one, n))
    add_up_fleet()
    for kind in (HOSTS, FLEET):
        assert not pack_samples(kind, NOON + timedelta(days=7)).rows

"""Loads of hosts and of the fleet are sums of whole rounds, whether by the round or afterwards."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from storage.byte_sizes import GIB
from storage.metrics.samples import ensure_partitions, load_rollup
from storage.metrics.samples.load_rollup import SPACE, add_up_fleet, recompute
from storage.metrics.samples.sample_round import make_partition
from storage.models import CachePlan, FleetLoad, Host, HostLoad, HostOutline, Placement, Volume
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


def known_for_long() -> None:
    """The volumes have lain on their hosts for longer than their samples go back."""
    Placement.objects.update(since=NOON - timedelta(days=3))


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


def test_samples_added_up_afterwards_make_the_same_rows(host: Host) -> None:
    _, one = placed(host)
    _, two = placed(host)
    for n in range(8):
        take(host, 60 * n, cached(one, n, dirty=n), reading(two, 100 * n))
    known_for_long()
    before = loads()
    HostLoad.objects.all().delete()
    assert recompute(NOON, NOON + timedelta(minutes=10)) == 2
    unknown = dict.fromkeys(SPACE)
    assert loads() == [row | unknown for row in before]
    recompute(NOON, NOON + timedelta(minutes=10))
    assert loads() == [row | unknown for row in before]


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


def test_the_command_fills_the_time_before_an_update(host: Host) -> None:
    _, one = placed(host)
    start = NOON - timedelta(days=1)
    make_partition(start.date())
    for n in range(3):
        take(host, 60 * n, cached(one, n), start=start)
    known_for_long()
    HostLoad.objects.all().delete()
    said = StringIO()
    call_command("add_up_loads", stdout=said)
    assert "1 rows" in said.getvalue()
    assert HostLoad.objects.get().reads == FleetLoad.objects.get().reads == 200


def test_what_is_older_than_any_sample_is_forgotten(host: Host) -> None:
    _, one = placed(host)
    for n in range(2):
        take(host, 60 * n, reading(one, n))
    add_up_fleet()
    load_rollup.forget(NOON + timedelta(days=29))
    assert (HostLoad.objects.count(), FleetLoad.objects.count()) == (1, 1)
    load_rollup.forget(NOON + timedelta(days=31))
    assert (HostLoad.objects.count(), FleetLoad.objects.count()) == (0, 0)

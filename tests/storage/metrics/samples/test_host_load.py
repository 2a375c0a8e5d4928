"""What the volumes of a host did together: added up as its rounds are recorded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.metrics.rates import figures
from storage.metrics.samples import ensure_partitions
from storage.metrics.samples.host_load import bucket_of, courses, fleet_sums
from storage.metrics.samples.load_rollup import add_up_fleet
from storage.models import CachePlan, Host, HostActivity, HostLoad, LatestSample, Volume
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def host() -> Host:
    ensure_partitions(NOON)
    return make.host()


def cached(lv_uuid: str, hits: int, misses: int, busy_ms: int = 0) -> dict[str, Any]:
    reads = hits + misses
    disk = wire.disk(reads=reads, read_sectors=8 * reads, busy_ms=busy_ms)
    return wire.volume(lv_uuid, disk=disk, cache=wire.cache(read_hits=hits, read_misses=misses))


def test_a_round_adds_up_all_volumes_over_the_time_of_the_round(host: Host) -> None:
    _, one = placed(host)
    _, two = placed(host)
    take(host, 0, reading(one, 0), reading(two, 0))
    take(host, 60, reading(one, 600), reading(two, 1800))
    load = HostLoad.objects.get()
    assert (load.bucket, load.host_id, load.dt_ms, load.reads) == (NOON, host.pk, 60_000, 2400)


def test_rounds_of_the_same_five_minutes_share_a_row(host: Host) -> None:
    _, one = placed(host)
    for n in range(7):
        take(host, 60 * n, reading(one, 100 * n))
    rows = HostLoad.objects.order_by("bucket").values_list("bucket", "dt_ms", "reads")
    assert list(rows) == [(NOON, 240_000, 400), (NOON + timedelta(minutes=5), 120_000, 200)]


def test_the_same_round_again_adds_nothing(host: Host) -> None:
    _, one = placed(host)
    take(host, 0, reading(one, 0))
    take(host, 60, reading(one, 600))
    take(host, 60, reading(one, 600))
    assert HostLoad.objects.get().reads == 600


def test_a_gap_leaves_no_row(host: Host) -> None:
    _, one = placed(host)
    take(host, 0, reading(one, 100))
    assert not HostLoad.objects.exists()


def test_the_hit_rate_of_the_fleet_is_one_sum_over_another(host: Host) -> None:
    other = make.host()
    _, one = placed(host)
    _, two = placed(other)
    take(host, 0, cached(one, 0, 0))
    take(host, 60, cached(one, 900, 100))
    take(other, 0, cached(two, 0, 0))
    take(other, 60, cached(two, 0, 3000))
    hour = timedelta(hours=1)
    add_up_fleet()
    now, before = fleet_sums([(NOON, NOON + hour), (NOON - hour, NOON)])
    assert figures(now).hit_rate == 900 / 4000
    assert before.intervals == 0


def test_bcache_counts_by_the_sectors_its_backing_device_had_to_read(host: Host) -> None:
    _, one = placed(host)

    def bcache(reads: int, from_disk: int) -> dict[str, Any]:
        guest = wire.disk(reads=reads, read_sectors=8 * reads)
        backing = wire.disk(reads=from_disk, read_sectors=8 * from_disk)
        return wire.volume(one, disk=backing, bcache=wire.bcache(disk=guest))

    take(host, 0, bcache(0, 0))
    take(host, 60, bcache(1000, 250))
    add_up_fleet()
    (sums,) = fleet_sums([(NOON, NOON + timedelta(hours=1))])
    assert figures(sums).hit_rate == 0.75


def test_a_course_has_gaps_where_the_host_did_not_report(host: Host) -> None:
    _, one = placed(host)
    take(host, 0, reading(one, 0))
    take(host, 60, reading(one, 600))
    take(host, 620, reading(one, 1200))
    found = courses([host.pk], bucket_of(NOON + timedelta(seconds=620)), 4)
    assert [each and each.reads for each in found[host.pk]] == [None, 600, None, 600]


def test_now_is_the_last_round_with_the_busiest_volume(host: Host) -> None:
    _, idle = placed(host)
    busy, busy_uuid = placed(host)
    take(host, 0, cached(idle, 0, 0), cached(busy_uuid, 0, 0))
    take(host, 60, cached(idle, 60, 0, 600), cached(busy_uuid, 540, 0, 45_000))
    now = HostActivity.objects.get(host=host)
    assert (now.at, now.busy, now.busiest_id) == (NOON + timedelta(seconds=60), 0.75, busy.pk)
    assert (now.read_iops, now.write_iops) == (10.0, 0.0)


def test_a_volume_that_left_the_host_does_not_count_any_more(host: Host) -> None:
    _, stays = placed(host)
    _, goes = placed(host)
    take(host, 0, reading(stays, 0), reading(goes, 0))
    take(host, 60, reading(stays, 60), reading(goes, 6000))
    take(host, 120, reading(stays, 120))
    assert HostActivity.objects.get(host=host).read_iops == 1.0


def test_a_host_whose_first_round_has_just_come_has_no_figures_rather_than_zero(
    host: Host,
) -> None:
    _, one = placed(host)
    take(host, 0, reading(one, 100))
    now = HostActivity.objects.get(host=host)
    assert (now.read_iops, now.busy) == (None, None)


def test_a_round_that_comes_late_does_not_replace_a_later_one(host: Host) -> None:
    _, one = placed(host)
    _, other = placed(host)
    take(host, 0, reading(one, 0), reading(other, 0))
    take(host, 120, reading(one, 1200))
    take(host, 60, reading(other, 60))
    activity = HostActivity.objects.get(host=host)
    assert (activity.at, activity.read_iops) == (NOON + timedelta(seconds=120), 10.0)


def test_caches_that_customers_pay_for_are_counted_as_sold(host: Host) -> None:
    sold, sold_uuid = placed(host)
    _, own = placed(host)
    plan = CachePlan.objects.create(name="S", size_bytes=GIB, price_minor=100, currency="EUR")
    Volume.objects.filter(pk=sold.pk).update(cache_plan=plan)
    take(host, 0, cached(sold_uuid, 0, 0), cached(own, 0, 0))
    row = LatestSample.objects.get(volume=sold)
    assert row.cache_size_bytes
    assert HostActivity.objects.get(host=host).sold_bytes == row.cache_size_bytes

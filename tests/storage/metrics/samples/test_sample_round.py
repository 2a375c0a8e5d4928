"""Rounds become rows once, whatever the order and the repetition."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection

from storage.metrics.samples import record_sample
from storage.metrics.samples.columns import INTERVAL
from storage.metrics.samples.sample_round import COLUMNS
from storage.models import Host, LatestSample, Placement, Sample
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def host() -> Host:
    return make.host()


def test_the_first_round_is_a_gap_and_the_second_a_row(host: Host) -> None:
    volume, lv = placed(host)
    first = take(host, 0, reading(lv, 1000))
    assert (first.rows, first.gaps) == (0, 1)
    second = take(host, 10, reading(lv, 4000))
    assert (second.rows, second.gaps) == (1, 0)
    row = Sample.objects.get(volume=volume)
    assert (row.ts, row.dt_ms) == (NOON + timedelta(seconds=10), 10_000)
    assert (row.reads, row.read_sectors, row.read_ms) == (3000, 24_000, 1500)
    assert row.read_hits is None


def test_a_cached_interval_keeps_hits_legs_gauges_and_latency(host: Host) -> None:
    volume, lv = placed(host)
    cold = wire.cache(origin=wire.disk(), cdata=wire.disk())
    warm = wire.cache(
        read_hits=900,
        read_misses=100,
        promotions=20,
        used=50,
        dirty=2,
        origin=wire.disk(read_sectors=800),
        cdata=wire.disk(read_sectors=7200),
    )
    take(host, 0, reading(lv, 0, cache=cold, latency=wire.latency()))
    take(host, 10, reading(lv, 1000, cache=warm, latency=wire.latency(900, 0, 100)))
    row = Sample.objects.get(volume=volume)
    assert (row.read_hits, row.read_misses, row.promotions) == (900, 100, 20)
    assert (row.slow_read_sectors, row.fast_read_sectors) == (800, 7200)
    assert (row.used_bytes, row.dirty_bytes) == (50 * 65_536, 2 * 65_536)
    assert row.latency_counts == [900, 0, 100, *[0] * 11]
    assert row.technology == 1


def test_a_gap_stores_no_row_and_says_why(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 1000))
    take(host, 10, reading(lv, 2000))
    after = take(host, 20, reading(lv, 300), boot="boot-2")
    assert (after.rows, after.gaps) == (0, 1)
    assert Sample.objects.filter(volume=volume).count() == 1
    assert LatestSample.objects.get(volume=volume).gap == "rebooted"
    take(host, 30, reading(lv, 400), boot="boot-2")
    assert [row.reads for row in Sample.objects.filter(volume=volume).order_by("ts")] == [1000, 100]


def test_five_hundred_volumes_twice_are_the_same_rows(host: Host) -> None:
    volumes = [make.volume() for _ in range(500)]
    lvs = [make.placement(volume, host).lv_uuid or "" for volume in volumes]
    take(host, 0, *(reading(lv, 10) for lv in lvs))
    again = take(host, 0, *(reading(lv, 10) for lv in lvs))
    assert (again.rows, again.gaps) == (0, 0)
    for _ in range(2):
        take(host, 10, *(reading(lv, 10 + n) for n, lv in enumerate(lvs)))
    rows = Sample.objects.filter(volume__in=volumes).order_by("volume_id")
    assert [row.reads for row in rows] == list(range(500))


def test_a_late_round_changes_nothing_and_nothing_is_lost(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0))
    take(host, 20, reading(lv, 2000))
    late = take(host, 10, reading(lv, 1000))
    assert (late.rows, late.gaps) == (0, 0)
    take(host, 30, reading(lv, 2500))
    assert sum(row.reads or 0 for row in Sample.objects.filter(volume=volume)) == 2500


def test_a_host_whose_clock_stepped_far_back_is_followed_again(host: Host) -> None:
    volume, lv = placed(host)
    record_sample(host, wire.sample(reading(lv, 0)), wire.stamp(10**9), NOON)
    assert take(host, 10, reading(lv, 100)).gaps == 1
    assert take(host, 20, reading(lv, 300)).rows == 1
    assert Sample.objects.get(volume=volume).reads == 200


def test_a_row_that_is_there_already_is_kept(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0))
    take(host, 10, reading(lv, 100))
    LatestSample.objects.filter(volume=volume).delete()
    take(host, 0, reading(lv, 0))
    assert take(host, 10, reading(lv, 999)).rows == 0
    assert Sample.objects.get(volume=volume).reads == 100


def test_unknown_logical_volumes_are_reported_and_not_stored(host: Host) -> None:
    _volume, lv = placed(host)
    elsewhere, moved = placed(make.host())
    Placement.objects.filter(volume=elsewhere).update(until=NOON)
    found = take(host, 0, reading(lv, 1), reading("stranger", 1), reading(moved, 1))
    assert found.unknown_lv_uuids == {"stranger", moved}
    assert LatestSample.objects.count() == 1


def test_a_volume_that_moved_starts_with_a_gap(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 1000))
    Placement.objects.filter(volume=volume).update(until=NOON)
    other = make.host()
    moved = make.placement(volume, other).lv_uuid or ""
    take(other, 10, reading(moved, 5000))
    assert LatestSample.objects.get(volume=volume).gap == "moved"


def test_a_bad_volume_of_a_sample_costs_its_own_figures_alone(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 1), {"lv_uuid": "broken"})
    assert LatestSample.objects.get().volume == volume
    assert "Left out of a sample" in caplog.text


def test_the_largest_counters_survive_the_database(host: Host) -> None:
    volume, lv = placed(host)
    disk = wire.disk(reads=2**64 - 11, read_sectors=2**64 - 81)
    take(host, 0, wire.volume(lv, disk=disk))
    disk = wire.disk(reads=2**64 - 1, read_sectors=2**64 - 1)
    take(host, 10, wire.volume(lv, disk=disk))
    assert Sample.objects.get(volume=volume).reads == 10


def test_counters_kept_by_another_version_are_a_first_sample(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 1))
    LatestSample.objects.filter(volume=volume).update(counters={"old": 1})
    take(host, 10, reading(lv, 2))
    assert LatestSample.objects.get(volume=volume).gap == "first"


@pytest.mark.parametrize("table", ["storage_sample", "storage_latestsample"])
def test_the_columns_of_copy_are_those_of_the_tables(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = %s",
            [table],
        )
        types = dict(cursor.fetchall())
    expected = {"ts": "timestamptz", "volume_id": "int8", **INTERVAL}
    if table == "storage_latestsample":
        expected = dict(COLUMNS)
    assert types == {name: "_int8" if kind == "int8[]" else kind for name, kind in expected.items()}


@pytest.mark.django_db(transaction=True)
def test_rounds_at_the_same_time_store_each_interval_once() -> None:
    host = make.host()
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0))

    def one(n: int) -> None:
        take(host, 10 * n, reading(lv, 100 * n))
        connection.close()

    threads = [Thread(target=one, args=(n,)) for n in (1, 1, 2, 2, 3, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(row.reads or 0 for row in Sample.objects.filter(volume=volume)) == 300

"""How a volume was used lately, read from its samples."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from storage.analysis.forecast import today
from storage.analysis.measured_use import use_of
from storage.byte_sizes import GIB
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.models import Host, Resolution, Sample, SampleChunk, Volume
from storage.volumes.ownership import disown as take_away
from storage.volumes.ownership import give
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, noon_gone, placed, take

pytestmark = pytest.mark.django_db
NOW = NOON + timedelta(hours=1)


@pytest.fixture
def host() -> Host:
    return make.host()


def row_of(volume: Volume) -> VolumeSnapshot:
    return snapshots_of([volume])[0]


def read(
    host: Host, lv_uuid: str, minutes: range, *, cached_from: int = 10**6, start: datetime = NOON
) -> None:
    """600 reads a minute of 10 ms, one after the other; half of them hit a cache of 4 GiB once
    there is one."""
    for minute in minutes:
        reads = 600 * (minute - minutes.start)
        disk = wire.disk(
            reads=reads, read_sectors=8 * reads, read_ms=10 * reads, busy_ms=10 * reads
        )
        cache = None
        if minute >= cached_from:
            hits = 300 * (minute - cached_from)
            cache = wire.cache(read_hits=hits, read_misses=hits, chunk_sectors=128, total=65_536)
        take(host, 60 * minute, wire.volume(lv_uuid, disk=disk, cache=cache), start=start)


def test_an_uncached_volume_waits_for_each_of_its_reads(
    host: Host, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    volume, lv_uuid = placed(host)
    read(host, lv_uuid, range(0, 61))
    row = row_of(volume)
    with django_assert_num_queries(2):
        found = use_of(row, NOW)
    assert (found.reads, found.seconds, found.has_cache) == (36_000, 3600, False)
    assert found.waited_seconds == pytest.approx(360)
    assert found.volume_bytes == volume.size_bytes
    assert today(found).sentence == (
        "None of your reads came from SSD; your volume waited 6 minutes for the slow disk. "
        "Based on 60 minutes of data."
    )


def test_what_is_packed_and_no_longer_kept_as_measured_counts_the_same(host: Host) -> None:
    volume, lv_uuid = placed(host)
    noon = noon_gone()
    read(host, lv_uuid, range(0, 121), cached_from=60, start=noon)
    now = noon + timedelta(hours=2)
    measured = use_of(row_of(volume), now)
    assert pack_samples(VOLUMES, timezone.now(), seconds=inf).is_done
    assert not Sample.objects.filter(volume=volume).exists()
    assert SampleChunk.objects.filter(resolution=Resolution.RAW).delete()[0]
    assert use_of(row_of(volume), now) == measured
    assert measured.hit_rate == pytest.approx(0.5)


def test_only_the_time_with_the_cache_that_it_has_counts(host: Host) -> None:
    volume, lv_uuid = placed(host)
    read(host, lv_uuid, range(0, 61), cached_from=30)
    found = use_of(row_of(volume), NOW)
    assert found.hit_rate == pytest.approx(0.5)
    assert (found.cache_size_bytes, found.is_since_change) == (4 * GIB, True)
    assert found.seconds == pytest.approx(31 * 60)  # the minute in which it came has no hits yet


def test_what_is_older_than_a_week_is_not_counted(host: Host) -> None:
    volume, lv_uuid = placed(host)
    read(host, lv_uuid, range(0, 11))
    assert use_of(row_of(volume), NOW + timedelta(days=7)).reads == 0


def test_what_a_former_customer_did_is_not_shown(host: Host) -> None:
    volume, lv_uuid = placed(host)
    noon = noon_gone()
    read(host, lv_uuid, range(0, 11), start=noon)
    assert use_of(row_of(volume), noon + timedelta(hours=1)).reads == 6000
    for name in ("Before", "Now"):
        take_away(volume)
        give(volume, make.customer(name), NOW)
    found = today(use_of(row_of(volume), noon + timedelta(hours=1)))
    assert found.sentence.startswith("No data of your volume yet")

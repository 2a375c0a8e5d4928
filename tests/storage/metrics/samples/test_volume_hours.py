"""Samples by the hour: the same series as from the samples, filled in turn."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from storage import row_security
from storage.metrics.samples import ensure_partitions
from storage.metrics.samples.sample_round import make_partition
from storage.metrics.samples.volume_hours import add_up_hours, forget
from storage.metrics.series import series
from storage.models import Host, Sample, Volume, VolumeHour
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, take

pytestmark = pytest.mark.django_db
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def host() -> Host:
    ensure_partitions(NOON)
    make_partition((NOON - timedelta(days=1)).date())
    return make.host()


def sampled(host: Host, *, hours: int = 4, start: datetime = NOON) -> Volume:
    """A round every five minutes, which ends with the hour too; the cache comes after an hour."""
    volume, lv = placed(host)
    for n in range(12 * hours + 1):
        cache = wire.cache(
            read_hits=900 * n, read_misses=100 * n * n, write_hits=300 * n, write_misses=10 * n,
            promotions=5 * n, demotions=n, used=8 + n, dirty=n,
            cdata=wire.disk(writes=n, write_sectors=2000 * n), origin=wire.disk(),
        )  # fmt: skip
        reads = 1000 * n + 100 * n * n
        disk = wire.disk(reads=reads, read_sectors=8 * reads, writes=310 * n, read_ms=70 * n)
        fields = {"disk": disk, "latency": wire.latency(90 * n, 7 * n)}
        reading = wire.volume(lv, **fields, **({"cache": cache} if n >= 12 else {}))
        take(host, 300 * n, reading, start=start)
    return volume


def test_long_buckets_are_the_same_from_hours_as_from_samples(host: Host) -> None:
    volume = sampled(host)
    end = NOON + 6 * HOUR
    before = series(volume, NOON, end, points=3).to_json()
    # The last hour is not settled: it comes from samples, in a bucket with one that is.
    assert add_up_hours(NOON + 4 * HOUR + 5 * MINUTE) == 3
    assert VolumeHour.objects.count() == 3
    assert series(volume, NOON, end, points=3).to_json() == before
    assert before["series"]["hit_rate"][1] is not None
    Sample.objects.filter(ts__lte=NOON + 3 * HOUR).delete()
    assert series(volume, NOON, end, points=3).to_json() == before


def test_short_buckets_and_odd_starts_come_from_samples(host: Host) -> None:
    volume = sampled(host)
    spans = ((NOON, NOON + 4 * HOUR, 48), (NOON + 7 * MINUTE, NOON + 3 * HOUR, 2))
    before = [series(volume, *span).to_json() for span in spans]
    add_up_hours(NOON + 5 * HOUR)
    assert [series(volume, *span).to_json() for span in spans] == before


def test_what_was_anothers_is_not_in_an_hour_that_is_shown(host: Host) -> None:
    volume = sampled(host)
    since = NOON + 90 * MINUTE
    before = series(volume, NOON, NOON + 4 * HOUR, points=2, since=since).to_json()
    add_up_hours(NOON + 5 * HOUR)
    assert series(volume, NOON, NOON + 4 * HOUR, points=2, since=since).to_json() == before


def test_hours_fill_a_day_at_a_time_and_go_on_after_days_without_samples(host: Host) -> None:
    start = NOON - timedelta(days=1)
    sampled(host, hours=2, start=start)
    now = NOON + timedelta(days=3)
    assert add_up_hours(now) == 2
    assert add_up_hours(now) == 0
    other = sampled(host, hours=1)
    assert add_up_hours(now) == 1
    assert VolumeHour.objects.get(volume=other).bucket == NOON
    with CaptureQueriesContext(
        connection,
    ) as asked:
        add_up_hours(NOON + HOUR + 5 * MINUTE)
    assert not [query for query in asked if "INSERT" in query["sql"]]


def test_a_customer_sees_no_hours_of_another(host: Host) -> None:
    sampled(host)
    add_up_hours(NOON + 5 * HOUR)
    person = make.user()
    with row_security.inside(str(person.pk)):
        assert VolumeHour.objects.count() == 0
    assert VolumeHour.objects.count() == 4


@pytest.mark.parametrize("days_kept", [30, 100])
def test_hours_older_than_any_sample_are_forgotten(
    host: Host, settings: Settings, days_kept: int
) -> None:
    settings.TIERCEL_SAMPLES_KEPT_DAYS = days_kept
    sampled(host)
    add_up_hours(NOON + 5 * HOUR)
    forget(NOON + timedelta(days=days_kept - 1))
    assert VolumeHour.objects.count() == 4
    forget(NOON + timedelta(days=days_kept + 1))
    assert VolumeHour.objects.count() == 0

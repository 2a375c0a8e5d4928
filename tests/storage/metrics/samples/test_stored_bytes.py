"""What samples take on disk is known by resolution, and about what they will take in a year."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.db import connection
from pytest_django import Settings

from jobs import tasks
from storage.metrics.samples.chunk_store import chunk_start
from storage.metrics.samples.sample_round import make_partition
from storage.metrics.samples.stored_bytes import stored_chunks, stored_rows
from storage.models import Resolution, Sample, SampleChunk
from tests import make
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db
START = NOON - timedelta(days=3)


def packed() -> None:
    """An hour of a volume, packed as beat lets the worker do."""
    make_partition(START.date())
    host = make.host()
    _volume, lv_uuid = placed(host)
    for n in range(60):
        take(host, 60 * n, reading(lv_uuid, 100 * n), start=START)
    assert configured.CELERY_BEAT_SCHEDULE["pack"]["task"] == "jobs.tasks.pack"
    tasks.pack()


def test_nothing_is_predicted_without_any() -> None:
    assert {each.year_bytes for each in stored_chunks(NOON).values()} == {None}
    assert stored_rows().size_bytes > 0  # An empty table has a size too.


def test_a_year_is_what_it_takes_now_for_as_long_as_it_is_kept(settings: Settings) -> None:
    packed()
    assert not Sample.objects.exists()
    before = stored_chunks(NOON)
    assert all(each.size_bytes > 0 for each in before.values())
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 15
    after = stored_chunks(NOON)
    raw = before[Resolution.RAW].year_bytes
    assert raw is not None and raw > before[Resolution.RAW].size_bytes
    assert after[Resolution.RAW].year_bytes == pytest.approx(raw / 2, abs=2)
    assert after[Resolution.HOUR] == before[Resolution.HOUR]


def test_a_stray_chunk_of_long_ago_makes_no_forecast_smaller() -> None:
    packed()
    before = stored_chunks(NOON)
    for resolution in Resolution:
        start = chunk_start(resolution, START - timedelta(days=900))
        with connection.cursor() as cursor:
            cursor.execute("SELECT storage_samplechunk_make(%s, %s)", [resolution, start.date()])
        chunk = SampleChunk.objects.filter(resolution=resolution).values().first()
        assert chunk is not None
        SampleChunk.objects.create(**{**chunk, "start": start})
    after = stored_chunks(NOON)
    assert {each: after[each].year_bytes for each in Resolution} == {
        each: before[each].year_bytes for each in Resolution
    }

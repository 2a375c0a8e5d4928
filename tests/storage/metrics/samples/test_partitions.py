"""Partitions are made and dropped by functions of the owner; the app's role can do no more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from time import sleep
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from pytest_django import Settings

from storage.metrics.samples import ensure_partitions
from storage.metrics.samples.sample_round import make_partition
from storage.models import Sample, Volume
from tests import make

pytestmark = pytest.mark.django_db


def today() -> date:
    return datetime.now(UTC).date()


def days() -> set[date]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_date(right(relname, 8), 'YYYYMMDD') FROM pg_inherits"
            " JOIN pg_class ON pg_class.oid = inhrelid"
            " WHERE inhparent = 'storage_sample'::regclass"
        )
        return {row[0] for row in cursor.fetchall()}


def name(day: date) -> str:
    return f"storage_sample_{day:%Y%m%d}"


def test_the_migration_made_today_and_tomorrow() -> None:
    # Made yesterday, when a test run passes midnight.
    assert datetime.now(UTC).date() in days()
    assert len(days()) >= 2


def test_partitions_are_made_ahead_once() -> None:
    now = datetime.now(UTC)
    ensure_partitions(now)
    ahead = {now.date() + timedelta(days=n) for n in range(3)}
    assert ahead <= days()
    before = days()
    ensure_partitions(now)
    assert days() == before


def test_a_day_of_utc_is_one_partition() -> None:
    day = date(2031, 5, 1)
    make_partition(day)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = %s", [name(day)]
        )
        (bound,) = cursor.fetchone()
        assert "2031-05-01 00:00:00+00" in bound and "2031-05-02 00:00:00+00" in bound
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", [name(day)])
        indexes = " ".join(row[0] for row in cursor.fetchall())
    assert "UNIQUE" in indexes and "brin (ts)" in indexes and "pages_per_range='16'" in indexes


def test_partitions_are_dropped_after_a_week_once_they_are_empty(settings: Settings) -> None:
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 60
    old, recent = (today() - timedelta(days=days) for days in (8, 6))
    make_partition(old)
    make_partition(recent)
    ensure_partitions(datetime.now(UTC))
    assert old not in days() and recent in days()


def test_a_partition_that_is_older_than_rows_are_kept_goes_with_rows_that_nothing_packs(
    settings: Settings,
) -> None:
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 7
    old, pending = (today() - timedelta(days=days) for days in (20, 10))
    for day in (old, pending):
        make_partition(day)
        insert_row(connection, day, make.volume())
    ensure_partitions(datetime.now(UTC))
    assert old not in days() and pending in days()


def insert_row(connected: Any, day: date, volume: Volume) -> None:
    with connected.cursor() as cursor:
        cursor.execute(
            "INSERT INTO storage_sample (ts, volume_id, dt_ms, reads, writes, read_sectors,"
            " write_sectors, read_ms, write_ms, technology)"
            " VALUES (%s, %s, 1, 0, 0, 0, 0, 0, 0, 0)",
            [datetime.combine(day, time(12), UTC), volume.pk],
        )


@pytest.mark.django_db(transaction=True)
def test_a_row_that_comes_while_its_partition_is_dropped_keeps_it() -> None:
    old, volume = today() - timedelta(days=9), make.volume()
    make_partition(old)
    late = connection.copy()
    try:
        late.set_autocommit(False)
        insert_row(late, old, volume)
        with ThreadPoolExecutor(1) as pool:
            dropping = pool.submit(_ensured)
            _until_a_session_waits()
            late.commit()
            dropping.result()
    finally:
        late.close()
    assert old in days() and Sample.objects.filter(volume=volume).exists()


def _ensured() -> None:
    try:
        ensure_partitions(datetime.now(UTC))
    finally:
        connection.close()


def _until_a_session_waits() -> None:
    """Returns once a statement of this database waits for a lock; raises after two seconds, which
    is as long as one may."""
    for _ in range(200):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON oid = database"
                " WHERE NOT granted AND datname = current_database())"
            )
            if cursor.fetchone()[0]:
                return
        sleep(0.01)
    raise AssertionError("no session waited for the row's transaction")


def test_the_last_week_is_never_dropped() -> None:
    recent = today() - timedelta(days=5)
    make_partition(recent)
    ensure_partitions(datetime.now(UTC) + timedelta(days=400))
    assert recent in days()


@pytest.mark.django_db(transaction=True)
def test_dropping_gives_way_to_a_reader_and_is_made_up_for_later() -> None:
    old, now = today() - timedelta(days=40), datetime.now(UTC)
    make_partition(old)
    reader = connection.copy()
    try:
        reader.set_autocommit(False)
        with reader.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM storage_sample")
        ensure_partitions(now)
        assert old in days()
    finally:
        reader.close()
    ensure_partitions(now)
    assert old not in days()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE {}",
        "SELECT * FROM {}",
        "DELETE FROM {}",
        "ALTER TABLE storage_sample DETACH PARTITION {}",
        "CREATE TABLE other PARTITION OF storage_sample DEFAULT",
    ],
)
def test_the_app_has_no_right_on_a_partition_itself(statement: str) -> None:
    make_partition(today())
    with (
        pytest.raises(DatabaseError, match=r"permission denied|must be owner"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(name(today())))

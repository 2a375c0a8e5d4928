"""Chunks lie in partitions by resolution and time; the owner's functions make and drop them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from pytest_django import Settings

from storage.metrics.samples import ensure_partitions
from storage.metrics.samples.sample_round import make_partition
from storage.models import Resolution, Sample
from tests import make

pytestmark = pytest.mark.django_db
TODAY = datetime.now(UTC).date()


def make_chunk_partition(resolution: Resolution, day: date) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_samplechunk_make(%s, %s)", [resolution, day])
        return bool(cursor.fetchone()[0])


def partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'storage_samplechunk%%'"
            " AND relkind IN ('r', 'p')"
        )
        return {row[0].removeprefix("storage_samplechunk_") for row in cursor.fetchall()}


@pytest.mark.parametrize(
    ("resolution", "name", "last"),
    [
        (Resolution.RAW, "raw_20310514", date(2031, 5, 14)),
        (Resolution.FIVE_MINUTES, "5m_203105", date(2031, 5, 31)),
        (Resolution.HOUR, "1h_2031", date(2031, 12, 31)),
    ],
)
def test_a_partition_is_made_once(resolution: Resolution, name: str, last: date) -> None:
    assert make_chunk_partition(resolution, date(2031, 5, 14))
    assert name in partitions()
    assert not make_chunk_partition(resolution, last)
    assert make_chunk_partition(resolution, last + timedelta(days=1))


def test_days_are_in_one_table_for_ever() -> None:
    assert not make_chunk_partition(Resolution.DAY, date(2031, 5, 14))
    assert "1d" in partitions()


def test_a_partition_goes_when_all_of_it_is_too_old(settings: Settings) -> None:
    settings.TIERCEL_5M_KEPT_DAYS = settings.TIERCEL_1H_KEPT_DAYS = 60
    old = TODAY - timedelta(days=31)
    month = (TODAY - timedelta(days=61)).replace(day=1) - timedelta(days=1)
    year = date(TODAY.year - 2, 7, 1)
    kept = [
        (Resolution.RAW, old + timedelta(days=2)),
        (Resolution.FIVE_MINUTES, TODAY - timedelta(days=59)),
        (Resolution.HOUR, TODAY - timedelta(days=59)),
    ]
    gone = [
        (Resolution.RAW, old),
        (Resolution.FIVE_MINUTES, month),
        (Resolution.HOUR, year),
    ]
    before = partitions()
    for each in kept:
        make_chunk_partition(*each)
    expected = partitions()
    for each in gone:
        make_chunk_partition(*each)
    assert len(partitions() - before) >= 5
    ensure_partitions(datetime.now(UTC))
    assert partitions() == expected


def test_rows_that_are_not_packed_are_not_dropped() -> None:
    old = TODAY - timedelta(days=33)
    make_partition(old)
    zero = dict.fromkeys(
        ("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0
    )
    at = datetime(old.year, old.month, old.day, 12, tzinfo=UTC)
    Sample.objects.create(volume=make.volume(), ts=at, dt_ms=1, **zero)
    ensure_partitions(datetime.now(UTC))
    assert Sample.objects.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM storage_samplechunk_raw",
        "SELECT * FROM storage_samplechunk_1d",
        "DELETE FROM storage_samplechunk_5m_203105",
        "DROP TABLE storage_samplechunk_5m_203105",
    ],
)
def test_the_app_has_no_right_on_a_partition_itself(statement: str) -> None:
    make_chunk_partition(Resolution.FIVE_MINUTES, date(2031, 5, 14))
    with (
        pytest.raises(DatabaseError, match=r"permission denied|must be owner"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_digits_at_the_end_of_other_tables_are_no_day() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE odd (x int)")
        cursor.execute("CREATE TEMPORARY TABLE odd_99999 () INHERITS (odd)")
        for resolution in Resolution:
            cursor.execute("SELECT storage_samplechunk_drop(%s, %s)", [resolution, TODAY])
            assert cursor.fetchone() == (0,)

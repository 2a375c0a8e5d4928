"""The backend for PostgreSQL: moments are read as Django reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from django.db import DataError, connection

from panel.configuration.postgresql.base import UtcLoader

pytestmark = pytest.mark.django_db


def read(moment: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [moment])
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    ("moment", "found"),
    [
        ("2026-11-21 12:00:00+00", datetime(2026, 11, 21, 12, tzinfo=UTC)),
        ("2026-11-21 12:00:00.000001+00", datetime(2026, 11, 21, 12, 0, 0, 1, UTC)),
        ("2026-11-21 12:00:00.12345+00", datetime(2026, 11, 21, 12, 0, 0, 123450, UTC)),
        ("2026-11-21 14:00:00.5+02", datetime(2026, 11, 21, 12, 0, 0, 500000, UTC)),
        ("0001-01-01 00:00:00+00", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read_to_the_microsecond_and_in_utc(moment: str, found: datetime) -> None:
    moment_read = read(moment)
    assert moment_read == found
    assert isinstance(moment_read, datetime) and moment_read.tzinfo is UTC


@pytest.mark.parametrize("moment", ["infinity", "0044-03-15 00:00:00+00 BC"])
def test_a_moment_that_python_has_no_room_for_is_an_error_of_the_database(moment: str) -> None:
    with pytest.raises(DataError):
        read(moment)


def test_cursors_keep_the_quick_loader() -> None:
    oid = psycopg.adapters.types["timestamptz"].oid
    with connection.cursor() as cursor:
        assert cursor.cursor.adapters.get_loader(oid, psycopg.pq.Format.TEXT) is UtcLoader


def test_no_statement_of_the_panel_is_compiled_just_in_time() -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SHOW jit")
            assert cursor.fetchone() == ("off",)
    finally:
        other.close()

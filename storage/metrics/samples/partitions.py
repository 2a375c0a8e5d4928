"""Daily partitions of the samples, made ahead of time and dropped when old."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.db import connection

from storage.metrics.samples import host_load

AHEAD_DAYS: Final = 2
KEPT_DAYS: Final = 30


def ensure_partitions(now: datetime) -> None:
    """Make the partitions of today and the next days; drop those older than `KEPT_DAYS`, and what
    hosts did longer ago than can be compared with."""
    today = now.astimezone(UTC).date()
    for days in range(AHEAD_DAYS + 1):
        make_partition(today + timedelta(days=days))
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_sample_drop(%s)", [today - timedelta(days=KEPT_DAYS)])
    host_load.forget(now)


def make_partition(day: date) -> None:
    """Make the partition of one UTC day, if it is missing."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_sample_make(%s)", [day])

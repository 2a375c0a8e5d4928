"""A panel that kept its samples as rows for 30 days is upgraded to one that packs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import psycopg
import pytest
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from storage import row_security
from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.models import Resolution, Sample, SampleChunk
from tests.conftest import this_run
from tests.integration.conftest import records_of

BEFORE: Final = "0029_plain_names"
"""The last migration of a panel that knew rows alone."""
VOLUME_IDS: Final = [11, 12]
DAYS: Final = 30
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMED: Final = ("dt_ms", "reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms")
COUNTED: Final = (
    *("read_hits", "read_misses", "write_hits", "write_misses", "promotions", "demotions"),
    *("slow_read_sectors", "slow_write_sectors", "fast_read_sectors", "fast_write_sectors"),
)
GAUGES: Final = ("cache_size_bytes", "used_bytes", "dirty_bytes")
COLUMNS: Final = (
    *("ts", "volume_id", *TIMED, "busy_ms", "weighted_ms", *COUNTED, "latency_counts"),
    *("technology", *GAUGES),
)
SUMMED: Final = (*TIMED, "busy_ms", "weighted_ms", *COUNTED)
CLASSES: Final = 14
Figures = dict[tuple[int, datetime], dict[str, Any]]
"""By volume and by the bucket's beginning."""


def row(volume_id: int, ts: datetime, random: Random, *, is_cached: bool) -> tuple[Any, ...]:
    counts: list[int | None] = [random.randrange(3000) for _ in COUNTED]
    gauges: list[int | None] = [2**31, random.randrange(2**31), random.randrange(2**20)]
    if not is_cached:
        counts, gauges = [None] * len(COUNTED), [None] * len(GAUGES)
    latencies = [random.randrange(90) for _ in range(CLASSES)]
    timed = [60_000, *(random.randrange(20_000) for _ in range(len(TIMED) + 1))]
    return (ts, volume_id, *timed, *counts, latencies, 1 if is_cached else 0, *gauges)


def fill(owner: psycopg.Connection[Any], first: datetime, end: datetime) -> None:
    """A row a minute of each volume. One has its cache from the tenth day on; the other one's host
    is silent for some hours and now and then for a round."""
    random = Random(30)
    for n in range((end - first).days + 2):
        owner.execute("SELECT storage_sample_make(%s)", [(first + n * DAY).date()])
    names = ", ".join(COLUMNS)
    with owner.cursor().copy(f"COPY storage_sample ({names}) FROM STDIN") as copy:
        for n in range(int((end - first) / timedelta(minutes=1))):
            ts = first + timedelta(minutes=n, seconds=17.25)
            copy.write_row(row(11, ts, random, is_cached=n >= 10 * 1440))
            if n % 997 and not 7 * 1440 < n < 7 * 1440 + 300:
                copy.write_row(row(12, ts, random, is_cached=True))


def by_sql(owner: psycopg.Connection[Any], bucket: str) -> Figures:
    """What the rows themselves add up to."""
    sums = ", ".join(f"sum({name})" for name in SUMMED)
    classes = ", ".join(f"sum(latency_counts[{n + 1}])" for n in range(CLASSES))
    last = ", ".join(f"(array_agg({name} ORDER BY ts DESC))[1]" for name in GAUGES)
    rows = owner.execute(
        f"SELECT volume_id, date_bin('{bucket}', ts - interval '1 microsecond', 'epoch') AS at,"  # noqa: S608
        f" count(*), {sums}, {classes}, {last} FROM storage_sample GROUP BY 1, 2"
    ).fetchall()
    return {
        (volume_id, at): {
            "intervals": count,
            **{name: int(each or 0) for name, each in zip(SUMMED, rest, strict=False)},
            "latency_counts": [int(each) for each in rest[len(SUMMED) : len(SUMMED) + CLASSES]],
            **dict(zip(GAUGES, rest[len(SUMMED) + CLASSES :], strict=True)),
        }
        for volume_id, at, count, *rest in rows
    }


def by_panel(first: datetime, end: datetime, step: timedelta) -> Figures:
    """The same as pages and the API are given it."""
    seconds = int(step.total_seconds())
    return {
        (each.subject_id, first + each.n * step): {
            "intervals": each.counts["intervals"],
            **{name: each.counts[name] for name in SUMMED},
            "latency_counts": list(each.histograms["latency_counts"]),
            **{name: each.last[name] for name in GAUGES},
        }
        for each in aggregate(VOLUME_IDS, first, end, step=seconds)
    }


def manage(environment: Mapping[str, str], *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *words, "--skip-checks"],
        env=dict(environment), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr


@pytest.mark.timeout(400)
def test_an_upgrade_keeps_every_figure_of_thirty_days(
    installation: dict[str, str], django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> None:
    now = timezone.now()
    end = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    first = end - DAYS * DAY + HOUR
    manage(installation, "migrate", "storage", BEFORE)
    with psycopg.connect(installation["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("SELECT set_config('tiercel.wall', %s, false)", [row_security.ALL])
        fill(owner, first, end)
        hours, minutes = by_sql(owner, "1 hour"), by_sql(owner, "1 minute")
    assert len(hours) > 2 * 24 * (DAYS - 1) and len(minutes) > 2 * 1440 * (DAYS - 1)

    manage(installation, "migrate")
    with (
        django_db_blocker.unblock(),
        records_of(f"{this_run()}_panel"),
        row_security.inside(row_security.ALL),
    ):
        assert by_panel(first, end, HOUR) == hours, "before anything is packed"
        while not pack_samples(VOLUMES, now).is_done:
            pass
        packed = SampleChunk.objects.filter(resolution=Resolution.RAW)
        assert packed.count() > 2 * 24 * (DAYS - 1)
        assert Sample.objects.count() <= 2 * 4 * 60, "only the last hours are rows"
        assert by_panel(first, end, HOUR) == hours
        days = [first + n * DAY for n in range(DAYS)]
        told = Figures()
        for day in days:
            told |= by_panel(day, min(day + DAY, end), timedelta(minutes=1))
        assert told == minutes

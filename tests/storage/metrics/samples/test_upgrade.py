"""A panel that kept its samples as rows for some days is upgraded to one that packs them. What the
older panel did not measure is null in its rows."""

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
from storage.metrics.samples.chunk_store import FLEET, HOSTS, VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.models import FleetLoad, HostLoad, Resolution, Sample, SampleChunk
from tests.conftest import this_run
from tests.integration.conftest import records_of

VOLUME_IDS: Final = [11, 12]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMED: Final = ("dt_ms", "reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms")
COUNTED: Final = (
    "read_hits",
    "read_misses",
    "write_hits",
    "write_misses",
    "promotions",
    "demotions",
    "slow_read_sectors",
    "slow_write_sectors",
    "fast_read_sectors",
    "fast_write_sectors",
)
GAUGES: Final = ("cache_size_bytes", "used_bytes", "dirty_bytes")
COLUMNS: Final = (
    "ts",
    "volume_id",
    *TIMED,
    "busy_ms",
    "weighted_ms",
    *COUNTED,
    "latency_counts",
    "technology",
    *GAUGES,
)
SUMMED: Final = (*TIMED, "busy_ms", "weighted_ms", *COUNTED)
CLASSES: Final = 14
LOADS: Final = {"storage_hostload": HOSTS, "storage_fleetload": FLEET}
LOAD_SUMS: Final = (
    "dt_ms",
    "busy_ms",
    "reads",
    "writes",
    "read_sectors",
    "write_sectors",
    "read_ms",
    "write_ms",
    "read_hits",
    "read_misses",
    "bcache_reads",
    "bcache_read_sectors",
    "backing_read_sectors",
    "write_hits",
    "write_misses",
    "promotions",
    "demotions",
    "ssd_write_sectors",
)
LOAD_SIZES: Final = (*GAUGES, "sold_bytes", "fast_total_bytes", "fast_free_bytes")
HOST_ID: Final = 21
Figures = dict[tuple[int, datetime], dict[str, Any]]
"""By volume, or host, and by the bucket's beginning."""


def row(volume_id: int, ts: datetime, random: Random, *, is_cached: bool) -> tuple[Any, ...]:
    counts: list[int | None] = [random.randrange(3000) for _ in COUNTED]
    gauges: list[int | None] = [2**31, random.randrange(2**31), random.randrange(2**20)]
    if not is_cached:
        counts, gauges = [None] * len(COUNTED), [None] * len(GAUGES)
    latencies = [random.randrange(90) for _ in range(CLASSES)]
    timed = [60_000, *(random.randrange(20_000) for _ in range(len(TIMED) + 1))]
    return (ts, volume_id, *timed, *counts, latencies, 1 if is_cached else 0, *gauges)


def fill(owner: psycopg.Connection[Any], first: datetime, end: datetime) -> None:
    """A row a minute of each volume. One has its cache from a third of the time on; the other one's
    host is silent for some hours and now and then for a round."""
    random = Random(30)
    days = (end - first).days + 1
    cached_from, silent_from = days // 3 * 1440, days // 4 * 1440
    for n in range(days + 1):
        owner.execute("SELECT storage_sample_make(%s)", [(first + n * DAY).date()])
    names = ", ".join(COLUMNS)
    with owner.cursor().copy(f"COPY storage_sample ({names}) FROM STDIN") as copy:
        for n in range(int((end - first) / timedelta(minutes=1))):
            ts = first + timedelta(minutes=n, seconds=17.25)
            copy.write_row(row(11, ts, random, is_cached=n >= cached_from))
            if n % 997 and not silent_from < n < silent_from + 300:
                copy.write_row(row(12, ts, random, is_cached=True))


def fill_loads(owner: psycopg.Connection[Any], first: datetime, end: datetime) -> None:
    """A row of a host and one of the fleet for each five minutes, but some."""
    (constraint,) = owner.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = 'storage_hostload'::regclass"
        " AND contype = 'f'"
    ).fetchone() or ("",)
    # Its figures are all that is needed of the host.
    owner.execute(f'ALTER TABLE storage_hostload DROP CONSTRAINT "{constraint}"')
    for seed, table in enumerate(LOADS):
        random = Random(seed)
        subject = ["host_id"] if table == "storage_hostload" else []
        names = ", ".join(["bucket", *subject, *LOAD_SUMS, "latency_counts", *LOAD_SIZES])
        with owner.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for n in range(int((end - first) / timedelta(minutes=5))):
                if n % 83 == 0:
                    continue
                sums = [random.randrange(1, 10**6) for _ in LOAD_SUMS]
                latencies = [random.randrange(900) for _ in range(CLASSES)]
                sizes = [random.randrange(2**40) for _ in LOAD_SIZES]
                ids = [HOST_ID] if subject else []
                copy.write_row((first + n * timedelta(minutes=5), *ids, *sums, latencies, *sizes))


def loads_by_sql(owner: psycopg.Connection[Any], table: str, bucket: str) -> Figures:
    """What the rows of loads add up to."""
    sums = ", ".join(f"sum({name})" for name in LOAD_SUMS)
    classes = ", ".join(f"sum(latency_counts[{n + 1}])" for n in range(CLASSES))
    last = ", ".join(f"(array_agg({name} ORDER BY bucket DESC))[1]" for name in LOAD_SIZES)
    rows = owner.execute(
        f"SELECT date_bin('{bucket}', bucket, 'epoch') AS at, {sums}, {classes}, {last}"  # noqa: S608
        f" FROM {table} GROUP BY 1"
    ).fetchall()
    subject = HOST_ID if table == "storage_hostload" else 0
    count = len(LOAD_SUMS)
    return {
        (subject, at): {
            **{name: int(each) for name, each in zip(LOAD_SUMS, rest, strict=False)},
            "latency_counts": [int(each) for each in rest[count : count + CLASSES]],
            **dict(zip(LOAD_SIZES, rest[count + CLASSES :], strict=True)),
        }
        for at, *rest in rows
    }


def loads_by_panel(table: str, first: datetime, end: datetime, step: timedelta) -> Figures:
    """The same as charts of a host and of the fleet are given it."""
    subject = HOST_ID if table == "storage_hostload" else 0
    seconds = int(step.total_seconds())
    return {
        (each.subject_id, first + each.n * step): {
            **{name: each.counts[name] for name in LOAD_SUMS},
            "latency_counts": list(each.histograms["latency_counts"]),
            **{name: each.last[name] for name in LOAD_SIZES},
        }
        for each in aggregate([subject], first, end, kind=LOADS[table], step=seconds)
    }


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
        env=dict(environment), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("day_count", [11, pytest.param(30, marks=pytest.mark.long)])
def test_an_upgrade_keeps_every_figure_of_some_days(
    installation: dict[str, str],
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    day_count: int,
) -> None:
    now = timezone.now()
    end = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    first = end - day_count * DAY + HOUR
    manage(installation, "migrate")
    with psycopg.connect(installation["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("SELECT set_config('tiercel.wall', %s, false)", [row_security.ALL])
        fill(owner, first, end)
        fill_loads(owner, first, end)
        loads = {
            (table, step): loads_by_sql(owner, table, f"{step.total_seconds():.0f} seconds")
            for table in LOADS
            for step in (HOUR, timedelta(minutes=5))
        }
        hours, minutes = by_sql(owner, "1 hour"), by_sql(owner, "1 minute")
    assert len(hours) > 2 * 24 * (day_count - 1) and len(minutes) > 2 * 1440 * (day_count - 1)

    with (
        django_db_blocker.unblock(),
        records_of(f"{this_run()}_panel"),
        row_security.scope(row_security.ALL),
    ):
        assert by_panel(first, end, HOUR) == hours, "before anything is packed"
        for (table, step), rows in loads.items():
            assert loads_by_panel(table, first, end, step) == rows, "before anything is packed"
        for kind in (VOLUMES, HOSTS, FLEET):
            while not pack_samples(kind, now).is_done:
                pass
        packed = SampleChunk.objects.filter(resolution=Resolution.RAW)
        assert packed.count() > 2 * 24 * (day_count - 1)
        assert Sample.objects.count() <= 2 * 4 * 60, "only the last hours are rows"
        assert by_panel(first, end, HOUR) == hours
        days = [first + n * DAY for n in range(day_count)]
        read_in_parts = Figures()
        for day in days:
            read_in_parts |= by_panel(day, min(day + DAY, end), timedelta(minutes=1))
        assert read_in_parts == minutes
        assert HostLoad.objects.count() <= 9 * 288 >= FleetLoad.objects.count()
        for (table, step), rows in loads.items():
            assert loads_by_panel(table, first, end, step) == rows

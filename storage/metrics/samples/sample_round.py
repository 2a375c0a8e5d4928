"""Stores one round of a host's counters as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from storage.host_data import BadHostData
from storage.metrics.counters import (
    HostDisk,
    Stamp,
    decode,
    decode_disks,
    decode_stamp,
    decode_volume,
    encode,
)
from storage.metrics.rates import CounterReading, Delta, Gap, delta, gauges
from storage.metrics.rates.delta import MAX_INTERVAL_MS
from storage.metrics.samples import host_load, load_rollup, volume_hours
from storage.metrics.samples.columns import CACHE, DISK, GAUGES, INTERVAL
from storage.metrics.samples.window import kept
from storage.models import Host, HostActivity, LatestSample, Placement

AHEAD_DAYS: Final = 2


def ensure_partitions(now: datetime) -> None:
    """Make the partitions of today and the next days; drop those older than samples are kept, and
    what was added up of them."""
    today = now.astimezone(UTC).date()
    for days in range(AHEAD_DAYS + 1):
        make_partition(today + timedelta(days=days))
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_sample_drop(%s)", [today - kept()])
    load_rollup.forget(now)
    volume_hours.forget(now)


def make_partition(day: date) -> None:
    """Make the partition of one UTC day, if it is missing."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_sample_make(%s)", [day])


KEPT: Final = {
    "volume_id": "int8",
    "host_id": "int8",
    "at": "timestamptz",
    "boot_id": "varchar",
    "boottime_ns": "int8",
    "counters": "jsonb",
    "gap": "varchar",
    "cache_gap": "varchar",
    "cache_mode": "varchar",
    "cache_state": "varchar",
    "suspended": "bool",
}
COLUMNS: Final = {**KEPT, **INTERVAL}
COPY: Final = f"COPY sample_stage ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)"
STAGE: Final = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS sample_stage (LIKE storage_latestsample)"
    " ON COMMIT DELETE ROWS"
)
INSERT: Final = (
    f"WITH stored AS (INSERT INTO storage_sample (ts, volume_id, {', '.join(INTERVAL)})"  # noqa: S608 (constants)
    f" SELECT at, volume_id, {', '.join(INTERVAL)} FROM pg_temp.sample_stage WHERE gap = ''"
    f" ON CONFLICT DO NOTHING RETURNING *), added AS ({load_rollup.ADD})"
    " SELECT count(*) FROM stored"
)
UPSERT: Final = (
    f"INSERT INTO storage_latestsample ({', '.join(COLUMNS)})"  # noqa: S608 (constants)
    f" SELECT {', '.join(COLUMNS)} FROM pg_temp.sample_stage ON CONFLICT (volume_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "volume_id")
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """`rows` intervals stored; `gaps` volumes without one; logical volumes nobody knows."""

    rows: int
    gaps: int
    unknown_lv_uuids: frozenset[str]


@transaction.atomic
def record(host: Host, data: object, stamp: object, at: datetime) -> Recorded:
    """Store what happened on a host since its last round.

    `data` and `stamp` are the `data` and the `host` block of the agent's `sample` reply, `at` the
    panel's time of the round. The same round again, or one that comes late, changes nothing: its
    time is part of the interval that a later round has stored. Raises `BadHostData`.
    """
    volumes, read_at = decode(data), decode_stamp(stamp)
    disks = decode_disks(data)
    with connection.cursor() as cursor:
        # Two rounds of one host must not take their difference from the same counters.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('storage.samples'), %s)", [host.pk])
    known = dict(
        Placement.objects.filter(
            host=host, until=None, lv_uuid__in=[volume.lv_uuid for volume in volumes]
        ).values_list("lv_uuid", "volume_id")
    )
    before = {
        row.volume_id: row
        for row in LatestSample.objects.filter(volume_id__in=known.values()).only(
            "host_id", "boot_id", "boottime_ns", "counters"
        )
    }
    rows = []
    gaps = 0
    for volume in volumes:
        if volume.lv_uuid not in known:
            continue
        volume_id = known[volume.lv_uuid]
        reading = CounterReading(host.pk, read_at.boot_id, read_at.boottime_ns, volume)
        last = _reading(before.get(volume_id))
        if last is not None and _is_late(last, reading):
            continue
        change = delta(last, reading)
        gaps += isinstance(change, Gap)
        rows.append(_row(volume_id, reading, at, change))
    stored = _store(host, rows, at) if rows else 0
    if rows:
        counters = disk_counters(disks, read_at)
        HostActivity.objects.filter(host=host, at=at).update(disk_counters=counters)
    return Recorded(
        rows=stored,
        gaps=gaps,
        unknown_lv_uuids=frozenset(volume.lv_uuid for volume in volumes) - known.keys(),
    )


def disk_counters(disks: Iterable[HostDisk], read_at: Stamp) -> dict[str, Any]:
    """What is kept of the disks of a round: of each, I/Os, the ms with any under way, and those of
    all added up, with when they were read."""
    return {
        "boot_id": read_at.boot_id,
        "boottime_ns": read_at.boottime_ns,
        "disks": {
            each.name: [
                each.disk.reads + each.disk.writes,
                each.disk.busy_ms,
                each.disk.weighted_ms,
            ]
            for each in disks
        },
    }


def _reading(row: LatestSample | None) -> CounterReading | None:
    """The last counters of a volume; None where another version of the panel kept them."""
    if row is None:
        return None
    try:
        counters = decode_volume(row.counters)
    except BadHostData:
        return None
    return CounterReading(row.host_id, row.boot_id, row.boottime_ns, counters)


def _is_late(last: CounterReading, reading: CounterReading) -> bool:
    """Whether these counters were read before, or with, those that are kept. A clock that stepped
    back further is no delay but a gap."""
    if (last.host_id, last.boot_id) != (reading.host_id, reading.boot_id):
        return False
    age_ms = (last.boottime_ns - reading.boottime_ns) / 1e6
    return 0 <= age_ms <= MAX_INTERVAL_MS


def _row(
    volume_id: int, reading: CounterReading, at: datetime, change: Delta | Gap
) -> tuple[Any, ...]:
    gap = change.reason if isinstance(change, Gap) else None
    values: dict[str, Any] = {
        "volume_id": volume_id,
        "host_id": reading.host_id,
        "at": at,
        "boot_id": reading.boot_id,
        "boottime_ns": reading.boottime_ns,
        "counters": Jsonb(encode(reading.counters)),
        "gap": gap or "",
        "cache_gap": "",
    }
    now = gauges(reading.counters)
    values["cache_mode"], values["cache_state"] = now.cache_mode, now.cache_state
    values["suspended"] = reading.counters.suspended
    values.update((name, getattr(now, name)) for name in GAUGES)
    if isinstance(change, Delta):
        values["cache_gap"] = change.cache_gap or ""
        values["latency_counts"] = change.latency_counts and list(change.latency_counts)
        values.update((name, getattr(change, name)) for name in DISK)
        values.update((name, getattr(change.cache, name)) for name in CACHE)
    return tuple(values.get(name) for name in COLUMNS)


def stage(cursor: Any, rows: Iterable[tuple[Any, ...]]) -> None:
    """Fill this connection's `pg_temp.sample_stage` with the rows (`COLUMNS`), and them alone."""
    cursor.execute(STAGE)
    cursor.execute("DELETE FROM pg_temp.sample_stage")
    with cursor.copy(COPY) as copy:
        copy.set_types(tuple(COLUMNS.values()))
        for row in rows:
            copy.write_row(row)


def _store(host: Host, rows: list[tuple[Any, ...]], at: datetime) -> int:
    """COPY through a stage, so that a repeated row is harmless."""
    make_partition(at.astimezone(UTC).date())
    with connection.cursor() as cursor:
        stage(cursor, rows)
        cursor.execute(INSERT, [host.pk])
        stored = int(cursor.fetchone()[0])
        cursor.execute(UPSERT)
        cursor.execute(host_load.ACTIVITY.format(source="pg_temp.sample_stage"))
    return stored

"""Stores rounds of hosts' counters as rows."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from storage.host_data import BadHostData
from storage.metrics.counters import (
    HostDevice,
    HostSample,
    Stamp,
    decode_kept,
    decode_sample,
    decode_stamp,
    encode_kept,
)
from storage.metrics.rates import CounterReading, Delta, Gap, delta, gauges
from storage.metrics.rates.delta import MAX_INTERVAL_MS
from storage.metrics.samples import device_round, host_load, load_rollup
from storage.metrics.samples.chunk_store import DEVICES, VOLUMES, kept_for
from storage.metrics.samples.columns import GAUGES, INTERVAL
from storage.metrics.samples.packer import oldest_pending
from storage.models import Host, Placement, Resolution

log = logging.getLogger(__name__)
AHEAD_DAYS: Final = 2


def ensure_partitions(now: datetime) -> None:
    """Make the partitions of today and the next days; drop those that are older than they are kept,
    but none with rows that are not packed yet; of rows, empty ones after a week: what is read of a
    year is planned for each partition of it."""
    today = now.astimezone(UTC).date()
    for days in range(AHEAD_DAYS + 1):
        make_partition(today + timedelta(days=days))
    pending = min(oldest_pending(kind, now) or today for kind in (VOLUMES, DEVICES))
    with connection.cursor() as cursor:
        before = min(today - (kept_for(Resolution.RAW) or timedelta()), pending)
        for table in ("sample", "devicesample"):
            cursor.execute(f"SELECT storage_{table}_drop(%s)", [before])
        cursor.execute("SELECT storage_samplechunk_drop(%s, %s)", [Resolution.RAW, before])
        for resolution in (Resolution.FIVE_MINUTES, Resolution.HOUR):
            before = today - (kept_for(resolution) or timedelta())
            cursor.execute("SELECT storage_samplechunk_drop(%s, %s)", [resolution, before])


def make_partition(day: date) -> None:
    """Make the partitions of one UTC day, if they are missing."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_sample_make(%s), storage_devicesample_make(%s)", [day, day])


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
STORE: Final = (
    f"WITH stored AS (INSERT INTO storage_sample (ts, volume_id, {', '.join(INTERVAL)})"  # noqa: S608 (constants)
    f" SELECT at, volume_id, {', '.join(INTERVAL)} FROM pg_temp.sample_stage WHERE gap = ''"
    " ON CONFLICT DO NOTHING RETURNING *), added AS ({})"
    " SELECT host_id, count(*) FROM stored JOIN pg_temp.sample_stage USING (volume_id)"
    " GROUP BY host_id"
)
INSERT: Final = STORE.format(load_rollup.ADD)
INSERT_PART: Final = STORE.format(load_rollup.ADD_PART)
UPSERT: Final = (
    f"INSERT INTO storage_latestsample ({', '.join(COLUMNS)})"  # noqa: S608 (constants)
    f" SELECT {', '.join(COLUMNS)} FROM pg_temp.sample_stage ON CONFLICT (volume_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "volume_id")
)


LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtext('storage.samples'), host_id)"
    " FROM (SELECT unnest(%s::int[]) AS host_id ORDER BY host_id) AS hosts"
)
LAST_READINGS: Final = (
    "SELECT volume_id, host_id, boot_id, boottime_ns, counters::text FROM storage_latestsample"
    " WHERE volume_id = ANY(%s)"
)
DISK_COUNTERS: Final = (
    "UPDATE storage_hostactivity AS activity SET disk_counters = round.counters"
    " FROM unnest(%s::bigint[], %s::timestamptz[], %s::jsonb[]) AS round (host_id, at, counters)"
    " WHERE activity.host_id = round.host_id AND activity.at = round.at"
)


@dataclass(frozen=True, slots=True)
class HostRound:
    """What a host answered: the `data` and the `host` block of the agent's `sample` reply. `at` is
    the panel's time of the round."""

    host: Host
    data: object
    stamp: object
    at: datetime


@dataclass(frozen=True, slots=True)
class Recorded:
    """`rows` intervals stored; `gaps` volumes without one; `unknown_lv_uuids` have no record;
    `inventory_digest` changes with the host's parts (`storage.metrics.counters`)."""

    rows: int
    gaps: int
    unknown_lv_uuids: frozenset[str]
    inventory_digest: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """A round that could be read."""

    host_id: int
    sample: HostSample
    read_at: Stamp
    at: datetime

    @property
    def lv_uuids(self) -> list[str]:
        return [volume.lv_uuid for volume in self.sample.volumes]


def record_sample(
    host: Host, data: object, stamp: object, at: datetime, *, is_whole: bool = True
) -> Recorded:
    """`record_all` of one round; raises `BadHostData`."""
    [recorded] = record_all([HostRound(host, data, stamp, at)], is_whole=is_whole)
    if isinstance(recorded, BadHostData):
        raise recorded
    return recorded


@transaction.atomic
def record_all(
    rounds: Sequence[HostRound], *, is_whole: bool = True
) -> list[Recorded | BadHostData]:
    """Store what happened on several hosts, each of them once, since their last rounds: as many
    statements as for one. Rounds that are not `is_whole` are of some volumes of their hosts, and
    say nothing of these.

    In the place of a round that cannot be read is the error; the others are stored. The same round
    again, or one that comes late, changes nothing: its time is part of the interval that a later
    round has stored.
    """
    readings = [_read(each) for each in rounds]
    good = [each for each in readings if isinstance(each, _Reading)]
    if not good:
        return [each for each in readings if isinstance(each, BadHostData)]
    with connection.cursor() as cursor:
        # Two rounds of one host must not take their difference from the same counters.
        cursor.execute(LOCK, [[each.host_id for each in good]])
    known = {
        (host_id, lv_uuid): volume_id
        for host_id, lv_uuid, volume_id in Placement.objects.filter(
            host__in=[each.host_id for each in good],
            until=None,
            lv_uuid__in={lv_uuid for each in good for lv_uuid in each.lv_uuids},
        ).values_list("host_id", "lv_uuid", "volume_id")
    }
    before = _last_readings(known.values())
    rows: list[tuple[Any, ...]] = []
    counts: dict[int, tuple[int, int]] = {}
    for each in good:
        changes = list(_changes(each, known, before))
        rows += [
            _row(volume_id, reading, each.at, change) for volume_id, reading, change in changes
        ]
        gaps = sum(isinstance(change, Gap) for _, _, change in changes)
        counts[each.host_id] = len(changes), gaps
    stored = _store(rows, {each.at for each in good}, is_whole=is_whole) if rows else {}
    if is_whole:
        _keep_disk_counters([each for each in good if counts[each.host_id][0]])
    device_round.record_devices(
        [(each.host_id, each.sample.devices, each.read_at, each.at) for each in good]
    )
    return [
        Recorded(
            rows=stored.get(each.host_id, 0),
            gaps=counts[each.host_id][1],
            unknown_lv_uuids=frozenset(
                lv_uuid for lv_uuid in each.lv_uuids if (each.host_id, lv_uuid) not in known
            ),
            inventory_digest=each.sample.inventory_digest,
        )
        if isinstance(each, _Reading)
        else each
        for each in readings
    ]


def _read(given: HostRound) -> _Reading | BadHostData:
    try:
        sample, read_at = decode_sample(given.data), decode_stamp(given.stamp)
    except BadHostData as error:
        return error
    if sample.unread:
        log.warning("Left out of a sample of host %s: %s", given.host, "; ".join(sample.unread))
    return _Reading(given.host.pk, sample, read_at, given.at)


def _changes(
    of: _Reading, known: Mapping[tuple[int, str | None], int], before: Mapping[int, CounterReading]
) -> Iterator[tuple[int, CounterReading, Delta | Gap]]:
    """Each known volume with what it did since its last round, but what comes late."""
    for volume in of.sample.volumes:
        volume_id = known.get((of.host_id, volume.lv_uuid))
        if volume_id is None:
            continue
        reading = CounterReading(of.host_id, of.read_at.boot_id, of.read_at.boottime_ns, volume)
        last = before.get(volume_id)
        if last is None or not _is_late(last, reading):
            yield volume_id, reading, delta(last, reading)


def _last_readings(volume_ids: Iterable[int]) -> dict[int, CounterReading]:
    """The last counters of each volume, but those that another version of the panel kept."""
    readings = {}
    with connection.cursor() as cursor:
        cursor.execute(LAST_READINGS, [list(volume_ids)])
        for volume_id, host_id, boot_id, boottime_ns, counters in cursor.fetchall():
            try:
                volume = decode_kept(counters)
            except BadHostData:
                continue
            readings[volume_id] = CounterReading(host_id, boot_id, boottime_ns, volume)
    return readings


def _keep_disk_counters(readings: Sequence[_Reading]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            DISK_COUNTERS,
            [
                [each.host_id for each in readings],
                [each.at for each in readings],
                [
                    json.dumps(disk_counters(each.sample.devices.disks, each.read_at))
                    for each in readings
                ],
            ],
        )


def disk_counters(disks: Iterable[HostDevice], read_at: Stamp) -> dict[str, Any]:
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
            if each.disk is not None
        },
    }


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
        "counters": Jsonb(reading.counters, encode_kept),
        "gap": gap or "",
        "cache_gap": "",
    }
    now = gauges(reading.counters)
    values["cache_mode"], values["cache_state"] = now.cache_mode, now.cache_state
    values["suspended"] = reading.counters.suspended
    values.update((name, getattr(now, name)) for name in GAUGES)
    if isinstance(change, Delta):
        values["cache_gap"] = change.cache_gap or ""
        values.update(change.columns)
    row = map(values.get, COLUMNS)
    return tuple(list(each) if isinstance(each, tuple) else each for each in row)


def stage(cursor: Any, rows: Iterable[tuple[Any, ...]]) -> None:
    """Fill this connection's `pg_temp.sample_stage` with the rows (`COLUMNS`), and them alone."""
    cursor.execute(STAGE)
    cursor.execute("DELETE FROM pg_temp.sample_stage")
    with cursor.copy(COPY) as copy:
        copy.set_types(tuple(COLUMNS.values()))
        for row in rows:
            copy.write_row(row)


def _store(
    rows: list[tuple[Any, ...]], times: Iterable[datetime], *, is_whole: bool
) -> dict[int, int]:
    """COPY through a stage, so that a repeated row is harmless; how many rows of each host."""
    for day in {at.astimezone(UTC).date() for at in times}:
        make_partition(day)
    with connection.cursor() as cursor:
        stage(cursor, rows)
        cursor.execute(INSERT if is_whole else INSERT_PART)
        stored = dict(cursor.fetchall())
        cursor.execute(UPSERT)
        if is_whole:
            cursor.execute(host_load.ACTIVITY.format(source="pg_temp.sample_stage"))
    return stored

"""Stores what the disks, arrays and partitions of hosts did since their last rounds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection
from psycopg.types.json import Jsonb

from storage.metrics.counters import DiskCounters, HostDevice, HostDevices, Stamp
from storage.metrics.rates import GapReason
from storage.metrics.rates.delta import MAX_INTERVAL_MS
from storage.metrics.rates.disk import is_plausible, subtract
from storage.metrics.samples.columns import DEVICE
from storage.models.device import DeviceKind

KNOWN: Final = (
    "SELECT host_id, device.kind, device.name, device.id, boottime_ns, seq, counters, last.boot_id"
    " FROM unnest(%s::bigint[], %s::varchar[]) AS round (host, boot)"
    " JOIN storage_device AS device ON host_id = host AND device.boot_id = boot"
    " LEFT JOIN storage_latestdevicesample AS last ON device_id = device.id"
    " WHERE gone_at IS NULL"
)
LATEST: Final = {
    "device_id": "int8",
    "at": "timestamptz",
    "boot_id": "varchar",
    "boottime_ns": "int8",
    "seq": "int8",
    "counters": "jsonb",
    "gap": "varchar",
    **DEVICE,
}
_NAMES: Final = ", ".join(LATEST)
_COLUMNS: Final = ", ".join(f"%s::{kind}[]" for kind in LATEST.values())
_FIGURES: Final = ", ".join(DEVICE)
_EXCLUDED: Final = ", ".join(f"{name} = excluded.{name}" for name in LATEST if name != "device_id")
STORE: Final = f"""
WITH round AS (SELECT * FROM unnest({_COLUMNS}) AS round ({_NAMES})),
stored AS (
    INSERT INTO storage_devicesample (ts, device_id, {_FIGURES})
    SELECT at, device_id, {_FIGURES} FROM round WHERE gap = '' ON CONFLICT DO NOTHING
)
INSERT INTO storage_latestdevicesample ({_NAMES}) SELECT {_NAMES} FROM round
ON CONFLICT (device_id) DO UPDATE SET {_EXCLUDED}
"""  # noqa: S608 (constants)


DeviceRound = tuple[int, HostDevices, Stamp, datetime]
"""A host's id, its devices, when they were read, and the panel's time of the round."""


def record_devices(rounds: Iterable[DeviceRound]) -> None:
    """Store rounds of the devices that the inventory of this boot of their host knows by these
    names: an older inventory may have given the names to others. Two statements. The caller holds
    the lock of the hosts' rounds."""
    counted = [
        (host_id, tuple(_counted(devices)), read_at, at) for host_id, devices, read_at, at in rounds
    ]
    counted = [each for each in counted if each[1]]
    if not counted:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            KNOWN,
            [
                [host_id for host_id, *_ in counted],
                [read_at.boot_id for _, _, read_at, _ in counted],
            ],
        )
        known = {(host_id, kind, name): last for host_id, kind, name, *last in cursor.fetchall()}
        rows = [row for each in counted for row in _rows(each, known)]
        if rows:
            cursor.execute(STORE, [list(column) for column in zip(*rows, strict=True)])


def _rows(
    of: tuple[int, Sequence[tuple[str, HostDevice]], Stamp, datetime],
    known: Mapping[tuple[int, str, str], Sequence[Any]],
) -> Iterator[tuple[Any, ...]]:
    host_id, counted, read_at, at = of
    for kind, each in counted:
        if (host_id, kind, each.name) not in known or each.disk is None:
            continue
        pk, boottime_ns, seq, counters, boot_id = known[host_id, kind, each.name]
        before = _before(counters) if boot_id is not None else None
        values = {"boot_id": boot_id, "boottime_ns": boottime_ns, "seq": seq}
        if before is not None and _is_late(values, read_at):
            continue
        change = _change(before, values, each, read_at)
        yield _row(pk, each, read_at, at, change)


def _counted(devices: HostDevices) -> Iterable[tuple[str, HostDevice]]:
    """Each device once, by kind and name."""
    seen = set()
    for kind, of_kind in (
        (DeviceKind.DISK, devices.disks),
        (DeviceKind.ARRAY, devices.arrays),
        (DeviceKind.PARTITION, devices.partitions),
    ):
        for each in of_kind:
            if each.disk is not None and (kind, each.name) not in seen:
                seen.add((kind, each.name))
                yield kind, each


def _before(counters: str) -> DiskCounters | None:
    """The last counters; None where another version of the panel kept them."""
    fields = json.loads(counters)
    return DiskCounters(*fields) if len(fields) == len(DiskCounters._fields) else None


def _is_late(last: dict[str, Any], read_at: Stamp) -> bool:
    """Whether these counters were read before, or with, those that are kept."""
    if last["boot_id"] != read_at.boot_id:
        return False
    age_ms = (int(last["boottime_ns"]) - read_at.boottime_ns) / 1e6
    return 0 <= age_ms <= MAX_INTERVAL_MS


def _change(
    before: DiskCounters | None, last: dict[str, Any], device: HostDevice, read_at: Stamp
) -> dict[str, int] | GapReason:
    """The columns of an interval, or why it has no figures."""
    if before is None or device.disk is None:
        return GapReason.FIRST
    if last["boot_id"] != read_at.boot_id:
        return GapReason.REBOOTED
    if last["seq"] != device.seq:
        return GapReason.REPLACED
    dt_ms = (read_at.boottime_ns - last["boottime_ns"]) // 1_000_000
    if dt_ms <= 0:
        return GapReason.CLOCK
    if dt_ms > MAX_INTERVAL_MS:
        return GapReason.SILENT
    moved = subtract(before, device.disk)
    if moved is None:
        return GapReason.RESET
    if not is_plausible(moved, dt_ms):
        return GapReason.IMPLAUSIBLE
    return {"dt_ms": dt_ms, **moved._asdict()}


def _row(
    pk: int,
    device: HostDevice,
    read_at: Stamp,
    at: datetime,
    change: dict[str, int] | GapReason,
) -> tuple[Any, ...]:
    is_gap = isinstance(change, GapReason)
    values: dict[str, Any] = {} if isinstance(change, GapReason) else dict(change)
    values |= {
        "device_id": pk,
        "at": at,
        "boot_id": read_at.boot_id,
        "boottime_ns": read_at.boottime_ns,
        "seq": device.seq,
        "counters": Jsonb(device.disk),
        "gap": change if is_gap else "",
    }
    return tuple(values.get(name) for name in LATEST)

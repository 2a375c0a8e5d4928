"""The figures of an explanation, read from samples, inventories and curves; nothing is judged
here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

import numpy as np

from storage.analysis.disk_activity import DisksThen, array_members, busy_courses, disks_then
from storage.analysis.disk_condition import LOOKED_AT, slow_disk
from storage.analysis.disk_users import UsedDisk
from storage.analysis.size_curve import chosen_size
from storage.analysis.slowness.course import (
    LOOKED_BACK,
    STEP_SECONDS,
    ReadMinute,
    busy_since,
    read_course,
)
from storage.analysis.slowness.explanation import (
    CacheOffer,
    Lack,
    ReadSpeed,
    SpeedState,
    Timing,
)
from storage.health.slowness import BUSY_FOR, LEAST_READS_PER_SECOND, NAMED, is_saturated
from storage.inventory.facts import HostFacts
from storage.metrics.samples.aggregate import aggregate
from storage.metrics.samples.chunk_store import VOLUMES
from storage.models import Host, Volume
from storage.models.host import silent_seconds
from storage.stored_inventory import inventory_of
from storage.volumes.cache_wish import no_size, offered_sizes
from storage.volumes.ownership import owned_since
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

READS: Final = VOLUMES.only("dt_ms", "reads", "read_ms")
FIRST_MODE: Final = "writethrough"


@dataclass(frozen=True, slots=True)
class SlowFigures:
    """What `explain` is given, and what its words need beside it: `rows` are the volumes that it
    may name, by primary key, `disk_names` the disk with the members of its array."""

    volume_id: int | None
    host: Host | None
    timing: Timing
    speed: ReadSpeed | None = None
    disk: UsedDisk | None = None
    disk_names: tuple[str, ...] = ()
    offers: Mapping[int, CacheOffer] = field(default_factory=dict)
    lacks: tuple[Lack, ...] = ()
    rows: Mapping[int, VolumeSnapshot] = field(default_factory=dict)


def of_volume(row: VolumeSnapshot, at: datetime, *, for_customer: bool = False) -> SlowFigures:
    """The volume up to that moment. For its customer nothing of another one's time counts, and
    neither the rows of neighbours nor advice are read."""
    since = owned_since(row.volume) if for_customer else None
    start = max(at - LOOKED_BACK, since) if since is not None else at - LOOKED_BACK
    minutes = _read_minutes(row.volume, start, at)
    course = read_course(minutes, row.slow_limit.ms)
    lacks: list[Lack] = []
    looked_at = course.ended or at
    if course.ended is None or at - course.ended > timedelta(seconds=silent_seconds()):
        state = SpeedState.UNKNOWN
        lacks.append(Lack.SAMPLES)
    elif course.spell is not None:
        state = SpeedState.SLOW if course.is_now else SpeedState.OVER
        looked_at = course.spell.last
    else:
        state = SpeedState.WELL
    near = [each for each in minutes if looked_at - LOOKED_AT < each.at <= looked_at]
    reads, seconds = sum(each.reads for each in near), sum(_seconds(each) for each in near)
    if state == SpeedState.WELL and reads < LEAST_READS_PER_SECOND * seconds:
        lacks.append(Lack.READS)
    read_ms = sum(each.read_ms for each in near) / reads if reads else None
    spell = course.spell
    timing = Timing(
        state,
        looked_at,
        spell.begun if spell is not None else None,
        spell.last if spell is not None and state == SpeedState.OVER else None,
        course.is_older,
    )
    speed = ReadSpeed(read_ms, row.slow_limit.ms)
    if row.host is None or row.facts is None:
        lacks.append(Lack.INVENTORY)
        return SlowFigures(row.volume.pk, row.host, timing, speed, lacks=tuple(lacks))
    then = disks_then(row.host, row.facts, max(start, looked_at - LOOKED_AT), looked_at)
    disk = _waited_for(row.volume.pk, then)
    known = {} if for_customer else {row.volume.pk: row}
    rows = {} if for_customer else _rows(disk, then, row.host, row.facts, known)
    offers = _offers(row.volume.pk, disk, rows, at)
    names = _names(disk, row.facts)
    return SlowFigures(
        row.volume.pk, row.host, timing, speed, disk, names, offers, tuple(lacks), rows
    )


def of_disk(host: Host, name: str, at: datetime) -> SlowFigures | None:
    """The disk or array of that name, or the array that it is a member of, up to that moment; None
    where volumes lie on no such disk."""
    facts = inventory_of(host)
    if facts is None:
        return SlowFigures(None, host, Timing(SpeedState.UNKNOWN, at), lacks=(Lack.INVENTORY,))
    then = disks_then(host, facts, at - BUSY_FOR, at)
    members = array_members(facts, [each.name for each in then.disks])
    whole = next((array for array, parts in members.items() if name in parts), name)
    disk = next((each for each in then.disks if each.name == whole), None)
    if disk is None:
        return None
    limit = host.busy_percent / 100
    start = at - LOOKED_BACK
    course = busy_courses(host, facts, start, at, STEP_SECONDS)[disk.name]
    shares = [None if np.isnan(each) else float(each) for each in course]
    since, is_older = busy_since(shares, start, limit)
    state = (
        SpeedState.SLOW
        if is_saturated(disk.busy, disk.in_flight, host.busy_percent)
        else SpeedState.WELL
    )
    lacks = () if disk.busy is not None else (Lack.SAMPLES,)
    if lacks:
        state = SpeedState.UNKNOWN
    timing = Timing(state, at, since if state == SpeedState.SLOW else None, None, is_older)
    rows = _rows(disk, then, host, facts, {})
    offers = _offers(None, disk, rows, at)
    names = _names(disk, facts)
    return SlowFigures(None, host, timing, None, disk, names, offers, lacks, rows)


def _seconds(minute: ReadMinute) -> float:
    return minute.lasted.total_seconds()


def _read_minutes(volume: Volume, start: datetime, end: datetime) -> list[ReadMinute]:
    parts = aggregate([volume.pk], start, end, kind=READS, step=STEP_SECONDS)
    return [
        ReadMinute(
            datetime.fromtimestamp(each.ended, UTC),
            timedelta(seconds=each.ended - each.began),
            each.sums.reads,
            each.sums.read_ms,
        )
        for each in sorted(parts, key=lambda each: each.n)
    ]


def _waited_for(volume_id: int, then: DisksThen) -> UsedDisk | None:
    """The busiest HDD that it uses; an SSD only where more of its I/O is under way there."""
    hdd = slow_disk(volume_id, then)
    ssds = [each for each in then.disks if each.is_fast and _in_flight(volume_id, each)]
    ssd = max(ssds, key=lambda each: _in_flight(volume_id, each), default=None)
    if ssd is None or (
        hdd is not None and _in_flight(volume_id, hdd) >= _in_flight(volume_id, ssd)
    ):
        return hdd
    return ssd


def _in_flight(volume_id: int, disk: UsedDisk) -> float:
    return sum(user.in_flight for user in disk.users if user.volume_id == volume_id)


def _names(disk: UsedDisk | None, facts: HostFacts) -> tuple[str, ...]:
    if disk is None:
        return ()
    return (disk.name, *chain.from_iterable(array_members(facts, [disk.name]).values()))


def _rows(
    disk: UsedDisk | None,
    then: DisksThen,
    host: Host,
    facts: HostFacts,
    known: Mapping[int, VolumeSnapshot],
) -> dict[int, VolumeSnapshot]:
    """Of the first users of the disk, with what is `known` already."""
    users = disk.users[:NAMED] if disk is not None else ()
    wanted = [each.volume_id for each in users if each.volume_id not in known]
    volumes = [then.volumes[each] for each in wanted if each in then.volumes]
    rows = snapshots_of(volumes, {host.pk: facts}) if volumes else []
    return {**known, **{row.volume.pk: row for row in rows}}


def _offers(
    volume_id: int | None,
    disk: UsedDisk | None,
    rows: Mapping[int, VolumeSnapshot],
    at: datetime,
) -> dict[int, CacheOffer]:
    """Of the volume, and of the one that uses its disk most beside it. No cache helps a volume
    whose reads wait for an SSD."""
    if disk is None or disk.is_fast:
        return {}
    others = [each.volume_id for each in disk.users if each.volume_id != volume_id]
    asked = dict.fromkeys([*others[:1], *([volume_id] if volume_id is not None else [])])
    return {each: _offer(rows[each], at) for each in asked if each in rows}


def _offer(row: VolumeSnapshot, at: datetime) -> CacheOffer:
    """As the form of a cache chooses."""
    sizes = offered_sizes(row)
    choice = chosen_size(row, sizes, at)
    mode = row.cache.mode if row.cache is not None else FIRST_MODE
    refusal = row.refusal(row.wish) or (None if sizes else no_size(row))
    return CacheOffer(
        row.volume.pk,
        row.cache is not None,
        mode,
        choice.size_bytes if choice is not None else None,
        choice.reason if choice is not None else "",
        refusal.message if refusal is not None else "",
    )

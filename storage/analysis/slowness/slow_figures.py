"""The figures of an explanation, read from samples, inventories and curves; nothing is judged
here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

import numpy as np

from storage.analysis.disk_activity import DisksThen, array_members, busy_courses, disks_then
from storage.analysis.disk_condition import LOOKED_AT, slow_disk, slow_span
from storage.analysis.disk_users import UsedDisk, disk_map
from storage.analysis.size_curve import chosen_size
from storage.analysis.slowness.course import (
    LOOKED_BACK,
    STEP_SECONDS,
    ReadCourse,
    ReadMinute,
    busy_since,
)
from storage.analysis.slowness.explanation import (
    CacheOffer,
    Lack,
    ReadSpeed,
    SpeedState,
    Timing,
)
from storage.analysis.slowness.read_courses import read_courses
from storage.health.slowness import LEAST_READS_PER_SECOND, NAMED, is_saturated
from storage.inventory.facts import HostFacts
from storage.models import Host
from storage.models.host import silent_seconds
from storage.stored_inventory import inventory_of
from storage.volumes.cache_wish import no_size, offered_sizes
from storage.volumes.ownership import owned_since
from storage.volumes.slow_limit import SlowLimits
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

FIRST_MODE: Final = "writethrough"


@dataclass(frozen=True, slots=True)
class SlowFigures:
    """What `explain` is given, and what its words need beside it: `rows` are the volumes that it
    may name, by primary key, `disk_names` the disk with the members of its array, `waiting` the
    volumes that are slow because of a disk that is asked about."""

    volume_id: int | None
    host: Host | None
    timing: Timing
    speed: ReadSpeed | None = None
    disk: UsedDisk | None = None
    disk_names: tuple[str, ...] = ()
    offers: Mapping[int, CacheOffer] = field(default_factory=dict)
    lacks: tuple[Lack, ...] = ()
    rows: Mapping[int, VolumeSnapshot] = field(default_factory=dict)
    waiting: tuple[int, ...] = ()


def of_volume(row: VolumeSnapshot, at: datetime, *, for_customer: bool = False) -> SlowFigures:
    """The volume up to that moment. For its customer nothing of another one's time counts, and
    neither the rows of neighbours nor advice are read."""
    since = owned_since(row.volume) if for_customer else None
    limit_ms = row.slow_limit.ms
    course = read_courses({row.volume.pk: limit_ms}, at, since=since)[row.volume.pk]
    timing, speed, lacks = _timed(course, at, limit_ms)
    if row.host is None or row.facts is None:
        lacks.append(Lack.INVENTORY)
        return SlowFigures(row.volume.pk, row.host, timing, speed, lacks=tuple(lacks))
    start, end = timing.looked_from or at - LOOKED_AT, timing.looked_at
    then = disks_then(row.host, row.facts, max(start, since) if since else start, end)
    disk = _waited_for(row.volume.pk, then)
    known = {} if for_customer else {row.volume.pk: row}
    rows = {} if for_customer else _rows(disk, then, row.host, row.facts, known)
    offers = _offers(row.volume.pk, disk, rows, at)
    names = _names(disk, row.facts)
    return SlowFigures(
        row.volume.pk, row.host, timing, speed, disk, names, offers, tuple(lacks), rows
    )


def _timed(course: ReadCourse, at: datetime, limit_ms: int) -> tuple[Timing, ReadSpeed, list[Lack]]:
    """When it was slow and how slow, and what the course lacks. Without figures of this moment
    their last ones count."""
    spell, ended = course.spell, course.ended
    lasting = spell if spell is not None and spell.is_lasting else None
    if ended is None:
        return Timing(SpeedState.UNKNOWN, at), ReadSpeed(None, limit_ms), [Lack.SAMPLES]
    lacks: list[Lack] = []
    state = SpeedState.WELL
    if at - ended > timedelta(seconds=silent_seconds()):
        state = SpeedState.UNKNOWN
        lacks.append(Lack.SAMPLES)
    elif course.is_slow:
        state = SpeedState.SLOW
    elif lasting is not None:
        state = SpeedState.OVER
    if spell is None:
        read_from, looked_from, looked_at = ended - LOOKED_AT, ended - LOOKED_AT, ended
    else:
        read_from, looked_at = spell.begun, spell.last
        looked_from, _ = slow_span(spell.begun, looked_at)
    minutes = course.between(read_from, looked_at)
    reads, seconds = sum(each.reads for each in minutes), sum(_seconds(each) for each in minutes)
    if spell is None and reads < LEAST_READS_PER_SECOND * seconds:
        lacks.append(Lack.READS)
    timing = Timing(
        state,
        looked_at,
        since=lasting.begun if lasting is not None else None,
        until=looked_at if state == SpeedState.OVER else None,
        is_older=lasting is not None and lasting.is_older,
        is_ebbing=state == SpeedState.SLOW and not course.is_now,
        looked_from=looked_from,
    )
    begun = max(read_from, minutes[0].at - minutes[0].lasted) if minutes else read_from
    average_ms = course.average_ms(read_from, looked_at)
    return timing, ReadSpeed(average_ms, limit_ms, looked_at - begun), lacks


def of_disk(host: Host, name: str, at: datetime) -> SlowFigures | None:
    """The disk or array of that name, or the array that it is a member of, up to that moment; None
    where volumes lie on no such disk. Its figures are of the last minutes, since it became busy."""
    facts = inventory_of(host)
    if facts is None:
        return SlowFigures(None, host, Timing(SpeedState.UNKNOWN, at), lacks=(Lack.INVENTORY,))
    names = disk_map(facts).names
    members = array_members(facts, names)
    whole = next((array for array, parts in members.items() if name in parts), name)
    if whole not in names:
        return None
    start = at - LOOKED_BACK
    course = busy_courses(host, facts, start, at, STEP_SECONDS)[whole]
    shares = [None if np.isnan(each) else float(each) for each in course]
    begun, is_older = busy_since(shares, start, host.busy_percent / 100)
    looked_from = at - LOOKED_AT if begun is None else slow_span(begun, at)[0]
    then = disks_then(host, facts, looked_from, at)
    disk = next(each for each in then.disks if each.name == whole)
    waiting = _waiting(disk, then, host, at)
    timing = Timing(SpeedState.WELL, at, looked_from=looked_from)
    if disk.busy is None:
        timing = Timing(SpeedState.UNKNOWN, at)
    elif waiting or is_saturated(disk.busy, disk.in_flight, host.busy_percent):
        since = begun or min(waiting.values(), default=looked_from)
        timing = replace(timing, state=SpeedState.SLOW, since=since, is_older=is_older)
    rows = _rows(disk, then, host, facts, {}, list(waiting)[:NAMED])
    return SlowFigures(
        None,
        host,
        timing,
        disk=disk,
        disk_names=_names(disk, facts),
        offers=_offers(None, disk, rows, at),
        lacks=(Lack.SAMPLES,) if disk.busy is None else (),
        rows=rows,
        waiting=tuple(waiting),
    )


def _waiting(disk: UsedDisk, then: DisksThen, host: Host, at: datetime) -> dict[int, datetime]:
    """The volumes whose reads are slow at that moment and wait for this disk, the greatest user
    first, with since when."""
    limits = SlowLimits()
    own = [each.volume_id for each in disk.users if slow_disk(each.volume_id, then) == disk]
    known = {each: then.volumes[each] for each in own if each in then.volumes}
    courses = read_courses({pk: limits.of_volume(each, host).ms for pk, each in known.items()}, at)
    return {
        pk: course.current.begun
        for pk, course in courses.items()
        if course.current is not None and course.is_slow and course.is_now
    }


def _seconds(minute: ReadMinute) -> float:
    return minute.lasted.total_seconds()


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
    also: Iterable[int] = (),
) -> dict[int, VolumeSnapshot]:
    """Of the first users of the disk and those `also` wanted, with what is `known` already."""
    users = disk.users[:NAMED] if disk is not None else ()
    named = dict.fromkeys((*(each.volume_id for each in users), *also))
    wanted = [each for each in named if each not in known]
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
        f"{refusal.message} {refusal.correction}".strip() if refusal is not None else "",
    )

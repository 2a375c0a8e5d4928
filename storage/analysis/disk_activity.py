"""What the disks of a host did in a time, and which volumes had them do it: read from samples and
divided by `storage.analysis.disk_users`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt
from django.db.models import Q

from storage.analysis.disk_users import (
    DiskTimes,
    UsedDisk,
    VolumeTimes,
    disk_map,
    used_disks,
)
from storage.inventory.facts import HostFacts
from storage.metrics.rates import CachedBy
from storage.metrics.rates.figure_columns import rates, ratio
from storage.metrics.samples.aggregate import columns_of, intervals
from storage.metrics.samples.chunk_store import DEVICES, VOLUMES
from storage.metrics.samples.codec import NULL
from storage.metrics.samples.columns import ENDED
from storage.metrics.samples.interval_table import SECOND, IntervalTable, Line, microseconds
from storage.models import Device, Host, Placement, Volume

TOP: Final = 5
"""Volumes of a disk that are shown one by one; the others are added up."""
COURSE_POINTS: Final = 100
"""A course is read in no more buckets than these: each costs a row for each volume."""
TIMES: Final = VOLUMES.only(
    "write_sectors",
    "slow_read_sectors",
    "slow_write_sectors",
    "slow_read_ms",
    "slow_write_ms",
    "fast_read_ms",
    "fast_write_ms",
)

BUSY: Final = DEVICES.only("dt_ms", "busy_ms")
DISK_TIMES: Final = DEVICES.only("dt_ms", "busy_ms", "reads", "writes", "read_ms", "write_ms")
OWN: Final = DEVICES.only(
    "dt_ms",
    "reads",
    "writes",
    "read_sectors",
    "write_sectors",
    "read_ms",
    "write_ms",
    "weighted_ms",
)


@dataclass(frozen=True, slots=True)
class TierCourse:
    """How busy the disks of a tier were, by bucket: all on average, and the busiest of them; None
    where none was counted."""

    average: Sequence[float | None]
    most: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class DiskCourse:
    """A disk over a time, figures by bucket, None where nothing is known. `top` are the volumes
    that it had most I/O of under way, with how many in each bucket; `others` are those of all
    further volumes together, `unexplained` those of none."""

    top: Sequence[tuple[Volume, Sequence[float | None]]]
    others: Sequence[float | None]
    unexplained: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class DisksThen:
    """What the disks did from `start` to `end`, with the volumes by primary key."""

    start: datetime
    end: datetime
    disks: tuple[UsedDisk, ...]
    volumes: Mapping[int, Volume]


def disks_then(host: Host, facts: HostFacts, start: datetime, end: datetime) -> DisksThen:
    """Every disk and its users from `start` to `end`."""
    there, lv_uuids = disk_map(facts), _lv_uuids(host, start, end)
    step = ceil((end - start).total_seconds())
    volumes = _volumes(lv_uuids, start, end, step).get(0, ())
    disks = _disks(host, facts, there.names, start, end, step).get(0, {})
    used = used_disks(there, lv_uuids, volumes, disks)
    users = {user.volume_id for disk in used for user in disk.users}
    return DisksThen(start, end, used, Volume.objects.in_bulk(users))


def busy_courses(
    host: Host, facts: HostFacts, start: datetime, end: datetime, step: int
) -> dict[str, npt.NDArray[np.float64]]:
    """By disk or array that volumes lie on, and by member of such an array: the share of each
    bucket in which it had I/O under way; not a number where nothing is known."""
    names = disk_map(facts).names
    members = array_members(facts, names)
    rows = {name: row for row, name in enumerate({*names, *chain.from_iterable(members.values())})}
    row_by_device = {pk: rows[name] for pk, name in _devices(host, rows).items()}
    count = ceil((end - start).total_seconds() / step)
    busy = _busy_shares(row_by_device, len(rows), start, end, step, count)
    _fill_in_arrays(busy, {rows[name]: [rows[part] for part in of] for name, of in members.items()})
    return {name: busy[row] for name, row in rows.items()}


def own_course(
    host: Host, name: str, start: datetime, end: datetime, step: int
) -> dict[str, npt.NDArray[np.float64]]:
    """The load of the disk or array of that name from all its users: the figures of
    `storage.metrics.rates.figure_columns.rates`, and as `queue` how many I/Os were under way on
    average. By bucket; not a number where nothing is known, as the times of an array before Linux
    5.10."""
    devices = list(Device.objects.filter(host=host, name=name).values_list("pk", flat=True))
    table = intervals(devices, start, end, kind=OWN, step=step)
    if not len(table):
        return {}
    # Another boot may have given the name to another device: one of them at a time.
    of = columns_of(replace(table, subjects=np.zeros_like(table.subjects)), start, step)
    counts = of.counts
    is_timed = counts["read_ms"] + counts["write_ms"] > 0
    is_timed |= counts["reads"] + counts["writes"] == 0
    figures = rates(counts) | {"queue": ratio(counts["weighted_ms"], counts["dt_ms"])}
    count = ceil((end - start).total_seconds() / step)
    courses = {name: np.full(count, np.nan) for name in figures}
    for name, figure in figures.items():
        is_time = name in ("read_ms", "write_ms", "queue")
        courses[name][of.numbers] = np.where(is_timed | (not is_time), figure, np.nan)
    return courses


def fleet_courses(start: datetime, end: datetime, step: int) -> tuple[TierCourse, TierCourse]:
    """Of the disks of all hosts on which volumes lie, an array as one: the slow ones, and the fast
    ones."""
    used = ~Q(vg_name="") | Q(parts__vg_name__gt="")
    counted = Device.objects.counted_once().filter(used).distinct()
    tiers = dict(counted.values_list("pk", "is_fast"))
    parts = dict(Device.objects.filter(part_of__in=tiers).values_list("pk", "part_of"))
    count = ceil((end - start).total_seconds() / step)
    row_by_device = {pk: row for row, pk in enumerate({*tiers, *parts})}
    busy = _busy_shares(row_by_device, len(row_by_device), start, end, step, count)
    members: dict[int, list[int]] = defaultdict(list)
    for part, whole in parts.items():
        members[row_by_device[whole or 0]].append(row_by_device[part])
    _fill_in_arrays(busy, members)
    slow, fast = (
        _tier_course(busy[[row_by_device[pk] for pk, each in tiers.items() if each is is_fast]])
        for is_fast in (False, True)
    )
    return slow, fast


def _busy_shares(
    row_by_device: Mapping[int, int],
    lines: int,
    start: datetime,
    end: datetime,
    step: int,
    count: int,
) -> npt.NDArray[np.float64]:
    """`lines` rows, to which `row_by_device` assigns the devices, with a column for each bucket;
    not a number where nothing is known."""
    table = intervals(row_by_device, start, end, kind=BUSY, step=step)
    rows = np.array([row_by_device[pk] for pk in table.subjects.tolist()], np.int64)
    cells = rows * count + _numbers(table, start, step)
    size = lines * count
    busy_ms, dt_ms = (
        np.bincount(cells, _known(table, name), size) for name in ("busy_ms", "dt_ms")
    )
    shares = np.full(size, np.nan)
    np.divide(busy_ms, dt_ms, out=shares, where=dt_ms > 0)
    capped: npt.NDArray[np.float64] = np.minimum(1.0, shares).reshape(lines, count)
    return capped


def _fill_in_arrays(busy: npt.NDArray[np.float64], members: Mapping[int, Sequence[int]]) -> None:
    """What kernels before 5.10 do not count of an array, its busiest member tells; by numbers of
    lines."""
    for row, own in members.items():
        busy[row] = np.where(busy[row] == 0, np.fmax.reduce(busy[[row, *own]]), busy[row])


def _tier_course(busy: npt.NDArray[np.float64]) -> TierCourse:
    known = ~np.isnan(busy)
    disks = known.sum(axis=0)
    sums, most = (
        np.where(known, busy, 0.0).sum(axis=0),
        np.where(known, busy, 0.0).max(0, initial=0),
    )

    def listed(values: npt.NDArray[np.float64]) -> list[float | None]:
        return [
            value if there else None
            for value, there in zip(values.tolist(), disks.tolist(), strict=True)
        ]

    return TierCourse(listed(sums / np.maximum(1, disks)), listed(most))


def disk_course(
    host: Host, facts: HostFacts, start: datetime, end: datetime, step: int, name: str
) -> DiskCourse:
    """The users of the disk of that name over a time. Where there are many buckets, some together
    are read as one and have the same figures."""
    there, lv_uuids = disk_map(facts), _lv_uuids(host, start, end)
    count = ceil((end - start).total_seconds() / step)
    joined = ceil(count / COURSE_POINTS)
    long = step * joined
    volumes = _volumes(lv_uuids, start, end, long)
    disks = _disks(host, facts, there.names, start, end, long)
    by_bucket = {
        n: _named(used_disks(there, lv_uuids, volumes.get(n, ()), disks.get(n, {})), name)
        for n in {*volumes, *disks}
    }
    buckets = [by_bucket.get(n // joined) for n in range(count)]
    totals: dict[int, float] = defaultdict(float)
    for disk in by_bucket.values():
        for user in disk.users if disk is not None else ():
            totals[user.volume_id] += user.in_flight
    top = sorted(totals, key=lambda each: (-totals[each], each))[:TOP]
    known = Volume.objects.in_bulk(top)
    further = totals.keys() - known.keys()
    return DiskCourse(
        top=[
            (known[each], [_of_volumes(disk, {each}) for disk in buckets])
            for each in top
            if each in known
        ],
        others=[_of_volumes(disk, further) for disk in buckets],
        unexplained=[None if disk is None else disk.other_in_flight for disk in buckets],
    )


def _named(disks: Iterable[UsedDisk], name: str) -> UsedDisk | None:
    return next((disk for disk in disks if disk.name == name), None)


def _of_volumes(disk: UsedDisk | None, volume_ids: Collection[int]) -> float | None:
    if disk is None:
        return None
    return sum(user.in_flight for user in disk.users if user.volume_id in volume_ids)


def _lv_uuids(host: Host, start: datetime, end: datetime) -> dict[int, str]:
    """The volumes that were on the host in the time, and their LVs there."""
    there = Placement.objects.filter(
        Q(until=None) | Q(until__gt=start), host=host, since__lt=end, lv_uuid__isnull=False
    )
    return {volume_id: str(uuid) for volume_id, uuid in there.values_list("volume_id", "lv_uuid")}


def _volumes(
    volume_ids: Collection[int], start: datetime, end: datetime, step: int
) -> dict[int, list[VolumeTimes]]:
    """By number of the bucket."""
    table = intervals(volume_ids, start, end, kind=TIMES, step=step)
    volumes: dict[int, list[VolumeTimes]] = defaultdict(list)
    if not len(table):
        return volumes
    subjects, subject = np.unique(table.subjects, return_inverse=True)
    numbers, number = np.unique(_numbers(table, start, step), return_inverse=True)
    slow_ms, fast_ms, is_estimate = _legs(table)
    group = number * len(subjects) + subject
    size = len(numbers) * len(subjects)
    dt_ms, slow, fast, guessed = (
        np.bincount(group, weights, size).tolist()
        for weights in (table["dt_ms"], slow_ms, fast_ms, is_estimate)
    )
    for n in np.flatnonzero(np.bincount(group, minlength=size)).tolist():
        bucket, volume = divmod(n, len(subjects))
        volumes[int(numbers[bucket])].append(
            VolumeTimes(
                volume_id=int(subjects[volume]),
                dt_ms=round(dt_ms[n]),
                slow_ms=slow[n],
                fast_ms=fast[n],
                is_estimate=guessed[n] > 0,
            )
        )
    return volumes


def _numbers(table: IntervalTable, start: datetime, step: int) -> Line:
    """The buckets in which intervals ended."""
    numbers: Line = (table.line(ENDED) - microseconds(start) - 1) // (step * SECOND)
    return numbers


def _known(table: IntervalTable, name: str) -> Line:
    """The figures of that name, 0 where they are not known."""
    values: Line = np.where(table[name] == NULL, 0, table[name])
    return values


def _legs(table: IntervalTable) -> tuple[Line, Line, npt.NDArray[np.bool_]]:
    """The I/O time of each interval on the volume's own disks and on those of its cache, and where
    the first is an estimate. An agent of an earlier release does not count the legs of a cache:
    then a read that the cache did not serve took all of the time that the guest waited for reads,
    and writes took as much of theirs as went to the disk."""
    known = partial(_known, table)
    is_uncached = table["technology"] == CachedBy.NONE
    is_counted = table["slow_read_ms"] != NULL
    written = known("slow_write_sectors") / np.maximum(1, known("write_sectors"))
    guessed = known("read_ms") * (known("slow_read_sectors") > 0)
    guessed = guessed + known("write_ms") * np.minimum(1.0, written)
    counted = known("slow_read_ms") + known("slow_write_ms")
    own = known("read_ms") + known("write_ms")
    slow = np.where(is_uncached, own, np.where(is_counted, counted, guessed))
    fast = np.where(is_uncached, 0, known("fast_read_ms") + known("fast_write_ms"))
    return slow, fast, ~(is_uncached | is_counted)


def array_members(facts: HostFacts, names: Collection[str]) -> dict[str, list[str]]:
    """The disks of those of these names that are arrays."""
    return {
        array.name: [member.name for member in array.members]
        for array in facts.arrays
        if array.name in names
    }


def _devices(host: Host, names: Collection[str]) -> dict[int, str]:
    """Those of these names, by primary key: several where another boot gave a name to another
    one."""
    there = Device.objects.filter(host=host, name__in=names)
    return dict(there.values_list("pk", "name"))


def _disks(
    host: Host, facts: HostFacts, names: Collection[str], start: datetime, end: datetime, step: int
) -> dict[int, dict[str, DiskTimes]]:
    """By number of the bucket and by name. Kernels before 5.10 count neither busy nor I/O time of
    an array: it is as busy as its busiest member, and its I/O time is not known."""
    members = array_members(facts, names)
    wanted = sorted({*names, *chain.from_iterable(members.values())})
    devices = _devices(host, wanted)
    counted: dict[int, dict[str, DiskTimes]] = defaultdict(dict)
    table = intervals(devices, start, end, kind=DISK_TIMES, step=step)
    if not len(table):
        return counted
    place = {pk: wanted.index(name) for pk, name in devices.items()}
    disk = np.array([place[pk] for pk in table.subjects.tolist()], np.int64)
    numbers, number = np.unique(_numbers(table, start, step), return_inverse=True)
    group, size = number * len(wanted) + disk, len(numbers) * len(wanted)
    dt_ms, busy_ms, io_ms, done = (
        np.bincount(group, sum(_known(table, name) for name in added), size)
        for added in (("dt_ms",), ("busy_ms",), ("read_ms", "write_ms"), ("reads", "writes"))
    )
    for n in np.flatnonzero(np.bincount(group, minlength=size)).tolist():
        bucket, row = divmod(n, len(wanted))
        is_measured = io_ms[n] > 0 or not done[n]
        counted[int(numbers[bucket])][wanted[row]] = DiskTimes(
            dt_ms=int(dt_ms[n]),
            io_ms=int(io_ms[n]) if is_measured else None,
            busy_ms=int(busy_ms[n]),
        )
    for by_name in counted.values():
        for array, parts in members.items():
            busy = [by_name[part].busy_ms for part in parts if part in by_name]
            of_array = by_name.get(array)
            if of_array is not None and not of_array.busy_ms and busy:
                by_name[array] = replace(of_array, busy_ms=max(busy))
    return counted

"""Disks that have more to do than they can, and volumes that are slow by it, in the database: who
uses the disk is named. `storage.health` judges, and its `cache_condition_records` keep what is
found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q

from storage.analysis.disk_activity import DisksThen, disks_then
from storage.analysis.disk_users import UsedDisk
from storage.analysis.slowness.course import STEP_SECONDS, ReadCourse
from storage.analysis.slowness.read_courses import read_courses
from storage.health import slowness
from storage.health.cache_condition import (
    DiskLoad,
    is_saturated_ssd,
    ssd_finding,
)
from storage.health.cache_condition_records import ConditionJudgement, fresh_since, keep
from storage.health.host_problems import HealthFinding
from storage.health.slowness import SLOW_AFTER, BusyDisk, DiskShare, SlowSpell
from storage.inventory.device_tree import fast_disks
from storage.inventory.facts import HostFacts
from storage.metrics.rates.disk import WRAP
from storage.models import CacheCondition, Host, HostActivity, LatestSample, Sample
from storage.problems.all_kinds import judged_by
from storage.stored_inventory import inventory_of
from storage.volumes.slow_limit import slow_limit_ms
from storage.volumes.slow_volumes import NOTED_AS, SlowTime

MARKS_KEPT: Final = timedelta(minutes=20)
MARK_EVERY_NS: Final = 240e9
LOOKED_AT: Final = timedelta(minutes=3)
"""Who uses the disk of a slow volume is said of so long."""
FIRST_MINUTE: Final = timedelta(seconds=STEP_SECONDS)
JITTER: Final = timedelta(seconds=5)
"""Clocks of host and panel differ by so much at most: the sample before a slow time may end within
it."""


class _Sampled(NamedTuple):
    """A volume by its last sample."""

    volume_id: int
    host_id: int
    vg_name: str
    lv_name: str
    label: str
    at: datetime
    reads: int
    read_ms: int
    limit_ms: int


def judge_volumes(now: datetime) -> None:
    """Which volumes are slow. Only those that may be are looked at, so that a round every minute is
    cheap."""
    before = CacheCondition.objects.filter(noted__has_key="slow")
    may_be = _may_be_slow(before.values_list("volume_id", flat=True), now)
    looked_at = {each.volume_id: each for each in may_be}
    courses = read_courses({pk: each.limit_ms for pk, each in looked_at.items()}, now)
    judgements: dict[int, ConditionJudgement] = {}
    slow: dict[int, list[tuple[_Sampled, ReadCourse, SlowSpell]]] = {}
    for volume_id, course in courses.items():
        each, spell = looked_at[volume_id], course.current
        kept = spell.to_json() if spell is not None else None
        noted: dict[str, Any] = {"slow": kept, NOTED_AS: None}
        judgements[volume_id] = ConditionJudgement(each.host_id, [], noted)
        if spell is not None and spell.is_lasting:
            average_ms = course.average_ms(spell.begun, spell.last)
            time = SlowTime(spell.begun, spell.last, average_ms, each.limit_ms, course.is_now)
            noted[NOTED_AS] = time.to_json()
            slow.setdefault(each.host_id, []).append((each, course, spell))
    for host in Host.objects.filter(pk__in=slow):
        facts = inventory_of(host)
        times: dict[tuple[datetime, datetime], DisksThen] = {}
        for each, course, spell in slow[host.pk]:
            span = slow_span(spell.begun, spell.last)
            if facts is not None and span not in times:
                times[span] = disks_then(host, facts, *span)
            judgement = judgements[each.volume_id]
            judgement.findings.append(_slow_volume(each, course, spell, times.get(span)))
    keep(judgements, judged_by("read_time"), now)


def _slow_volume(
    each: _Sampled, course: ReadCourse, spell: SlowSpell, then: DisksThen | None
) -> tuple[str, HealthFinding]:
    """The finding with its subject."""
    disk = slow_disk(each.volume_id, then) if then is not None else None
    finding = slowness.slow_volume(
        each.volume_id,
        each.label,
        spell,
        _busy(disk, then, was=not course.is_now) if then is not None and disk is not None else None,
        at=course.ended or each.at,
        average_ms=course.average_ms(spell.begun, spell.last),
        each_ms=each.read_ms / each.reads if each.reads else None,
        limit_ms=each.limit_ms,
    )
    return f"{each.vg_name}/{each.lv_name}", finding


def slow_span(begun: datetime, looked_at: datetime) -> tuple[datetime, datetime]:
    """The time by whose figures a slow time is explained: its own last minutes, without its first
    one, in which the load began. It is long enough for one usual sample of each neighbour, also
    where the volume itself is watched closely."""
    usual = timedelta(seconds=settings.TIERCEL_SAMPLE_SECONDS)
    full = min(begun + FIRST_MINUTE, looked_at - usual) + JITTER
    return max(looked_at - LOOKED_AT, full), looked_at


def _may_be_slow(noted: Iterable[int], now: datetime) -> Iterable[_Sampled]:
    """Of hosts that answer: volumes with a slow sample in the last minutes, and those that were
    noted. A sample without figures has no reads."""
    limit_ms = slow_limit_ms(plan="volume__cache_plan", host="host")
    lately = Sample.objects.filter(
        volume=OuterRef("volume"),
        ts__gt=now - SLOW_AFTER,
        reads__gt=0,
        read_ms__gte=F("reads") * OuterRef("limit_ms"),
    )
    limited = LatestSample.objects.annotate(limit_ms=limit_ms)
    rows = limited.filter(
        Exists(lately) | Q(volume__in=list(noted)),
        at__gte=fresh_since(now),
        volume__placement__until=None,
        volume__placement__host=F("host"),
        volume__placement__missing_since=None,
    ).values_list(
        "volume_id",
        "host_id",
        "volume__placement__vg_name",
        "volume__placement__lv_name",
        "volume__label",
        "at",
        "reads",
        "read_ms",
        "limit_ms",
    )
    return [_Sampled(*row[:6], row[6] or 0, row[7] or 0, row[8]) for row in rows]


def slow_disk(volume_id: int, then: DisksThen) -> UsedDisk | None:
    """The HDD or array that the volume keeps waiting for: the busiest of those that it uses."""
    own = [
        disk
        for disk in then.disks
        if not disk.is_fast and any(user.volume_id == volume_id for user in disk.users)
    ]
    return max(own, key=lambda each: (each.busy or 0.0, each.in_flight), default=None)


def _busy(disk: UsedDisk, then: DisksThen, *, was: bool = False) -> BusyDisk:
    users = [
        DiskShare(user.volume_id, then.volumes[user.volume_id].label, user.share)
        for user in disk.users
        if user.volume_id in then.volumes
    ]
    return BusyDisk(disk.name, disk.busy, users, was)


def judge_disks(now: datetime) -> None:
    """Disks that had more to do than they can, all the time. Which they are and who uses them is
    asked of the inventory, which is large, for such hosts alone."""
    activities = HostActivity.objects.filter(at__gte=fresh_since(now)).exclude(disk_counters={})
    limits = dict(Host.objects.values_list("pk", "busy_percent"))
    rows = CacheCondition.objects.filter(volume=None)
    noted = dict(rows.values_list("host_id", "noted"))
    judgements, busy = {}, {}
    for activity in activities.only("host_id", "at", "disk_counters"):
        marks, loads = _disk_loads(activity, noted.get(activity.host_id, {}))
        judgements[activity.host_id] = ConditionJudgement(activity.host_id, [], {"disks": marks})
        limit = limits[activity.host_id]
        if any(_is_saturated(load, limit) or is_saturated_ssd(load) for load in loads):
            busy[activity.host_id] = loads
    for host in Host.objects.filter(pk__in=busy):
        facts = inventory_of(host)
        if facts is not None:
            findings = judgements[host.pk].findings
            fast = fast_disks(facts)
            findings += [
                (load.disk, ssd_finding(load))
                for load in busy[host.pk]
                if load.disk in fast and is_saturated_ssd(load)
            ]
            limit = host.busy_percent
            if any(_is_saturated(load, limit) and load.disk not in fast for load in busy[host.pk]):
                findings += _saturated_hdds(host, facts, now)
    keep(judgements, judged_by("disk_load"), now, of_hosts=True)


def _is_saturated(load: DiskLoad, limit: int) -> bool:
    lasted_ms = load.seconds * 1000
    return slowness.is_saturated(load.busy_ms / lasted_ms, load.weighted_ms / lasted_ms, limit)


def _saturated_hdds(host: Host, facts: HostFacts, now: datetime) -> list[tuple[str, Any]]:
    """An array is one disk: its members are busy by what its volumes do."""
    then = disks_then(host, facts, now - slowness.BUSY_FOR, now)
    return [
        (disk.name, slowness.saturated_hdd(_busy(disk, then)))
        for disk in then.disks
        if not disk.is_fast and slowness.is_saturated(disk.busy, disk.in_flight, host.busy_percent)
    ]


def _disk_loads(
    activity: HostActivity, noted: Mapping[str, Any]
) -> tuple[list[Any], list[DiskLoad]]:
    """The marks to compare with next time, and what each disk did since the oldest of them."""
    read = activity.disk_counters
    marks = [
        mark
        for mark in noted.get("disks", ())
        if mark["boot_id"] == read["boot_id"]
        and 0 < read["boottime_ns"] - mark["boottime_ns"] <= MARKS_KEPT.total_seconds() * 1e9
    ]
    loads = []
    if marks:
        lasted = (read["boottime_ns"] - marks[0]["boottime_ns"]) / 1e9
        for name, (ios, busy_ms, weighted_ms) in read["disks"].items():
            then = marks[0]["disks"].get(name)
            if then is not None and ios >= then[0]:
                # The kernel prints these two modulo 2^32.
                busy, weighted = (busy_ms - then[1]) % WRAP, (weighted_ms - then[2]) % WRAP
                loads.append(
                    DiskLoad(
                        disk=name,
                        seconds=lasted,
                        ios=ios - then[0],
                        busy_ms=busy,
                        weighted_ms=weighted,
                    )
                )
    if not marks or read["boottime_ns"] - marks[-1]["boottime_ns"] >= MARK_EVERY_NS:
        marks.append(read)
    return marks, loads

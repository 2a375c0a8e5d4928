"""The disks of a host in the database: what they said last, their readings over time, and what
people decide about them (the unit in which a disk counts, its rated endurance, errors that are
known). The table's trigger records each decision; the last one can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from django.db import connection, transaction

from storage.health.host_problems import HealthFinding
from storage.health.smart_endurance import (
    WINDOW,
    Calibration,
    Wear,
    WearForecast,
    WearPoint,
    WrittenCounter,
    advanced,
    counter_of,
    forecast,
    rated_bytes,
    settled,
    wear_of,
)
from storage.health.smart_findings import (
    baseline_after,
    error_counts,
    findings,
)
from storage.health.smart_reading import (
    DISKS_LIMIT,
    DiskAnswer,
    SmartHealth,
    SmartReply,
    decode_smart,
    disk_of,
)
from storage.host_data import clean_text, decoded, storable
from storage.inventory.device_tree import is_part_of
from storage.inventory.facts import HostFacts
from storage.models import DiskReading, DiskRound, Host, PhysicalDisk
from storage.planner.draft import Refused
from storage.stored_inventory import inventory_of

KEPT_WHOLE: Final = timedelta(days=35)
KEPT: Final = timedelta(days=5 * 365)
MOST_DISKS: Final = 2 * DISKS_LIMIT
"""Of one host that are kept, those that are gone too."""
DECIDED: Final = (
    "entered_unit_bytes",
    "entered_rated_bytes",
    "accepted_at",
    "accepted_by",
    "accepted_reason",
)


@dataclass(frozen=True, slots=True)
class DiskCondition:
    """A disk as pages and API show it. `is_gone`: the last round of its host did not find it."""

    disk: PhysicalDisk
    health: SmartHealth | None
    written: WrittenCounter | None
    wear: Wear | None
    endurance_bytes: int | None
    worn_out: WearForecast | None
    findings: tuple[HealthFinding, ...]
    is_gone: bool


def record_smart(host: Host, data: object, boot_id: str, now: datetime) -> int:
    """Store the agent's reply; how many disks said how they are. Raises `BadHostData`."""
    reply = decode_smart(data)
    facts = inventory_of(host)
    # Names of another start of the host may be those of other disks.
    is_now = facts is not None and facts.boot_id == boot_id and not facts.stale
    on_usb = {disk.name for disk in facts.disks if disk.transport == "usb"} if facts else set()
    used = _disks_in_use(facts) if facts else set()
    with transaction.atomic():
        answered = {
            "tried_at": now,
            "answered_at": now,
            "installed": reply.installed,
            "version": reply.version,
            "message": reply.message,
        }
        rows = PhysicalDisk.objects.select_for_update().filter(host=host)
        known = {disk.identity: disk for disk in rows}
        # A scan that fails finds nothing, and a host that has lost all its disks says nothing.
        is_complete = reply.installed and not reply.message and bool(reply.disks or not known)
        if is_complete:
            answered["complete_at"] = now
        before = DiskRound.objects.filter(host=host).first()
        DiskRound.objects.update_or_create(host=host, defaults=answered)
        # Of two paths to one disk the first one counts. Those that say who they are come first:
        # one that says nothing may have the name that one of them had.
        seen: set[str] = set()
        for answer in sorted(reply.disks, key=lambda each: each.health is None):
            identity = _identity(answer, known, seen)
            if identity not in seen:
                seen.add(identity)
                disk = known.get(identity) or PhysicalDisk(host=host, identity=identity)
                if is_now and facts is not None and (matched := disk_of(facts, answer)):
                    # Its serial number says which one it is; a controller's name does not.
                    answer = replace(answer, name=matched.name)
                if is_now:
                    may_still = disk.may_leave and answer.name not in used
                    disk.may_leave = answer.name in on_usb or may_still
                _store(disk, answer, boot_id, now)
        places = {f"@{each.place}" for each in reply.disks if each.health is not None}
        PhysicalDisk.objects.filter(host=host, identity__in=places - seen).delete()
        if is_complete:
            complete_at = None if before is None else before.complete_at
            missed = [disk for identity, disk in known.items() if identity not in seen]
            _note_gone(missed, reply, complete_at, now)
        _forget_longest_gone(host)
        for condition in conditions_of(host, now):
            _note_findings(condition, now)
    return sum(answer.health is not None for answer in reply.disks)


def _note_gone(
    missed: Iterable[PhysicalDisk], reply: SmartReply, complete_at: datetime | None, now: datetime
) -> None:
    """Disks that the round before found and this one did not. One that another model's name
    stands for now (smartctl was upgraded, say) has the number of a disk that is there."""
    healths = [answer.health for answer in reply.disks if answer.health is not None]
    there = {mark for health in healths for mark in (health.serial, health.wwn) if mark}
    for disk in missed:
        marks = {disk.health.get("serial"), disk.health.get("wwn")} - {"", None}
        was_there = complete_at is None or disk.asked_at >= complete_at
        if marks and not marks & there and was_there and disk.gone_since is None:
            disk.gone_since = now
            disk.save(update_fields=["gone_since"])


def take_out(host: Host, facts: HostFacts, member: str) -> None:
    """A job took `member` out of its array: the disk is there to be pulled, unless it is in use
    otherwise."""
    names = {disk.name for disk in facts.disks if is_part_of(member, disk.name)}
    names -= _disks_in_use(facts)
    PhysicalDisk.objects.filter(host=host, name__in=names, gone_since=None).update(may_leave=True)


def _disks_in_use(facts: HostFacts) -> set[str]:
    """The names of the disks that an array or a volume group has."""
    used = [each.name for array in facts.arrays for each in array.members]
    used += [pv.name for pv in facts.pvs]
    return {disk.name for disk in facts.disks if any(is_part_of(each, disk.name) for each in used)}


def _forget_longest_gone(host: Host) -> None:
    """A host may claim other disks each time."""
    newest = PhysicalDisk.objects.filter(host=host).order_by("-asked_at", "-pk")
    surplus = list(newest.values_list("pk", flat=True)[MOST_DISKS:])
    PhysicalDisk.objects.filter(pk__in=surplus).delete()


def record_failure(host: Host, why: str, now: datetime) -> None:
    """The host could not be asked, or its answer is none; the disks stay as they were."""
    failed = {"tried_at": now, "message": clean_text(why)}
    DiskRound.objects.update_or_create(host=host, defaults=failed)


def _note_findings(condition: DiskCondition, now: datetime) -> None:
    """A finding keeps the moment of its beginning for as long as it lasts."""
    disk = condition.disk
    since = {each["code"]: each["since"] for each in disk.findings}
    noted = [
        finding.to_json(since.get(finding.code, now.isoformat())) for finding in condition.findings
    ]
    if noted != disk.findings:
        disk.findings = noted
        disk.save(update_fields=["findings"])


def _identity(answer: DiskAnswer, known: dict[str, PhysicalDisk], seen: set[str]) -> str:
    """A disk that says nothing now is the one that was last in its place, unless that one was
    `seen` elsewhere."""
    if answer.health is not None and answer.health.key:
        return answer.health.key
    same = [
        disk
        for disk in known.values()
        if (disk.device, disk.kind) == (answer.device, answer.type)
        and disk.health
        and disk.identity not in seen
    ]
    if answer.health is None and same:
        return max(same, key=lambda disk: disk.asked_at).identity
    return f"@{answer.place}"


def _store(disk: PhysicalDisk, answer: DiskAnswer, boot_id: str, now: datetime) -> None:
    disk.name, disk.device, disk.kind = answer.name, answer.device, answer.type
    disk.gone_since, disk.asked_at = None, now
    if answer.state != "unasked" or not disk.state:
        disk.state, disk.message = answer.state, answer.message
    health = answer.health
    if health is None:
        disk.save()
        return
    counts = error_counts(health)
    counter = counter_of(health)
    disk.read_at, disk.health = now, _json(health)
    disk.baseline = baseline_after(disk.baseline, counts)
    if counter is not None:
        before = _calibration(disk)
        after = advanced(before, counter, boot_id, answer.sectors_written, disk.entered_unit_bytes)
        disk.calibration = _json(after)
    disk.save()
    wear = wear_of(health)
    DiskReading.objects.update_or_create(
        disk=disk,
        at=now,
        defaults={
            "counter": "" if counter is None else counter.source,
            "written_raw": None if counter is None else counter.raw,
            "used_percent": None if wear is None else min(wear.percent, 10_000),
            "temperature_celsius": health.temperature_celsius,
            "error_counts": counts,
        },
    )


def conditions_of(host: Host, now: datetime) -> tuple[DiskCondition, ...]:
    """All known disks of a host, by their place; those that are gone last. Two queries."""
    disks = list(PhysicalDisk.objects.filter(host=host).select_related("host__disk_round"))
    readings: dict[int, list[DiskReading]] = {}
    recent = DiskReading.objects.filter(disk__host=host, at__gt=now - WINDOW).order_by("at")
    for reading in recent:
        readings.setdefault(reading.disk_id, []).append(reading)
    made = [condition_of(disk, readings.get(disk.pk, ()), now) for disk in disks]
    return tuple(sorted(made, key=lambda each: (each.is_gone, each.disk.device, each.disk.kind)))


def condition_of(
    disk: PhysicalDisk, readings: Sequence[DiskReading], now: datetime
) -> DiskCondition:
    """`readings` in order of time. A disk that sleeps, or hangs, is shown as it was last."""
    health = decoded(disk.health, SmartHealth, "health") if disk.health else None
    counter = None if health is None else counter_of(health)
    written = (
        None if counter is None else settled(counter, _calibration(disk), disk.entered_unit_bytes)
    )
    wear = None if health is None else wear_of(health)
    endurance = disk.entered_rated_bytes or (None if health is None else rated_bytes(health.model))
    worn_out = None
    if health is not None and health.is_ssd:
        points = [_point(reading, written) for reading in readings]
        worn_out = forecast(points, now, endurance, health.power_on_hours)
    state: Any = disk.state
    answer = DiskAnswer(disk.device, disk.kind, disk.name, state, disk.message, health=health)
    complete_at = disk.host.disk_round.complete_at
    is_gone = complete_at is not None and disk.asked_at < complete_at
    judged: tuple[HealthFinding, ...] = ()
    if not is_gone or _is_missed(disk):
        gone_since = disk.gone_since if is_gone else None
        accepted = disk.baseline if disk.accepted_at is not None else {}
        judged = findings(answer, disk.baseline, wear, worn_out, now, gone_since, accepted)
    return DiskCondition(disk, health, written, wear, endurance, worn_out, judged, is_gone)


def _is_missed(disk: PhysicalDisk) -> bool:
    """Whether it is gone, and no person has accepted that."""
    if disk.gone_since is None or disk.may_leave:
        return False
    return disk.accepted_at is None or disk.accepted_at < disk.gone_since


def _point(reading: DiskReading, written: WrittenCounter | None) -> WearPoint:
    """In the unit as it is known now."""
    same = written is not None and written.source == reading.counter
    unit_bytes = written.unit_bytes if written is not None and same else None
    raw = reading.written_raw
    total = None if raw is None or unit_bytes is None else raw * unit_bytes
    return WearPoint(reading.at, total, reading.used_percent)


def _judge_anew(disk: PhysicalDisk, now: datetime) -> None:
    """What is wrong with it, after a person changed what is known of it."""
    mine = [each for each in conditions_of(disk.host, now) if each.disk.pk == disk.pk]
    for condition in mine:
        _note_findings(condition, now)


@transaction.atomic
def enter(disk: PhysicalDisk, now: datetime, **entered: int | None) -> None:
    """The fields `entered_…` as a person gives them; None forgets one."""
    locked = PhysicalDisk.objects.select_for_update().get(pk=disk.pk)
    for name, value in entered.items():
        setattr(locked, name, value)
    locked.save(update_fields=list(entered))
    _judge_anew(locked, now)


@transaction.atomic
def accept_errors(disk: PhysicalDisk, who: str, reason: str, now: datetime) -> None:
    """A person has looked at the disk: its present errors are the baseline, and if it is gone, that
    is accepted. Raises `Refused` for a disk that has reported nothing yet."""
    locked = PhysicalDisk.objects.select_for_update().get(pk=disk.pk)
    if not locked.health:
        raise Refused(
            "not_read", "The disk's errors have not been read yet.", "Wait for the next reading."
        )
    locked.baseline_before, locked.baseline = locked.baseline, _counts(locked)
    locked.accepted_at, locked.accepted_by, locked.accepted_reason = now, who, reason
    locked.save()
    _judge_anew(locked, now)


def last_decision(disk: PhysicalDisk) -> Any | None:
    """The event of the last change by a person, with the row as it was before; None without."""
    tracked: Any = disk  # the tracker gives it `events`, which no type knows
    return tracked.events.filter(pgh_context__actor__gt="").order_by("-pgh_id").first()


@transaction.atomic
def undo_decision(disk: PhysicalDisk, shown: int, now: datetime) -> None:
    """Take back the last decision, which is the one that a person was `shown` (its `pgh_id`).
    Undone twice it stands again. Raises `Refused`."""
    locked = PhysicalDisk.objects.select_for_update().get(pk=disk.pk)
    event = last_decision(locked)
    if event is None or event.pgh_id != shown:
        raise Refused(
            "stale",
            "The disk was changed again meanwhile, or there is nothing to undo.",
            "Look at its history, and try again.",
        )
    if event.accepted_at != locked.accepted_at:
        before = baseline_after(locked.baseline_before, _counts(locked))
        locked.baseline_before, locked.baseline = locked.baseline, before
    for name in DECIDED:
        setattr(locked, name, getattr(event, name))
    locked.save()
    _judge_anew(locked, now)


def _counts(disk: PhysicalDisk) -> dict[str, int]:
    return error_counts(decoded(disk.health, SmartHealth, "health")) if disk.health else {}


def prune_readings(now: datetime) -> None:
    """Readings older than five weeks stay as one for each day, for five years."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM storage_diskreading AS later USING storage_diskreading AS first"
            " WHERE later.at < %(whole)s AND first.disk_id = later.disk_id"
            " AND first.at >= date_trunc('day', later.at, 'UTC') AND first.at < later.at",
            {"whole": now - KEPT_WHOLE},
        )
    DiskReading.objects.filter(at__lt=now - KEPT).delete()


def _calibration(disk: PhysicalDisk) -> Calibration:
    return decoded(disk.calibration, Calibration, "calibration")


def _json(value: SmartHealth | Calibration) -> Any:
    return storable(msgspec.json.decode(msgspec.json.encode(value)))

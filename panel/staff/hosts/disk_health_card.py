"""The card that shows what the disks of a host say of their own health: its rows and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from storage.formatting import NOTHING, counted, size
from storage.health.smart_findings import COUNTS, DiskFinding, error_counts
from storage.health.smart_reading import DiskAnswer, disk_of
from storage.health.smart_records import DiskCondition, conditions_of
from storage.inventory.facts import HostFacts
from storage.models import DiskRound, Host, PhysicalDisk

Tone = Literal["ok", "warning", "error", "quiet"]
SILENT: Final = {
    "standby": "asleep, not woken",
    "hung": "does not answer",
    "slow": "did not answer in time",
    "failed": "cannot be read",
}


@dataclass(frozen=True, slots=True)
class DiskHealthRow:
    """One disk in words; `worn_out` and `accepted` are sentences or "". `wear` is a percentage or
    None."""

    key: str
    name: str
    model: str
    serial: str
    tone: Tone
    health: str
    findings: tuple[DiskFinding, ...]
    wear: int | None
    written: str
    written_why: str
    worn_out: str
    assumption: str
    errors: str
    accepted: str
    temperature: str
    read_at: datetime | None


@dataclass(frozen=True, slots=True)
class DiskHealthCard:
    """`note` says why there are no rows, or why some are old."""

    rows: tuple[DiskHealthRow, ...]
    note: str
    asked_at: datetime | None


def disk_health(host: Host, facts: HostFacts, now: datetime) -> DiskHealthCard:
    last = DiskRound.objects.filter(host=host).first()
    conditions = [each for each in conditions_of(host, now) if not each.is_gone]
    rows = tuple(row_of(facts, each) for each in conditions)
    return DiskHealthCard(rows, _note(last, rows), None if last is None else last.answered_at)


def _note(last: DiskRound | None, rows: Sequence[DiskHealthRow]) -> str:
    if last is None:
        return "The disks have not been asked yet. That happens every 45 minutes."
    if not last.installed:
        return "The host has no smartctl. Install smartmontools on it to see the disks' health."
    if last.message:
        return f"Not every disk was read: {last.message}"
    return "" if rows else "smartctl knows none of the host's disks."


def row_of(facts: HostFacts | None, condition: DiskCondition) -> DiskHealthRow:
    """`facts` know the kernel's name of a disk behind a controller."""
    disk, health = condition.disk, condition.health
    known = None if facts is None else known_as(facts, condition)
    place = f"{disk.device} ({disk.kind})" if disk.kind else disk.device
    tone, words = _verdict(condition)
    worn_out = condition.worn_out
    return DiskHealthRow(
        key=disk.key,
        name=place if known is None else known,
        model="" if health is None else health.model,
        serial="" if health is None else health.serial,
        tone=tone,
        health=words,
        findings=condition.findings,
        wear=None if condition.wear is None else condition.wear.percent,
        written=_written(condition),
        written_why=_written_why(condition),
        worn_out="" if worn_out is None else _date(worn_out.at),
        assumption="" if worn_out is None else worn_out.assumption,
        errors=NOTHING if health is None else _errors(error_counts(health)),
        accepted=_accepted(disk),
        temperature=(
            NOTHING
            if health is None or not health.temperature_celsius
            else f"{health.temperature_celsius} °C"
        ),
        read_at=disk.read_at,
    )


def known_as(facts: HostFacts, condition: DiskCondition) -> str | None:
    """The kernel's name of the disk; None for one that no disk of the inventory is."""
    disk, health = condition.disk, condition.health
    found = disk_of(facts, DiskAnswer(disk.device, disk.kind, disk.name, "read", health=health))
    return None if found is None else found.name


def _accepted(disk: PhysicalDisk) -> str:
    if disk.accepted_at is None:
        return ""
    return f"accepted {disk.accepted_at:%Y-%m-%d} by {disk.accepted_by}: {disk.accepted_reason}"


def _verdict(condition: DiskCondition) -> tuple[Tone, str]:
    worst = condition.findings[0].severity if condition.findings else None
    if worst == "error":
        return "error", "failing"
    if worst is not None:
        return "warning", "look at it"
    if condition.disk.state != "read":
        return "quiet", SILENT.get(condition.disk.state, condition.disk.state)
    if condition.health is None or condition.health.passed is None:
        return "quiet", "does not say"
    return "ok", "good"


def _written(condition: DiskCondition) -> str:
    written = condition.written
    if written is None:
        return NOTHING
    if written.written_bytes is None:
        return "unit unknown"
    of = condition.endurance_bytes
    return size(written.written_bytes) + (f" of {size(of)}" if of is not None else "")


def _written_why(condition: DiskCondition) -> str:
    written = condition.written
    return "" if written is None else f"{written.source}: {written.raw:,}. {written.reason}"


def _date(at: datetime | None) -> str:
    return "not within 20 years" if at is None else f"about {at:%Y-%m-%d}"


def _errors(counts: dict[str, int]) -> str:
    present = [counted(count, COUNTS[name]) for name, count in counts.items() if count]
    return ", ".join(present) or ("none" if counts else NOTHING)

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
from storage.models import DiskRound, Host

Tone = Literal["ok", "warning", "error", "quiet"]
SILENT: Final = {
    "standby": "asleep, not woken",
    "hung": "does not answer",
    "slow": "did not answer in time",
    "failed": "cannot be read",
}


@dataclass(frozen=True, slots=True)
class DiskHealthRow:
    """One disk in words; `worn_out` is a sentence or "". `wear` is a percentage or None."""

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
    rows = tuple(_row(facts, each) for each in conditions)
    return DiskHealthCard(rows, _note(last, rows), None if last is None else last.answered_at)


def _note(last: DiskRound | None, rows: Sequence[DiskHealthRow]) -> str:
    if last is None:
        return "The disks have not been asked yet. That happens every 45 minutes."
    if not last.installed:
        return "The host has no smartctl. Install smartmontools on it to see the disks' health."
    if last.message:
        return f"Not every disk was read: {last.message}"
    return "" if rows else "smartctl knows none of the host's disks."


def _row(facts: HostFacts, condition: DiskCondition) -> DiskHealthRow:
    disk, health = condition.disk, condition.health
    answer = DiskAnswer(disk.device, disk.kind, disk.name, "read", health=health)
    known = disk_of(facts, answer)
    tone, words = _verdict(condition)
    worn_out = condition.worn_out
    return DiskHealthRow(
        name=answer.place if known is None else known.name,
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
        temperature=(
            NOTHING
            if health is None or not health.temperature_celsius
            else f"{health.temperature_celsius} °C"
        ),
        read_at=disk.read_at,
    )


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

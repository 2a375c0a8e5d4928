"""The disks of a host, as LVM and md see them and as they see themselves, what its arrays do, and
checks of both: rows and sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from jobs.models import CheckState, MediaCheck
from storage.agent.calls.names import kernel_name
from storage.agent.kernel.array_state import GUESTS
from storage.analysis.ssd_writers import known_as
from storage.formatting import NOTHING, counted, percent, seconds, size
from storage.health.host_problems import HealthFinding
from storage.health.smart_findings import COUNTS, error_counts
from storage.health.smart_records import DiskCondition, conditions_of
from storage.inventory.device_tree import degraded_words, is_part_of
from storage.inventory.disk_list import (
    DeviceUse,
    devices_of,
    free_disks,
    seconds_left,
)
from storage.inventory.facts import Array, HostFacts
from storage.models import DiskRound, Host, PhysicalDisk
from storage.planner import Refused
from storage.planner.member_wish import refusal_of

Tone = Literal["ok", "warning", "error", "busy", "quiet"]
TONES: Final[dict[str, Tone]] = {
    CheckState.ASKED: "busy",
    CheckState.RUNNING: "busy",
    CheckState.PASSED: "ok",
    CheckState.FAILED: "error",
    CheckState.STOPPED: "quiet",
    CheckState.REFUSED: "warning",
}
ICONS: Final[dict[Tone, str]] = {"busy": "run", "quiet": "info"}
WORDS: Final = {
    "check": "being checked",
    "repair": "being repaired",
    "recover": "being rebuilt",
    "resync": "being synchronised",
    "reshape": "being reshaped",
    "frozen": "frozen: no rebuild starts",
}
REPLACEABLE: Final = frozenset({"raid1", "raid4", "raid5", "raid6", "raid10"})
SILENT: Final = {
    "standby": "asleep, not woken",
    "unasked": "not read yet",
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
    findings: tuple[HealthFinding, ...]
    wear: int | None
    written: str
    written_why: str
    worn_out: str
    assumption: str
    errors: str
    accepted: str
    temperature: str
    read_at: datetime | None
    is_gone: bool


@dataclass(frozen=True, slots=True)
class DiskLine:
    """One disk: `use` is None where the inventory lacks it (behind a controller), `smart` where
    smartctl does."""

    use: DeviceUse | None
    smart: DiskHealthRow | None

    @property
    def tone(self) -> str:
        """Of both the worse one; "" where neither is amiss."""
        tones = {each.tone for each in (self.use, self.smart) if each is not None}
        return next((tone for tone in ("error", "warning") if tone in tones), "")


@dataclass(frozen=True, slots=True)
class DiskHealthCard:
    """`has_readings`: a disk has said something. `note` says why none has, or why some are old."""

    lines: tuple[DiskLine, ...]
    has_readings: bool
    note: str
    asked_at: datetime | None


def disk_health(host: Host, facts: HostFacts, now: datetime) -> DiskHealthCard:
    last = DiskRound.objects.filter(host=host).first()
    conditions = [each for each in conditions_of(host, now) if not each.is_gone or each.findings]
    rows = [disk_row(facts, each) for each in conditions]
    asked_at = None if last is None else last.answered_at
    return DiskHealthCard(_lines(facts, rows), bool(rows), _note(last, rows), asked_at)


def failing_disks(card: DiskHealthCard) -> tuple[str, ...]:
    """By the kernel's names; those that say so themselves. The name of one that is gone may be
    another disk's."""
    rows = [line.smart for line in card.lines if line.smart is not None and not line.smart.is_gone]
    return tuple(row.name for row in rows if row.tone == "error")


def _lines(facts: HostFacts, rows: Sequence[DiskHealthRow]) -> tuple[DiskLine, ...]:
    """The inventory's disks in its order, and then those that only smartctl knows."""
    left = list(rows)
    lines = []
    for use in devices_of(facts):
        own = next((row for row in left if row.name == use.disk.name), None)
        if own is not None:
            left.remove(own)
        lines.append(DiskLine(use, own))
    return (*lines, *(DiskLine(None, row) for row in left))


def _note(last: DiskRound | None, rows: Sequence[DiskHealthRow]) -> str:
    if last is None:
        return "The disks are read for the first time within 5 minutes, then every 45 minutes."
    if not last.installed:
        return "The host has no smartctl. Install smartmontools on it to see the disks' health."
    if last.message:
        return f"Not every disk was read: {last.message}"
    return "" if rows else "smartctl knows none of the host's disks."


def disk_row(facts: HostFacts | None, condition: DiskCondition) -> DiskHealthRow:
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
        is_gone=condition.is_gone,
    )


def _accepted(disk: PhysicalDisk) -> str:
    if disk.accepted_at is None:
        return ""
    return f"accepted {disk.accepted_at:%Y-%m-%d} by {disk.accepted_by}: {disk.accepted_reason}"


def _verdict(condition: DiskCondition) -> tuple[Tone, str]:
    worst = condition.findings[0].severity if condition.findings else None
    if condition.is_gone:
        return ("quiet" if worst is None else "error"), "gone"
    if worst == "error":
        return "error", "failing"
    if worst is not None:
        return "warning", "look at it"
    if condition.disk.state != "read":
        return "quiet", SILENT.get(condition.disk.state, condition.disk.state)
    if condition.health is None or condition.health.passed is None:
        return "quiet", "not reported"
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


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check in words."""

    check: MediaCheck

    @property
    def tone(self) -> Tone:
        return TONES[self.check.state]

    @property
    def icon(self) -> str:
        return ICONS.get(self.tone, self.tone)

    @property
    def text(self) -> str:
        left = self.check.remaining_percent
        state = str(CheckState(self.check.state).label)
        return f"{state}, {100 - left} % done" if left is not None else state

    @property
    def who(self) -> str:
        return str(self.check.actor) if self.check.actor is not None else "a deleted account"


@dataclass(frozen=True, slots=True)
class ArrayRow:
    """`state` with its tone, `progress` of its current activity and `notes` are words. `commands`
    are what to type on the host, one after the other. `check` is the last one requested;
    `no_replacement` says why no disk of it can be replaced now."""

    array: Array
    tone: Tone
    state: str
    progress: str
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    check: CheckRow | None
    may_be_checked: bool
    no_replacement: Refused | None

    @property
    def icon(self) -> str:
        return ICONS.get(self.tone, self.tone)


def arrays_of(host: Host, facts: HostFacts, failing: Collection[str] = ()) -> tuple[ArrayRow, ...]:
    """In the inventory's order. `failing` are the disks that report a failure. One query."""
    asked: dict[str, MediaCheck] = {}
    uuids = [array.uuid for array in facts.arrays]
    checks = MediaCheck.objects.filter(host=host, disk=None, array_uuid__in=uuids)
    for check in (
        checks.select_related("actor").order_by("array_uuid", "-id").distinct("array_uuid")
    ):
        asked[check.array_uuid] = check
    return tuple(
        _array_row(
            facts,
            array,
            asked.get(array.uuid),
            failing,
            refusal_of(facts, array, allowed=host.replaces_members),
        )
        for array in facts.arrays
    )


def shared_refusal(rows: Sequence[ArrayRow]) -> Refused | None:
    """Why no disk of any array can be replaced, where several arrays have the same reason."""
    reasons = {row.no_replacement.message if row.no_replacement else "" for row in rows}
    return rows[0].no_replacement if len(rows) > 1 and len(reasons) == 1 else None


def _array_row(
    facts: HostFacts,
    array: Array,
    check: MediaCheck | None,
    failing: Collection[str],
    no_replacement: Refused | None,
) -> ArrayRow:
    doing = WORDS.get(array.sync_action, array.sync_action) if array.sync_action != "idle" else ""
    tone: Tone = "ok"
    state = array.state
    trouble = facts.trouble_of(array)
    is_guests = trouble is not None and trouble.code == GUESTS
    if array.degraded_count or array.has_failed:
        tone, state = "error", degraded_words(array)
    elif trouble is not None or array.mismatch_sectors:
        tone = "warning"
    is_idle = not array.is_at_work and (check is None or check.is_over)
    return ArrayRow(
        array,
        tone,
        state,
        f"{doing}{_progress(facts, array)}" if doing else "",
        tuple(_notes(facts, array)),
        () if is_guests else _commands(facts, array, failing),
        None if check is None else CheckRow(check),
        is_idle and trouble is None and array.level != "raid0" and array.level != "linear",
        no_replacement,
    )


def _progress(facts: HostFacts, array: Array) -> str:
    parts = []
    if array.progress is not None:
        parts.append(percent(array.progress))
    if array.sync_speed_kib:
        parts.append(f"{array.sync_speed_kib / 1024:.0f} MiB/s")
    if (left := seconds_left(facts, array)) is not None:
        parts.append(f"about {seconds(left)} left")
    return f": {', '.join(parts)}" if parts else ""


def _notes(facts: HostFacts, array: Array) -> list[str]:
    notes = []
    trouble = facts.trouble_of(array)
    # Where the host's own lacks a disk, its commands tell what to do.
    needs_note = array.has_failed or not array.degraded_count
    if trouble is not None and (needs_note or trouble.code == GUESTS):
        notes.append(f"{trouble.message}. {trouble.correction}")
    if array.spares:
        notes.append(f"spare: {', '.join(array.spares)}")
    if array.mismatch_sectors:
        notes.append(f"{counted(array.mismatch_sectors, 'sector')} differ between the copies")
    return notes


def _commands(facts: HostFacts, array: Array, failing: Collection[str]) -> tuple[str, ...]:
    """What a person can do on the host about what is wrong; nothing where a name is none."""
    names = [array.name, *(member.name for member in array.members)]
    try:
        for name in names:
            kernel_name(name)
    except ValueError:
        return ()
    manage = f"mdadm --manage /dev/{array.name}"
    faulty = [member.name for member in array.members if "faulty" in member.state.split(",")]
    if array.has_failed:
        return ()
    if array.degraded_count:
        there = [disk.name for disk in facts.disks]
        removed = [
            f"{manage} --remove /dev/{name}"
            for name in faulty
            if any(is_part_of(name, disk) for disk in there)
        ]
        if len(removed) < len(faulty):
            removed.append(f"{manage} --remove detached")
        # A spare, or a disk that is being filled, takes the place automatically.
        added = [] if array.is_at_work or array.spares else _added(facts, array, manage)
        return (*removed, *added)
    dying = [name for name in names[1:] if any(is_part_of(name, disk) for disk in failing)]
    if dying and not array.is_at_work and array.level in REPLACEABLE:
        old, new = dying[0], _new(facts, array)
        return (
            *_added(facts, array, manage),
            f"{manage} --replace /dev/{old} --with {new}",
            f"mdadm --wait /dev/{array.name}  # until it is rebuilt",
            f"{manage} --remove /dev/{old}",
        )
    if array.mismatch_sectors and not array.is_at_work:
        return (f"echo repair > /sys/block/{array.name}/md/sync_action",)
    return ()


def _added(facts: HostFacts, array: Array, manage: str) -> list[str]:
    """With the partitions that the other members have, where they are partitions."""
    left = [member.name for member in array.members if "in_sync" in member.state.split(",")]
    whole = next((disk.name for disk in facts.disks if left and is_part_of(left[0], disk.name)), "")
    new = _new(facts, array)
    if whole and whole != left[0]:
        part = left[0].removeprefix(whole).lstrip("p")
        end = f"p{part}" if new[-1].isdigit() else part
        return [
            f"sfdisk -d /dev/{whole} | sfdisk {new}  # wipes {new}",
            f"{manage} --add {new}{end}",
        ]
    return [f"{manage} --add {new}"]


def _new(facts: HostFacts, array: Array) -> str:
    """The one disk that is free and large enough; where there are several, or none, a person says
    which."""
    sizes = [
        disk.size_bytes
        for disk in facts.disks
        for member in array.members
        if is_part_of(member.name, disk.name)
    ]
    free = free_disks(facts, min(sizes, default=array.size_bytes))
    return f"/dev/{free[0]}" if len(free) == 1 else "/dev/NEW"

"""The arrays of a host for its page, and checks of arrays and disks: their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from jobs.models import CheckState, MediaCheck
from storage.formatting import counted, percent, seconds
from storage.inventory.device_tree import degraded_words
from storage.inventory.facts import Array, HostFacts
from storage.models import Host

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
    "frozen": "frozen: no rebuild begins",
}


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
        return str(self.check.actor) if self.check.actor is not None else "somebody"


@dataclass(frozen=True, slots=True)
class ArrayRow:
    """`state` with its tone, `progress` of what it does now and `notes` are words. `command` is
    what to type on the host, "" for nothing. `check` is the last one that was asked for."""

    array: Array
    tone: Tone
    state: str
    progress: str
    notes: tuple[str, ...]
    command: str
    check: CheckRow | None
    may_be_checked: bool

    @property
    def icon(self) -> str:
        return ICONS.get(self.tone, self.tone)


def arrays_of(host: Host, facts: HostFacts) -> tuple[ArrayRow, ...]:
    """In the inventory's order. One query."""
    asked: dict[str, MediaCheck] = {}
    uuids = [array.uuid for array in facts.arrays]
    checks = MediaCheck.objects.filter(host=host, disk=None, array_uuid__in=uuids)
    for check in (
        checks.select_related("actor").order_by("array_uuid", "-id").distinct("array_uuid")
    ):
        asked[check.array_uuid] = check
    return tuple(_row(array, asked.get(array.uuid)) for array in facts.arrays)


def _row(array: Array, check: MediaCheck | None) -> ArrayRow:
    doing = WORDS.get(array.sync_action, array.sync_action) if array.sync_action != "idle" else ""
    tone: Tone = "ok"
    state = array.state
    if array.degraded_count:
        tone, state = "error", degraded_words(array)
    elif array.mismatch_sectors:
        tone = "warning"
    is_idle = not array.is_at_work and (check is None or check.is_over)
    return ArrayRow(
        array,
        tone,
        state,
        f"{doing}{_progress(array)}" if doing else "",
        tuple(_notes(array)),
        _command(array),
        None if check is None else CheckRow(check),
        is_idle and not array.degraded_count and array.level != "raid0" and array.level != "linear",
    )


def _progress(array: Array) -> str:
    parts = []
    if array.progress is not None:
        parts.append(percent(array.progress))
    if array.sync_speed_kib:
        parts.append(f"{array.sync_speed_kib / 1024:.0f} MiB/s")
    if array.seconds_left is not None:
        parts.append(f"about {seconds(array.seconds_left)} left")
    return f": {', '.join(parts)}" if parts else ""


def _notes(array: Array) -> list[str]:
    notes = []
    if array.spares:
        notes.append(f"spare: {', '.join(array.spares)}")
    if array.mismatch_sectors:
        notes.append(f"{counted(array.mismatch_sectors, 'sector')} differ between the copies")
    return notes


def _command(array: Array) -> str:
    """What a person can do on the host about what is wrong."""
    faulty = [member.name for member in array.members if "faulty" in member.state.split(",")]
    if array.degraded_count and faulty:
        return f"mdadm --manage /dev/{array.name} --remove /dev/{faulty[0]} --add /dev/NEW"
    if array.degraded_count and not array.is_at_work:
        return f"mdadm --manage /dev/{array.name} --add /dev/NEW"
    if array.mismatch_sectors and not array.is_at_work:
        return f"echo repair > /sys/block/{array.name}/md/sync_action"
    return ""

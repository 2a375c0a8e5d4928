"""What people decide about a disk: the unit in which it counts, its rated endurance, and errors
that are known. The table's trigger records each; the last one can be taken back."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db import transaction

from storage.health.smart_findings import baseline_after, error_counts
from storage.health.smart_reading import SmartHealth
from storage.health.smart_records import judge_anew
from storage.host_data import decoded
from storage.models import PhysicalDisk
from storage.planner.draft import Refused

DECIDED: Final = (
    *("entered_unit_bytes", "entered_rated_bytes"),
    *("accepted_at", "accepted_by", "accepted_reason"),
)


@transaction.atomic
def enter(disk: PhysicalDisk, now: datetime, **entered: int | None) -> None:
    """The fields `entered_…` as a person gives them; None forgets one."""
    locked = PhysicalDisk.objects.select_for_update().get(pk=disk.pk)
    for name, value in entered.items():
        setattr(locked, name, value)
    locked.save(update_fields=list(entered))
    judge_anew(locked, now)


@transaction.atomic
def accept_errors(disk: PhysicalDisk, who: str, reason: str, now: datetime) -> None:
    """A person has looked at the disk: what it has now is the baseline. Raises `Refused` for a disk
    that has told nothing yet."""
    locked = PhysicalDisk.objects.select_for_update().get(pk=disk.pk)
    if not locked.health:
        raise Refused(
            "not_read", "The disk's errors have not been read yet.", "Wait for the next reading."
        )
    locked.baseline_before, locked.baseline = locked.baseline, _counts(locked)
    locked.accepted_at, locked.accepted_by, locked.accepted_reason = now, who, reason
    locked.save()
    judge_anew(locked, now)


def last_decision(disk: PhysicalDisk) -> Any | None:
    """The event of the last change by a person, with the row as it was before; None without."""
    tracked: Any = disk  # the tracker gives it `events`, which no type knows
    return tracked.events.filter(pgh_context__actor__gt="").order_by("-pgh_id").first()


@transaction.atomic
def undo(disk: PhysicalDisk, shown: int, now: datetime) -> None:
    """Take back the last decision, which is the one that a person was `shown` (its `pgh_id`).
    Undone twice it stands again. Raises `Refused`."""
    locked = PhysicalDisk.objects.select_for_update().get(pk=disk.pk)
    event = last_decision(locked)
    if event is None or event.pgh_id != shown:
        raise Refused(
            "stale",
            "The disk was changed again meanwhile, or there is nothing to take back.",
            "Look at its history, and try again.",
        )
    if event.accepted_at != locked.accepted_at:
        before = baseline_after(locked.baseline_before, _counts(locked))
        locked.baseline_before, locked.baseline = locked.baseline, before
    for name in DECIDED:
        setattr(locked, name, getattr(event, name))
    locked.save()
    judge_anew(locked, now)


def _counts(disk: PhysicalDisk) -> dict[str, int]:
    return error_counts(decoded(disk.health, SmartHealth, "health")) if disk.health else {}

"""Who kept the disks of a host busy at a moment: the part of its page that a click on one of its
charts fills."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from panel.charts.time_range import typed_time
from storage.access import staff_view
from storage.analysis.disk_activity import DisksThen, disks_then
from storage.analysis.disk_users import DiskUser, UsedDisk
from storage.formatting import counted
from storage.models import Host, Volume
from storage.stored_inventory import inventory_of

USUAL: Final = timedelta(minutes=5)
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=366)
SHOWN: Final = 5
IDLE: Final = 0.01
"""A disk with less I/O under way on average, and busy for less of the time, did nothing to speak
of."""


@dataclass(frozen=True, slots=True)
class UserRow:
    """`busy` is the volume's part of the disk's busy time, as a share of the whole time; None where
    that is not counted."""

    volume: Volume | None
    in_flight: float
    share: float
    busy: float | None
    is_estimate: bool


@dataclass(frozen=True, slots=True)
class DiskRows:
    """A disk with its first volumes; `rest` are the further ones together, `other` what no volume
    explains."""

    disk: UsedDisk
    rows: list[UserRow]
    rest: UserRow | None
    rest_words: str
    other: UserRow | None


def who_context(request: HttpRequest, host: Host) -> dict[str, Any]:
    """The context of `staff/hosts/_host_who.html`: with a time in the address, its disks."""
    end, length = _asked(request)
    context: dict[str, Any] = {"host": host, "who": None, "who_at": end}
    facts = inventory_of(host) if end is not None else None
    if end is None or facts is None:
        return context
    then = disks_then(host, facts, end - length, end)
    active = [disk for disk in then.disks if disk.in_flight > IDLE or (disk.busy or 0) > IDLE]
    return context | {
        "who": then,
        "who_disks": [_rows(disk, then) for disk in active],
        "who_idle": ", ".join(disk.name for disk in then.disks if disk not in active),
        "who_estimates": any(user.is_estimate for disk in active for user in disk.users),
        "who_uncounted": any(disk.busy is None for disk in active),
    }


def _asked(request: HttpRequest) -> tuple[datetime | None, timedelta]:
    """The end of the time and how long it was; a picker of a page without scripts names no zone."""
    at = typed_time(request.GET.get("at", ""))
    seconds = request.GET.get("for", "")
    is_given = seconds.isascii() and seconds.isdecimal() and len(seconds) < 9
    length = timedelta(seconds=int(seconds)) if is_given else USUAL
    is_there = at is not None and at <= timezone.now() + LONGEST
    return (at.astimezone(UTC) if at and is_there else None), min(LONGEST, max(SHORTEST, length))


def _rows(disk: UsedDisk, then: DisksThen) -> DiskRows:
    def row(volume: Volume | None, in_flight: float, share: float, *, guess: bool) -> UserRow:
        busy = None if disk.busy is None else share * disk.busy
        return UserRow(volume, in_flight, share, busy, guess)

    def of(user: DiskUser) -> UserRow:
        volume = then.volumes.get(user.volume_id)
        return row(volume, user.in_flight, user.share, guess=user.is_estimate)

    further = disk.users[SHOWN:]
    rest = None
    if further:
        rest = row(
            None,
            sum(user.in_flight for user in further),
            sum(user.share for user in further),
            guess=any(user.is_estimate for user in further),
        )
    other = None
    if disk.other_share is not None and disk.other_in_flight is not None:
        other = row(None, disk.other_in_flight, disk.other_share, guess=False)
    words = counted(len(further), "more volume")
    return DiskRows(disk, [of(user) for user in disk.users[:SHOWN]], rest, words, other)


@staff_view()
@require_safe
def host_who(request: HttpRequest, key: str) -> HttpResponse:
    """The part alone, for the time that a chart was clicked at."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    return render(request, "staff/hosts/_host_who.html", who_context(request, host))

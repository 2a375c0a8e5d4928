"""When a volume is slow, and when the disk it lies on is the reason. Pure.

One figure says "slow" to staff and customers, on pages, in alerts (`storage.volumes.slow_limit`).
A read then waits not only for a slow disk, but for others before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from storage.formatting import ms, percent, seconds
from storage.health.host_problems import HealthFinding
from storage.models.host import BUSY_PERCENT, SLOW_READ_MS

WELL_SHARE: Final = 0.75
"""A slow volume is slow until its reads take less than this part of what is slow: between the two
nothing changes."""
LEAST_READS_PER_SECOND: Final = 1
"""Fewer reads mean nothing: one of them may have waited for a disk that had stopped."""
SLOW_AFTER: Final = timedelta(seconds=100)
"""Two samples, as they are usually taken: the reads of one minute may be one burst."""
WELL_AFTER: Final = timedelta(minutes=5)
BUSY_FOR: Final = timedelta(minutes=15)
QUEUE: Final = 2
"""I/Os that must be under way on average: a disk that reads ahead for one guest is always busy,
and keeps no other one waiting."""
NAMED: Final = 3
LEAST_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class SlowSpell:
    """Since when the reads of a volume are slow, until the end of the last sample in which they
    were."""

    begun: datetime
    last: datetime

    @property
    def is_lasting(self) -> bool:
        return self.last - self.begun >= SLOW_AFTER

    def to_json(self) -> list[str]:
        return [self.begun.isoformat(), self.last.isoformat()]

    @classmethod
    def from_json(cls, kept: Any) -> SlowSpell | None:
        """None where nothing was noted."""
        return cls(*map(datetime.fromisoformat, kept)) if kept else None


def slow_spell(
    before: SlowSpell | None,
    *,
    at: datetime,
    lasted: timedelta,
    reads: int,
    read_ms: int,
    limit_ms: int = SLOW_READ_MS,
) -> SlowSpell | None:
    """The slow time after one more sample, which ended `at` and `lasted` so long; None for none."""
    is_known = reads > 0 and reads >= LEAST_READS_PER_SECOND * lasted.total_seconds()
    each_ms = read_ms / reads if is_known else 0.0
    if each_ms >= limit_ms:
        return SlowSpell(at - lasted, at) if before is None else replace(before, last=at)
    if before is None or not before.is_lasting:
        return None
    if each_ms >= WELL_SHARE * limit_ms:
        return replace(before, last=at)
    return before if at - before.last < WELL_AFTER else None


@dataclass(frozen=True, slots=True)
class DiskShare:
    """A volume's part of a disk's I/O time, 0 to 1."""

    volume_id: int
    label: str
    share: float


@dataclass(frozen=True, slots=True)
class BusyDisk:
    """A disk or array, how busy it is (0 to 1, None where its kernel does not count it), and who
    uses it, the greatest first."""

    name: str
    busy: float | None
    users: Sequence[DiskShare]

    @property
    def words(self) -> str:
        """How busy it is, and by whom: "sdc is 95 % busy: web12 data 92 %, mail1 7 %"."""
        named = [each for each in self.users[:NAMED] if each.share >= LEAST_SHARE]
        users = ", ".join(f"{each.label} {percent(each.share)}" for each in named)
        busy = f"{percent(self.busy)} busy" if self.busy is not None else "in use"
        return f"{self.name} is {busy}{': ' if users else ''}{users}"


def slow_volume(
    volume_id: int,
    label: str,
    slow: SlowSpell,
    disk: BusyDisk | None,
    *,
    at: datetime,
    each_ms: float | None,
    limit_ms: int = SLOW_READ_MS,
) -> HealthFinding:
    """Of a volume whose reads are slow, or were a few minutes ago: the last sample ended `at`, and
    a read took `each_ms` in it, None where it had none."""
    lasted = seconds((slow.last - slow.begun).total_seconds())
    if at > slow.last:
        ago = seconds((at - slow.last).total_seconds())
        now = "There were none in the last sample."
        if each_ms is not None:
            now = f"They take {ms(each_ms)} on average now."
        what = f"Reads of {label} were slow for {lasted}, until {ago} ago. {now}"
    else:
        each = f"{ms(each_ms)} on average ({limit_ms} ms is slow)"
        what = f"Reads of {label} have been slow for {lasted}: they take {each}."
    if disk is None or not disk.users:
        return HealthFinding(
            "volume_slow", "warning", what, "Open the volume's charts, and its host's disks."
        )
    return HealthFinding(
        "volume_slow", "warning", f"{what} {disk.words}.", _remedy(disk, volume_id)
    )


def _remedy(disk: BusyDisk, volume_id: int) -> str:
    first = disk.users[0]
    who = "This volume itself" if first.volume_id == volume_id else first.label
    return (
        f"{who} uses {disk.name} most. See Cache advice of the host, or move a volume to another "
        "disk."
    )


def saturated_hdd(disk: BusyDisk) -> HealthFinding:
    """Of an HDD, or an array of them, that `is_saturated`."""
    return HealthFinding(
        "hdd_saturated",
        "warning",
        f"The HDD {disk.words} (average of the last {seconds(BUSY_FOR.total_seconds())}).",
        "See Cache advice of the host: a cache takes reads off the HDD. Or move a volume to "
        "another disk.",
    )


def is_saturated(busy: float | None, in_flight: float, limit_percent: int = BUSY_PERCENT) -> bool:
    """Whether an HDD that was so busy, with so many I/Os under way, kept its users waiting."""
    return busy is not None and busy >= limit_percent / 100 and in_flight >= QUEUE

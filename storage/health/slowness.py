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
from storage.volumes.slow_volumes import VOLUME_SLOW

WELL_SHARE: Final = 0.75
"""A slow volume is slow until its reads take less than this part of what is slow: between the two
nothing changes."""
LEAST_READS_PER_SECOND: Final = 1
"""Fewer reads mean nothing: one of them may have waited for a disk that had stopped."""
SLOW_MINUTES: Final = 2
"""The reads of one may be one burst."""
SLOW_AFTER: Final = timedelta(minutes=SLOW_MINUTES) - timedelta(seconds=20)
"""The last of the minutes may not be over."""
WELL_AFTER: Final = timedelta(minutes=5)
BUSY_FOR: Final = timedelta(minutes=15)
QUEUE: Final = 2
"""I/Os that must be under way on average: a disk that reads ahead for one guest is always busy,
and keeps no other one waiting."""
NAMED: Final = 3
LEAST_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class SlowSpell:
    """Since when the reads of a volume are slow, until the end of the last minute in which they
    were. `is_older`: they were slow already where the figures begin."""

    begun: datetime
    last: datetime
    is_older: bool = False

    @property
    def is_lasting(self) -> bool:
        return self.last - self.begun >= SLOW_AFTER

    @property
    def lasted(self) -> str:
        """How long, in words: "7 min", "at least 6 h"."""
        least = "at least " if self.is_older else ""
        return f"{least}{seconds((self.last - self.begun).total_seconds())}"

    def to_json(self) -> list[Any]:
        return [self.begun.isoformat(), self.last.isoformat(), self.is_older]

    @classmethod
    def from_json(cls, kept: Any) -> SlowSpell | None:
        """None where nothing was noted."""
        if not kept:
            return None
        begun, last, *rest = kept
        return cls(datetime.fromisoformat(begun), datetime.fromisoformat(last), any(rest))


def slow_spell(
    before: SlowSpell | None,
    *,
    at: datetime,
    lasted: timedelta,
    reads: int,
    read_ms: int,
    limit_ms: int = SLOW_READ_MS,
) -> SlowSpell | None:
    """The slow time after one more minute, which ended `at` and `lasted` so long; None for none."""
    if before is not None and not before.is_lasting and at - lasted - before.last > SLOW_AFTER:
        # Two slow minutes with a gap between them are no slow time.
        before = None
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
    uses it, the greatest first. `was`: this is of a time that is over."""

    name: str
    busy: float | None
    users: Sequence[DiskShare]
    was: bool = False

    @property
    def words(self) -> str:
        """How busy it is, and by whom: "sdc is 95 % busy: web12 data 92 %, mail1 7 %"."""
        named = [each for each in self.users[:NAMED] if each.share >= LEAST_SHARE]
        users = ", ".join(f"{each.label} {percent(each.share)}" for each in named)
        busy = f"{percent(self.busy)} busy" if self.busy is not None else "in use"
        return f"{self.name} {'was' if self.was else 'is'} {busy}{': ' if users else ''}{users}"


def limit_words(limit_ms: int, *shown: float | None) -> str:
    """What is slow, beside these read times in ms. Those of a slow time can be below the limit,
    which ends only well below."""
    if all(each is None or each >= limit_ms for each in shown):
        return f"{limit_ms} ms is slow"
    well = f"{WELL_SHARE * limit_ms:g} ms for {seconds(WELL_AFTER.total_seconds())}"
    return f"slow from {limit_ms} ms until below {well}"


def slow_volume(
    volume_id: int,
    label: str,
    slow: SlowSpell,
    disk: BusyDisk | None,
    *,
    at: datetime,
    average_ms: float | None,
    each_ms: float | None,
    limit_ms: int = SLOW_READ_MS,
) -> HealthFinding:
    """Of a volume whose reads are slow, or were a few minutes ago. A read took `average_ms` in that
    time, and `each_ms` in the last sample, None where it had none, which ended `at`."""
    if at > slow.last:
        ago = seconds((at - slow.last).total_seconds())
        what = f"Reads of {label} were slow for {slow.lasted}, until {ago} ago"
        limit = limit_words(limit_ms, average_ms)
    else:
        what = f"Reads of {label} have been slow for {slow.lasted}"
        limit = limit_words(limit_ms, average_ms, each_ms)
    now = ms(each_ms) if each_ms is not None else "none"
    what = f"{what}: {ms(average_ms)} on average ({limit}). In the last sample: {now}."
    correction = "Open the volume's charts, and its host's disks."
    if disk is not None and disk.users:
        what = f"{what} {disk.words}."
        correction = (
            f"{disk.users[0].label} {'used' if disk.was else 'uses'} {disk.name} most. See Cache "
            "advice of the host, or move a volume to another disk."
        )
    return HealthFinding(
        VOLUME_SLOW,
        "warning",
        what,
        correction,
        since=slow.begun,
        waits_for=disk.name if disk is not None else "",
        is_culprit=disk is not None and bool(disk.users) and disk.users[0].volume_id == volume_id,
        until=slow.last if at > slow.last else None,
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

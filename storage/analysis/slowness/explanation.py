"""What keeps a volume waiting, or a disk busy, and what helps: put together from figures. Pure.

Where too little is known `lacks` says what, and neither a cause nor a remedy is named: no guesses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from storage.analysis.disk_users import DiskUser, UsedDisk
from storage.health.slowness import LEAST_SHARE, NAMED

BEFORE: Final = timedelta(days=1)
"""What changed so long before it began may have to do with it."""
AT_ONCE: Final = timedelta(minutes=1)
"""It begins with a sample: what happened while that was taken is no later."""
MUCH: Final = 0.5
"""Of a disk's I/O time: who has so much of it is the reason."""
HARDLY_BUSY: Final = 0.25
"""A disk that is busy for less of the time adds at most a third to the time of an I/O: in a queue
with random arrivals, utilisation u makes an I/O wait u / (1 - u) of its service time (M/M/1). From
`MUCH` on, it waits longer than it takes."""


class SpeedState(StrEnum):
    """Whether it is slow (of a disk: overloaded)."""

    SLOW = "slow"
    OVER = "over"
    WELL = "well"
    UNKNOWN = "unknown"


class Lack(StrEnum):
    """What is missing, so that there is no explanation."""

    SAMPLES = "samples"
    READS = "reads"
    INVENTORY = "inventory"
    DISK = "disk"
    BUSY = "busy"


class Cause(StrEnum):
    """Why it waits. `outside`: what no volume explains. `unloaded`: its disk has little to do."""

    FAULT = "fault"
    OUTSIDE = "outside"
    NEIGHBOUR = "neighbour"
    NEIGHBOURS = "neighbours"
    ITSELF = "itself"
    UNLOADED = "unloaded"
    UNKNOWN = "unknown"


class Help(StrEnum):
    """What helps."""

    ADD_CACHE = "add_cache"
    RESIZE_CACHE = "resize_cache"
    LIMIT = "limit"
    REPLACE_DISK = "replace_disk"


@dataclass(frozen=True, slots=True)
class ReadSpeed:
    """What a read takes on average `over` a time, None where nothing is read, and from when on that
    is slow. The time is the slow one as far as it is looked at, else the last minutes."""

    read_ms: float | None
    limit_ms: int
    over: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Timing:
    """Whether it is slow, and when: `since` and `until` are of the last slow time, `until` None
    while it lasts; `is_older`: it began before what is looked at. `is_ebbing`: reads have been well
    since `looked_at`, but not for long enough to end it. `is_alerted`: an alert about its speed is
    open. The figures of the disk are of `looked_from` to `looked_at`; None: there are
    none."""

    state: SpeedState
    looked_at: datetime
    since: datetime | None = None
    until: datetime | None = None
    is_older: bool = False
    is_ebbing: bool = False
    is_alerted: bool = False
    looked_from: datetime | None = None

    @property
    def is_past(self) -> bool:
        """Whether the figures are not of now."""
        return self.is_ebbing or self.state in (SpeedState.OVER, SpeedState.UNKNOWN)


@dataclass(frozen=True, slots=True)
class CacheOffer:
    """What a cache would do for a volume: `size_bytes` is advised, None for none, and `reason` says
    why (for staff). `obstacle` is why it cannot be had now."""

    volume_id: int
    has_cache: bool
    mode: str
    size_bytes: int | None
    reason: str
    obstacle: str = ""

    @property
    def is_open(self) -> bool:
        return self.size_bytes is not None and not self.obstacle


@dataclass(frozen=True, slots=True)
class PastChange:
    """Something that happened to the volume or its host: `source` and `number` name it in the time
    line."""

    at: datetime
    source: str
    number: int


@dataclass(frozen=True, slots=True)
class SlowRemedy:
    """What helps whom: the volume, or with `volume_id` None the disk."""

    help: Help
    volume_id: int | None = None
    size_bytes: int | None = None
    mode: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SlowExplanation:
    """`volume_id` is None where it is of a disk. `top` are the greatest users of the disk;
    `own_share`, `others_share` and `outside_share` (None: not counted) are of its I/O time, 0 to 1.
    `remedies` come in the order in which they help; `closed` are caches that would not help, or
    that cannot be had now. `changes` are those shortly before it began, newest first."""

    volume_id: int | None
    timing: Timing
    speed: ReadSpeed | None
    disk: UsedDisk | None
    faults: tuple[str, ...]
    top: tuple[DiskUser, ...]
    own_share: float
    others_share: float
    outside_share: float | None
    cause: Cause
    lacks: tuple[Lack, ...]
    remedies: tuple[SlowRemedy, ...]
    closed: tuple[CacheOffer, ...]
    changes: tuple[PastChange, ...]

    @property
    def is_slow(self) -> bool:
        return self.timing.state == SpeedState.SLOW

    @property
    def may_become_slow(self) -> bool:
        """Whether its last reads took too long, but not yet for long enough."""
        read_ms = self.speed.read_ms if self.speed is not None else None
        return (
            self.timing.state == SpeedState.WELL
            and self.speed is not None
            and read_ms is not None
            and read_ms >= self.speed.limit_ms
        )

    @property
    def is_queueing(self) -> bool:
        """Whether I/Os wait longer for each other than they take; not known counts as such."""
        return self.disk is None or self.disk.busy is None or self.disk.busy >= MUCH

    @property
    def others(self) -> tuple[DiskUser, ...]:
        """Those of `top` that are not the volume itself."""
        return tuple(each for each in self.top if each.volume_id != self.volume_id)


def explain(
    volume_id: int | None,
    timing: Timing,
    speed: ReadSpeed | None,
    disk: UsedDisk | None,
    *,
    faults: Sequence[str] = (),
    offers: Mapping[int, CacheOffer],
    changes: Iterable[PastChange] = (),
    lacks: Collection[Lack] = (),
) -> SlowExplanation:
    """The explanation of one volume, or of one disk. `faults` are sentences on what is wrong with
    the disk, `offers` are by volume, `lacks` what the figures were found to lack. What is not slow
    needs no remedy, unless an alert says that its figures are not well."""
    missing = dict.fromkeys(lacks)
    users = disk.users if disk is not None else ()
    own = sum(user.share for user in users if user.volume_id == volume_id)
    others = sum(user.share for user in users) - own
    outside = disk.other_share if disk is not None else None
    if disk is None and Lack.INVENTORY not in missing:
        missing[Lack.DISK] = None
    if disk is not None and disk.busy is None:
        missing[Lack.BUSY] = None
    top = tuple(user for user in users[:NAMED] if user.share >= LEAST_SHARE)
    cause = _cause(volume_id, timing, disk, bool(faults), own, others)
    remedies, closed = _remedies(volume_id, cause, disk, users, offers)
    is_well = timing.state == SpeedState.WELL or (
        timing.state == SpeedState.UNKNOWN and timing.since is None
    )
    if is_well and not timing.is_alerted and not faults:
        remedies, closed = (), ()
    return SlowExplanation(
        volume_id=volume_id,
        timing=timing,
        speed=speed,
        disk=disk,
        faults=tuple(faults),
        top=top,
        own_share=own,
        others_share=max(0.0, others),
        outside_share=outside,
        cause=cause,
        lacks=tuple(missing),
        remedies=remedies,
        closed=closed,
        changes=last_changes(changes, timing.since or timing.looked_at),
    )


def last_changes(changes: Iterable[PastChange], before: datetime) -> tuple[PastChange, ...]:
    """Those within a day before, or at that moment, the newest first."""
    near = [each for each in changes if before - BEFORE <= each.at <= before + AT_ONCE]
    return tuple(sorted(near, key=lambda each: (each.at, each.number), reverse=True))


def _cause(
    volume_id: int | None,
    timing: Timing,
    disk: UsedDisk | None,
    has_fault: bool,
    own: float,
    others: float,
) -> Cause:
    if has_fault:
        return Cause.FAULT
    if disk is None or (timing.state == SpeedState.UNKNOWN and timing.looked_from is None):
        return Cause.UNKNOWN
    if disk.other_share is not None and disk.other_share >= MUCH:
        return Cause.OUTSIDE
    if disk.busy is not None and disk.busy < HARDLY_BUSY:
        return Cause.UNLOADED
    if volume_id is not None and own >= others:
        return Cause.ITSELF if own else Cause.UNKNOWN
    if not disk.users:
        return Cause.UNKNOWN
    most = max(user.share for user in disk.users if user.volume_id != volume_id)
    return Cause.NEIGHBOUR if most >= MUCH * others and most > own else Cause.NEIGHBOURS


def _remedies(
    volume_id: int | None,
    cause: Cause,
    disk: UsedDisk | None,
    users: Sequence[DiskUser],
    offers: Mapping[int, CacheOffer],
) -> tuple[tuple[SlowRemedy, ...], tuple[CacheOffer, ...]]:
    """In the order in which they help, and caches that do not. A cache takes reads off an HDD,
    whosever they are: first for who uses it most."""
    if cause == Cause.FAULT:
        return (SlowRemedy(Help.REPLACE_DISK),), ()
    if cause in (Cause.UNKNOWN, Cause.OUTSIDE) or disk is None:
        return (), ()
    guilty = next((user.volume_id for user in users if user.volume_id != volume_id), None)
    is_other = cause in (Cause.NEIGHBOUR, Cause.NEIGHBOURS) and guilty is not None
    order = [user.volume_id for user in users if user.volume_id in (guilty, volume_id)]
    asked_for = dict.fromkeys((*order, volume_id) if is_other else (volume_id,))
    asked = [offers[each] for each in asked_for if each is not None and each in offers]
    caches = [] if disk.is_fast else asked
    open_offers = [_of_offer(each) for each in caches if each.is_open]
    if is_other and cause == Cause.NEIGHBOUR:
        open_offers.append(SlowRemedy(Help.LIMIT, guilty))
    return tuple(open_offers), tuple(each for each in caches if not each.is_open)


def _of_offer(offer: CacheOffer) -> SlowRemedy:
    kind = Help.RESIZE_CACHE if offer.has_cache else Help.ADD_CACHE
    return SlowRemedy(kind, offer.volume_id, offer.size_bytes, offer.mode, offer.reason)

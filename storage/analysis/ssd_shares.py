"""What each volume of a host has of its SSD, what is proposed, and why, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.analysis.advice.suggestion import hours_text
from storage.analysis.allocation.division import Room, SizeOption
from storage.analysis.cache_yield import CacheYield
from storage.formatting import percent, size
from storage.inventory.facts import VolumeGroup
from storage.models import Volume
from storage.volumes.snapshot import VolumeSnapshot

GB: Final = 10**9
LITTLE_SECONDS: Final = 600.0
"""Waiting that no one notices in a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeShare:
    """What a volume has and what is proposed; the same where nothing is. `unknown` says why its
    forecast is missing, and `held` why it keeps what it has all the same; both in a sentence, ""
    for neither."""

    row: VolumeSnapshot
    now: SizeOption
    proposed: SizeOption
    unknown: str = ""
    held: str = ""

    @property
    def is_changed(self) -> bool:
        return self.proposed.size_bytes != self.now.size_bytes

    @property
    def ssd_bytes(self) -> int:
        """What it takes more than now; below zero: what it frees."""
        return self.proposed.ssd_bytes - self.now.ssd_bytes

    @property
    def why(self) -> str:
        """In a sentence for people."""
        if self.held or self.unknown:
            return self.held or self.unknown
        if self.is_changed:
            return self._why_changed()
        plan = self.row.volume.cache_plan
        if plan is not None:
            return f"Its plan is {plan}: less is not proposed, and more is for sale."
        more = "More" if self.now.size_bytes else "A cache"
        return f"{more} would save too little here for the SSD that it takes."

    def _why_changed(self) -> str:
        if self.ssd_bytes <= 0 and self.proposed.saved <= -LITTLE_SECONDS:
            return "What is freed saves too little here for the SSD and the wear that it takes."
        if self.ssd_bytes <= 0:
            return "It hardly needs more: the rest is free for other volumes."
        served = f"{share_text(self.proposed.hit_rate)} of its reads would come from SSD"
        return (
            f"{served}, now {share_text(self.now.hit_rate)}."
            if self.now.size_bytes
            else f"{served}."
        )

    @property
    def written_bytes_per_day(self) -> float | None:
        """What the cache proposed writes to SSD; None where that is not known."""
        return None if self.unknown else self.proposed.written_bytes_per_day

    @property
    def saved_text(self) -> str:
        """The waiting saved a day, as a range."""
        return saved_text(self.proposed.saved_low, self.proposed.saved_high)


def share_text(hit_rate: float | None) -> str:
    """A likely share, as exact as a forecast is."""
    return percent(round(hit_rate, 2)) if hit_rate is not None else "an unknown part"


def saved_text(low: float, high: float) -> str:
    """A range of waiting, of which parts may be lost."""
    ends = [("-" if each <= -1 else "") + hours_text(abs(each)) for each in (low, high)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def capacity_name(ssd_bytes: int) -> str:
    """The capacity of an SSD as makers say it."""
    return f"{ssd_bytes // GB} GB" if ssd_bytes < 1000 * GB else f"{ssd_bytes / (1000 * GB):g} TB"


@dataclass(frozen=True, slots=True)
class NextSsdOffer:
    """What one more SSD would save, and the volumes on which it saves most; `more` others."""

    ssd_bytes: int
    saved_seconds_per_day: float
    rows: tuple[VolumeSnapshot, ...]
    more: int

    @property
    def name(self) -> str:
        return capacity_name(self.ssd_bytes)

    @property
    def volumes(self) -> list[Volume]:
        return [row.volume for row in self.rows]

    @property
    def more_text(self) -> str:
        return f" and {self.more} more" if self.more else ""

    @property
    def saved_text(self) -> str:
        return hours_text(self.saved_seconds_per_day)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAllocation:
    """Of one volume group. `room` is the SSD that caches have and that is free. `refused` says why
    nothing is proposed, "" where something may be. `shares` are those that change first, then those
    that keep their cache, then the others."""

    vg: VolumeGroup
    room: Room
    total_bytes: int
    shares: tuple[VolumeShare, ...]
    refused: str
    next_ssds: tuple[NextSsdOffer, ...]

    @property
    def changes(self) -> tuple[VolumeShare, ...]:
        """In an order in which space is freed before it is used."""
        return tuple(each for each in self.shares if each.is_changed)

    @property
    def taken_bytes(self) -> int:
        return sum(each.now.ssd_bytes for each in self.shares)

    @property
    def free_bytes(self) -> int:
        return self.room.ssd_bytes - self.taken_bytes

    @property
    def free_bytes_after(self) -> int:
        return self.room.ssd_bytes - sum(each.proposed.ssd_bytes for each in self.shares)

    @property
    def needed_bytes(self) -> int:
        return sum(max(0, each.ssd_bytes) for each in self.shares)

    @property
    def freed_bytes(self) -> int:
        return sum(max(0, -each.ssd_bytes) for each in self.shares)

    @property
    def saved_low(self) -> float:
        return sum(each.proposed.saved_low for each in self.shares)

    @property
    def saved_high(self) -> float:
        return sum(each.proposed.saved_high for each in self.shares)

    @property
    def written_now(self) -> float:
        return sum(each.now.written_bytes_per_day for each in self.shares)

    @property
    def written_after(self) -> float:
        return sum(each.proposed.written_bytes_per_day for each in self.shares)

    @property
    def uncounted(self) -> int:
        """Caches of which it is not known what they write."""
        return sum(bool(each.unknown and each.now.size_bytes) for each in self.shares)

    @property
    def counts_writes(self) -> bool:
        """Whether it is known of any cache, or of any that is proposed, what it writes."""
        return any(
            not each.unknown and (each.now.size_bytes or each.proposed.size_bytes)
            for each in self.shares
        )

    @property
    def is_known(self) -> bool:
        """Whether any volume has a forecast."""
        return self.unknown_count < len(self.shares)

    @property
    def verdict(self) -> str:
        """What the division comes to, in a sentence for people."""
        if self.refused:
            return self.refused
        if not self.is_known:
            return "No volume of this group has a forecast yet."
        if not self.changes:
            return "The SSD is divided well: no other division would save much more waiting."
        total = saved_text(self.saved_low, self.saved_high)
        cost = f"{saved_text(max(0.0, -self.saved_high), -self.saved_low)} of waiting a day"
        budget, freed = self.room.wear_bytes_per_day, self.freed_bytes - self.needed_bytes
        writes_less = self.written_after < self.written_now
        if budget is not None and self.written_now > budget and writes_less and self.saved_high < 0:
            return f"The SSDs wear too fast. What is proposed writes less, and costs {cost}."
        if self.saved_high < LITTLE_SECONDS and freed > 0:
            if self.saved_low > -LITTLE_SECONDS:
                return f"{size(freed)} of SSD could be freed: it hardly saves any waiting."
            return (
                f"{size(freed)} of SSD could be freed. That costs {cost}: little for so much SSD."
            )
        return f"Divided anew, the same SSD would save {total} of waiting a day."

    @property
    def wears_too_fast(self) -> bool:
        """Whether even the division proposed writes more than the SSDs are to bear."""
        budget = self.room.wear_bytes_per_day
        return budget is not None and self.written_after > budget

    @property
    def listed(self) -> tuple[VolumeShare, ...]:
        """Those that change or have a cache."""
        return tuple(each for each in self.shares if each.is_changed or each.now.size_bytes)

    @property
    def others(self) -> tuple[VolumeShare, ...]:
        """Those without a cache, now and proposed."""
        return tuple(each for each in self.shares if not (each.is_changed or each.now.size_bytes))

    @property
    def unknown_count(self) -> int:
        return sum(bool(each.unknown) for each in self.shares)


@dataclass(frozen=True, slots=True)
class HostAllocation:
    """Of all volume groups with SSD, and what each cache does for its SSD."""

    groups: tuple[GroupAllocation, ...]
    yields: tuple[CacheYield, ...]

    @property
    def changes(self) -> tuple[VolumeShare, ...]:
        return tuple(each for group in self.groups for each in group.changes)

    @property
    def idle(self) -> tuple[CacheYield, ...]:
        return tuple(each for each in self.yields if each.is_idle)

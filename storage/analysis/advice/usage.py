"""Who reads from the HDDs: shares by volume and by guest. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.metrics.rates import Sums, read_hit_rate
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class VolumeLoad:
    """What a volume did in some time, and in the part of it in which it had no cache."""

    whole: Sums
    uncached: Sums


@dataclass(frozen=True, slots=True)
class LoadShare:
    """A volume on HDDs over one window. `share` is its part of the reads that the HDDs answered
    (None where they answered none), `busy` the part of the window in which it had I/O under way, on
    the SSD of its cache too."""

    row: VolumeSnapshot
    load: VolumeLoad
    share: float | None

    @property
    def sums(self) -> Sums:
        return self.load.whole

    @property
    def hdd_reads(self) -> float:
        """Reads that the HDDs answered: while the volume had a cache, those that missed it."""
        uncached = self.load.uncached.reads
        return uncached + (self.sums.reads - uncached) * (1 - (read_hit_rate(self.sums) or 0.0))

    @property
    def hit_rate(self) -> float | None:
        """Of the time with a cache; None without one now, and where too few reads say nothing."""
        return read_hit_rate(self.sums) if self.row.cache is not None else None

    @property
    def hdd_read_iops(self) -> float | None:
        return self.hdd_reads * 1000 / self.sums.dt_ms if self.sums.dt_ms else None

    @property
    def busy(self) -> float | None:
        return self.sums.busy_ms / self.sums.dt_ms if self.sums.dt_ms else None

    @property
    def seconds_waited(self) -> float:
        """Time that its reads and writes took, added up; those at once count each."""
        return (self.sums.read_ms + self.sums.write_ms) / 1000


@dataclass(frozen=True, slots=True)
class GuestUse:
    """All volumes of one guest together."""

    guest: str
    volume_count: int
    share: float | None


def uses(rows: Sequence[VolumeSnapshot], loads: Mapping[int, VolumeLoad]) -> tuple[LoadShare, ...]:
    """Volumes on HDDs, those that read most from them first. `loads` are by the volume's primary
    key; volumes without any are left out."""
    measured = [
        LoadShare(row, loads[row.volume.pk], None)
        for row in rows
        if row.facts is not None
        and row.lv is not None
        and is_on_slow_disk(row.facts, row.lv)
        and row.volume.pk in loads
        and loads[row.volume.pk].whole.intervals
    ]
    total = sum(use.hdd_reads for use in measured)
    listed = [replace(use, share=use.hdd_reads / total if total else None) for use in measured]
    return tuple(sorted(listed, key=lambda use: (-use.hdd_reads, use.row.volume.label)))


def by_guest(shares: Sequence[LoadShare]) -> tuple[GuestUse, ...]:
    """The same by guest, the greatest share first; volumes without a guest are left out."""
    guests: dict[str, list[LoadShare]] = {}
    for use in shares:
        name = use.row.volume.guest.split(", ")[0].partition(" · ")[0]
        if name:
            guests.setdefault(name, []).append(use)
    summed = [
        GuestUse(
            name,
            len(those),
            None if those[0].share is None else sum(use.share or 0.0 for use in those),
        )
        for name, those in guests.items()
    ]
    return tuple(sorted(summed, key=lambda use: (-(use.share or 0.0), use.guest)))


def is_on_slow_disk(facts: HostFacts, lv: LogicalVolume) -> bool:
    """True where some of it lies on a slow physical volume. LVM does not say where a thin volume
    lies: there the group decides."""
    slow = {pv.name for pv in facts.pvs_of(lv.vg_uuid, "slow")}
    return bool(slow.intersection(lv.pvs)) if lv.pvs else bool(slow)

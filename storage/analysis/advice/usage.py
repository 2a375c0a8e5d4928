"""Who keeps the slow disks busy: shares of busy time by volume and by guest. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.metrics.rates import Sums
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class LoadShare:
    """A volume on slow disks over one window. `share` is its part of the busy time of all of them
    (None where nobody was busy), `busy` the part of the window in which it had I/O under way.
    A cached volume is busy on its SSD too."""

    row: VolumeSnapshot
    sums: Sums
    share: float | None

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


def uses(rows: Sequence[VolumeSnapshot], loads: Mapping[int, Sums]) -> tuple[LoadShare, ...]:
    """Volumes on slow disks, the busiest first. `loads` are sums by the volume's primary key;
    volumes without any are left out."""
    measured = [
        (row, loads[row.volume.pk])
        for row in rows
        if row.facts is not None
        and row.lv is not None
        and is_on_slow_disk(row.facts, row.lv)
        and loads.get(row.volume.pk, Sums()).intervals
    ]
    total_ms = sum(sums.busy_ms for _, sums in measured)
    listed = [
        LoadShare(row, sums, sums.busy_ms / total_ms if total_ms else None)
        for row, sums in measured
    ]
    return tuple(sorted(listed, key=lambda use: (-use.sums.busy_ms, use.row.volume.label)))


def by_guest(shares: Sequence[LoadShare]) -> tuple[GuestUse, ...]:
    """The same by guest, the busiest first; volumes without a guest are left out."""
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

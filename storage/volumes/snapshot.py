"""A volume with its host's report and its latest figures, for the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, cast

from storage.inventory.facts import HostFacts, LogicalVolume, VolumeGroup
from storage.metrics import samples
from storage.metrics.samples import Latest
from storage.models import Host, Placement, Volume
from storage.models.host import HostState, silent_seconds
from storage.models.key_sets import any_of
from storage.planner import Refused, plan
from storage.planner.current_wish import wish_now
from storage.planner.draft import begin_draft, demand_change
from storage.planner.kernel_faults import refuse_faulty
from storage.planner.technologies.lookup import cache_of, device_of, layout_of, of_layout
from storage.planner.technologies.technology import Cache, Technology
from storage.planner.wish import BadWish, Wish
from storage.stored_inventory import inventories_of
from storage.volumes.slow_limit import SlowLimit, SlowLimits
from storage.volumes.slow_volumes import SlowTime, slow_times

UNDECIDED: Final = Refused(
    "busy", "A job on this volume needs a decision.", "Decide on the job's page."
)
BUSY: Final = Refused("busy", "A job is changing the volume.", "Try again when it has ended.")


@dataclass(frozen=True, slots=True)
class BlockingJob:
    """The job that changes a volume; `is_undecided`: it waits for a person."""

    key: str
    is_undecided: bool

    @property
    def refused(self) -> Refused:
        """Why no other job may change the volume."""
        return UNDECIDED if self.is_undecided else BUSY


@dataclass(frozen=True)
class VolumeSnapshot:
    """`lv` is None while the volume does not exist on its host, or is gone from it. `slow_time` is
    set while the judge calls it slow."""

    volume: Volume
    placement: Placement | None
    facts: HostFacts | None
    lv: LogicalVolume | None
    cache: Cache | None
    latest: Latest | None
    slow_time: SlowTime | None = None
    limits: SlowLimits = field(default_factory=SlowLimits, compare=False, repr=False)

    @property
    def slow_limit(self) -> SlowLimit:
        """From which read time on it is slow."""
        return self.limits.of_volume(self.volume, self.host)

    @property
    def host(self) -> Host | None:
        return self.placement.host if self.placement is not None else None

    @property
    def vg(self) -> VolumeGroup | None:
        if self.placement is None or self.facts is None:
            return None
        return self.facts.vg(self.placement.vg_uuid)

    @property
    def technology(self) -> Technology:
        return of_layout(self.volume.layout)

    @property
    def device(self) -> str | None:
        """The device that the guest uses instead of the logical volume; None for the volume."""
        return device_of(self.lv) if self.lv is not None else None

    @property
    def iops(self) -> float | None:
        """Reads and writes a second; None where either is unknown."""
        latest = self.latest
        if latest is None or latest.read_iops is None or latest.write_iops is None:
            return None
        return latest.read_iops + latest.write_iops

    @property
    def dirty_bytes(self) -> int:
        """What only the cache holds, by the last sample as lists show it; by the last inventory
        where no fresh sample shows it."""
        if self.latest is not None and not self.is_stale and self.latest.dirty_bytes is not None:
            return self.latest.dirty_bytes
        return self.cache.dirty_bytes if self.cache is not None else 0

    @property
    def is_planned(self) -> bool:
        """True until the host has created it."""
        return self.placement is not None and self.placement.lv_uuid is None

    @property
    def is_live(self) -> bool:
        """True while it exists on its host and is not retired."""
        return self.lv is not None and self.volume.retired_at is None

    @property
    def is_taggable(self) -> bool:
        """True for an adopted volume without our tag that root on the host lets Tiercel tag."""
        if self.volume.managed or self.volume.adopted_at is None:
            return False
        return self.vg is not None and self.vg.allowed and self.wish is not None

    @property
    def is_stale(self) -> bool:
        return self.latest is not None and self.latest.age_seconds > silent_seconds()

    @property
    def is_slow(self) -> bool:
        """Whether it is slow now; of what has no new figures that is not known."""
        return self.slow_time is not None and self.latest is not None and not self.is_stale

    @property
    def undo_until(self) -> datetime | None:
        """Until when a retired volume cannot be destroyed, by the host's clock and by the panel's;
        None for any other."""
        if self.volume.retired_at is None or self.placement is None or self.host is None:
            return None
        since = max(
            self.volume.retired_at, self.placement.retired_seen_at or self.volume.retired_at
        )
        return since + timedelta(hours=self.host.undo_hours)

    @cached_property
    def wish(self) -> Wish | None:
        """What the volume is now, as a wish; None where no wish could say it."""
        if self.facts is None or self.lv is None:
            return None
        try:
            wish = wish_now(self.facts, self.lv, layout_of(self.volume.layout))
        except BadWish:
            # A foreign cache that Tiercel would never make: it is shown, not changed.
            return None
        if wish.life == "retired":
            # While it is off, bcache does not say how much of it the guest had.
            wish = replace(wish, size_bytes=self.volume.size_bytes)
        return wish

    def refusal(self, wish: Wish | None) -> Refused | None:
        """Why the volume cannot become `wish`, as far as the last inventory shows."""
        host, placement = self.host, self.placement
        if host is None or placement is None:
            return Refused(
                "not_found", "The volume is not on any host.", "Move the volume to a host first."
            )
        if host.state != HostState.ACTIVE:
            return Refused(
                "host_not_active",
                f"{host.name} is {host.get_state_display()}.",
                "Resolve this on the host's page first.",
            )
        if self.facts is None or self.lv is None:
            return Refused(
                "not_found",
                "The volume is missing on the host.",
                "Wait until it is created, or check the host's page.",
            )
        if wish is None:
            return Refused(
                "unsupported",
                "The volume has a cache that Tiercel did not make and cannot describe.",
                "Change or remove that cache on the host.",
            )
        if wish.life == "retired" and self.volume.retired_at is not None:
            return Refused("retired", "The volume is retired.", "Restore the volume first.")
        try:
            steps = plan(self.facts, placement.target, wish)
            refuse_faulty(steps, self.facts, placement.host.accepted_faults)
            # A plan without steps never asks whether it may change anything.
            demand_change(begin_draft(self.facts, placement.target, wish))
        except Refused as refusal:
            return refusal
        return None

    def allowed(self, wish: Wish | None) -> Wish:
        """The wish, where the last inventory forbids nothing of it; raises `Refused`."""
        if (refusal := self.refusal(wish)) is not None:
            raise refusal
        return cast("Wish", wish)  # None is always refused


def snapshots_of(
    volumes: Iterable[Volume], known: Mapping[int, HostFacts | None] | None = None
) -> list[VolumeSnapshot]:
    """The rows in the order of `volumes`: one query each for places, hosts and figures, and every
    host's inventory is read and decoded once (a join would read it for every volume). `known` are
    inventories that are decoded already, by primary key of the host."""
    volumes = list(volumes)
    current = Placement.objects.filter(volume__in=any_of(each.pk for each in volumes), until=None)
    placements = {each.volume_id: each for each in current}
    placed_on = {each.host_id for each in placements.values()}
    hosts = Host.objects.without_inventory().filter(pk__in=any_of(placed_on))
    host_by_id = {host.pk: host for host in hosts}
    for each in placements.values():
        each.host = host_by_id[each.host_id]
    inventories = dict(known or {})
    inventories |= inventories_of(
        {
            each.host_id: each.host
            for each in placements.values()
            if each.host_id not in inventories
        }.values()
    )
    figures, limits = samples.latest_of(volumes), SlowLimits()
    slow = slow_times(volume.pk for volume in volumes)
    rows = []
    for volume in volumes:
        placement = placements.get(volume.pk)
        facts = None
        if placement is not None:
            placement.volume = volume
            facts = inventories[placement.host_id]
        lv = None
        if facts is not None and placement is not None and placement.lv_uuid is not None:
            lv = facts.lv(placement.lv_uuid)
        cache = cache_of(facts, lv) if facts is not None and lv is not None else None
        latest = figures.get(volume.pk)
        time = slow.get(volume.pk)
        rows.append(VolumeSnapshot(volume, placement, facts, lv, cache, latest, time, limits))
    return rows

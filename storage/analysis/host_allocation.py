"""Which volume of a host gets how much SSD: what is there, what is proposed, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import inf
from typing import Final

from storage.analysis.advice.usage import is_on_slow_disk
from storage.analysis.allocation.division import (
    Division,
    Room,
    SizeOption,
    VolumeChoices,
    divide,
    next_ssds,
)
from storage.analysis.cache_yield import cache_yields
from storage.analysis.heat_forecast import LEAST_SECONDS, TOO_LITTLE, heat_obstacle
from storage.analysis.size_forecasts import SizePoint, mode_of, points_of, says_nothing_now
from storage.analysis.ssd_shares import (
    GB,
    GroupAllocation,
    HostAllocation,
    NextSsdOffer,
    VolumeShare,
)
from storage.analysis.ssd_writers import on_disk
from storage.byte_sizes import GIB
from storage.formatting import seconds as seconds_text
from storage.health.smart_endurance import rated_bytes
from storage.inventory.facts import HostFacts, VolumeGroup
from storage.models import Host, PhysicalDisk, SizeForecast
from storage.planner.technologies.lookup import of_layout
from storage.volumes.cache_sizes import free_bytes, writeback_refusal
from storage.volumes.plan_offers import STEP_BYTES, size_of
from storage.volumes.snapshot import VolumeSnapshot

NEXT_SSDS: Final = (480 * GB, 960 * GB, 1920 * GB, 3840 * GB)
"""Capacities that are sold."""
LEAST_SECONDS_PER_GIB: Final = 10.0
"""SSD that saves less waiting a day stays free, and is freed: it can be sold."""
LIFE_DAYS: Final = 5 * 365
"""An SSD is to last so long: a day's wear is its rated endurance divided by this."""
NAMED: Final = 5
"""Volumes that one more SSD helps most."""


NO_ALLOCATION: Final = HostAllocation((), ())
"""Of a host without an inventory."""


def host_allocation(
    host: Host,
    facts: HostFacts,
    rows: Sequence[VolumeSnapshot],
    reserved_bytes: Mapping[str, int],
    busy_ids: Collection[int],
    now: datetime,
    *,
    with_yields: bool = True,
) -> HostAllocation:
    """`rows` are the host's volumes with their plans, `reserved_bytes` the SSD promised to jobs by
    group, `busy_ids` the primary keys of volumes that a job changes. Two queries, and two more for
    the yields, which read weeks of samples."""
    volume_ids = [row.volume.pk for row in rows]
    forecasts = {each.pk: each for each in SizeForecast.objects.filter(pk__in=volume_ids)}
    disks = list(PhysicalDisk.objects.filter(host=host, gone_since=None))
    known = {
        row.volume.pk: points_of(forecast, row)
        for row in rows
        if (forecast := forecasts.get(row.volume.pk)) and not says_nothing_now(forecast, row)
    }
    groups = tuple(
        _Group(facts, vg, forecasts, known, busy_ids).allocated(
            [row for row in rows if row.placement and row.placement.vg_uuid == vg.uuid],
            reserved_bytes.get(vg.uuid, 0),
            _wear_budget(facts, vg.uuid, disks),
        )
        for vg in sorted(facts.vgs, key=lambda vg: vg.name)
        if any(not pv.missing for pv in facts.pvs_of(vg.uuid, "fast"))
    )
    if not with_yields:
        return HostAllocation(groups, ())
    # Less than what was sold is never enough, nor less than what there is where more is proposed.
    grown = {each.row.volume.pk for group in groups for each in group.changes if each.ssd_bytes > 0}
    enough = {
        row.volume.pk: [
            each for each in known[row.volume.pk] if each.size_bytes >= _sold_bytes(row)[0]
        ]
        for row in rows
        if row.volume.pk in known.keys() - grown
    }
    return HostAllocation(groups, cache_yields(rows, enough, now))


def _wear_budget(facts: HostFacts, vg_uuid: str, disks: Sequence[PhysicalDisk]) -> float | None:
    """Bytes a day at which the SSDs of a group last as long as they are to; None where the rated
    endurance of one is not known."""
    total = 0.0
    for pv in facts.pvs_of(vg_uuid, "fast"):
        below = [disk for disk in disks if disk.name and on_disk(facts, pv.name, disk.name)]
        rated = [
            disk.entered_rated_bytes or rated_bytes(disk.health.get("model", "")) for disk in below
        ]
        known = [each for each in rated if each]
        if not known or len(known) < len(rated):
            return None
        total += min(known) / LIFE_DAYS
    return total


@dataclass(frozen=True, slots=True)
class _Group:
    facts: HostFacts
    vg: VolumeGroup
    forecasts: Mapping[int, SizeForecast]
    points: Mapping[int, Sequence[SizePoint]]
    busy_ids: Collection[int]

    def allocated(
        self, rows: Sequence[VolumeSnapshot], reserved_bytes: int, wear: float | None
    ) -> GroupAllocation:
        fast = [pv for pv in self.facts.pvs_of(self.vg.uuid, "fast") if not pv.missing]

        @cache
        def needed(layout: str, size_bytes: int) -> int:
            """What a cache takes with its metadata."""
            return of_layout(layout).needed_bytes(self.facts, self.vg, size_bytes)

        listed = [row for row in rows if self._may_have_cache(row)]
        cases = [self._case(row, needed) for row in listed]
        candidates = [candidate for candidate, _, _ in cases]
        taken = sum(each.now.ssd_bytes for each in candidates)
        unused = max(0, free_bytes(self.facts, self.vg.uuid, "fast") - reserved_bytes)
        is_redundant = not writeback_refusal(self.facts, self.vg.uuid)
        room = Room(taken + unused, is_redundant, wear, LEAST_SECONDS_PER_GIB / GIB)
        refused = self._refused()
        division = divide(candidates, room)
        offers = next_ssds(candidates, room, division, NEXT_SSDS)
        if refused:
            division, offers = Division(tuple(each.now for each in candidates)), ()
        shares = [
            VolumeShare(
                row=row,
                now=candidate.now,
                proposed=proposed,
                unknown=unknown,
                held=held,
            )
            for row, (candidate, unknown, held), proposed in zip(
                listed, cases, division.chosen, strict=True
            )
        ]
        return GroupAllocation(
            vg=self.vg,
            room=room,
            total_bytes=sum(pv.size_bytes for pv in fast),
            shares=tuple(sorted(shares, key=_order)),
            refused=refused,
            next_ssds=tuple(
                NextSsdOffer(
                    each.ssd_bytes,
                    each.saved_seconds_per_day,
                    tuple(listed[n] for n in each.numbers[:NAMED]),
                    max(0, len(each.numbers) - NAMED),
                )
                for each in offers
            ),
        )

    def _refused(self) -> str:
        if not self.vg.allowed:
            return f"Root on the host does not let Tiercel change {self.vg.name}."
        return ""

    @staticmethod
    def _may_have_cache(row: VolumeSnapshot) -> bool:
        """Those that lie on SSD, are retired or missing, or are the host's own, have none."""
        if row.facts is None or row.lv is None or row.lv.hosts_own or not row.is_live:
            return False
        return is_on_slow_disk(row.facts, row.lv)

    def _case(
        self, row: VolumeSnapshot, needed: Callable[[str, int], int]
    ) -> tuple[VolumeChoices, str, str]:
        """The volume as a candidate, why its forecast is missing, and why it is not changed."""
        size_bytes = (row.cache.size_bytes or 0) if row.cache is not None else 0
        now_bytes = needed(row.volume.layout, size_bytes) if size_bytes else 0
        points = self.points.get(row.volume.pk)
        if not points:
            forecast = self.forecasts.get(row.volume.pk)
            unknown = (
                _unmade(row) if forecast is None else says_nothing_now(forecast, row) or TOO_LITTLE
            )
            now = SizeOption(size_bytes=size_bytes, ssd_bytes=now_bytes)
            return VolumeChoices(now), unknown, ""
        at_now = min(points, key=lambda each: abs(each.size_bytes - size_bytes))
        written = at_now.written_bytes_per_day if size_bytes else 0.0
        now = SizeOption(
            size_bytes=size_bytes,
            ssd_bytes=now_bytes,
            hit_rate=at_now.hit_rate,
            written_bytes_per_day=written,
            writeback=mode_of(row) == "writeback",
        )
        if held := self._held(row):
            return VolumeChoices(now), "", held
        least_sold, most_sold = _sold_bytes(row)
        choices = [
            self._choice(row, point, needed)
            for point in points
            if point is not at_now
            and least_sold <= point.size_bytes <= most_sold
            and (not point.size_bytes or point.size_bytes >= row.technology.least_offered_bytes)
        ]
        return VolumeChoices(now, choices), "", ""

    @staticmethod
    def _choice(
        row: VolumeSnapshot, point: SizePoint, needed: Callable[[str, int], int]
    ) -> SizeOption:
        return SizeOption(
            size_bytes=point.size_bytes,
            ssd_bytes=needed(row.volume.layout, point.size_bytes) if point.size_bytes else 0,
            saved_low=point.saved_low,
            saved_high=point.saved_high,
            hit_rate=point.hit_rate,
            written_bytes_per_day=point.written_bytes_per_day,
            writeback=mode_of(row) == "writeback" and bool(point.size_bytes),
        )

    def _held(self, row: VolumeSnapshot) -> str:
        if row.volume.pk in self.busy_ids:
            return "A job is changing the volume."
        if row.wish is None:
            return "Its cache was not made by Tiercel and cannot be described."
        if row.cache is not None and row.cache.trouble:
            return f"Its cache is in trouble: {row.cache.trouble}"
        return ""


def _sold_bytes(row: VolumeSnapshot) -> tuple[float, float]:
    """Least and most of what was sold, within which two sizes are taken for one. A larger cache is
    not for nothing where another customer pays for it; without a plan any size may be made."""
    plan = row.volume.cache_plan
    if plan is None:
        return 0, inf
    sold_bytes = size_of(plan, row.volume.size_bytes, row.technology)
    return max(0, sold_bytes - STEP_BYTES), sold_bytes + STEP_BYTES


def _unmade(row: VolumeSnapshot) -> str:
    """Why no forecast was made so far."""
    if (obstacle := heat_obstacle(row)) is not None:
        return f"{obstacle.message} {obstacle.correction}"
    return f"Not known yet: a forecast needs {seconds_text(LEAST_SECONDS)} of its traffic."


def _order(share: VolumeShare) -> tuple[int, int, float, str]:
    """What frees SSD before what needs it."""
    if share.is_changed:
        return 0, int(share.ssd_bytes > 0), -share.proposed.saved, share.row.volume.label
    return (1 if share.now.size_bytes else 2), 0, 0.0, share.row.volume.label

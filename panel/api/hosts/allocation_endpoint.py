"""Who gets how much SSD of a host, and what is proposed."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.queue.ssd_allocation import allocation_of
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, DateTime, Float, Integer, Text
from panel.api.framework.refs import Ref
from panel.api.framework.shape import Shape
from panel.api.hosts.host_resource import HostResource
from storage.database_clock import database_now


class VolumeShareShape(Shape):
    """SSD that a volume has, and the best amount; equal: no change is proposed."""

    volume = Ref("The volume.", of="row.volume")
    cache_bytes = Integer("Size of its cache; 0: none.", of="now.size_bytes")
    proposed_bytes = Integer("Size of the cache proposed; 0: none.", of="proposed.size_bytes")
    saved_seconds_per_day_low = Float(
        "Seconds of waiting that the change saves a day, at least; below 0: it costs some.",
        of="proposed.saved_low",
    )
    saved_seconds_per_day_high = Float(
        "Seconds of waiting that the change saves a day, at most.", of="proposed.saved_high"
    )
    written_bytes_per_day = Float(
        "Bytes a day that the cache proposed writes to SSD; null: unknown.", null=True
    )
    why = Text("Why, in a sentence for people.")


class NextSsdShape(Shape):
    """The savings of one more SSD, beyond the proposal."""

    ssd_bytes = Integer("Its capacity.")
    saved_seconds_per_day = Float("Seconds of waiting that it would save a day.")
    volumes = Ref(
        "Up to five volumes that benefit most.",
        many=True,
    )


class GroupAllocationShape(Shape):
    """The SSD of one volume group. Proposed changes come first, in their order; then the other
    volumes with a cache, then those without."""

    name = Text("The volume group.", of="vg.name")
    ssd_bytes = Integer("Bytes of SSD in caches or free.", of="room.ssd_bytes")
    free_bytes = Integer("Of these, free now.")
    free_bytes_after = Integer("Of these, free after all proposed changes.")
    saved_seconds_per_day_low = Float(
        "Seconds of waiting that the proposals save a day, at least.", of="saved_low"
    )
    saved_seconds_per_day_high = Float(
        "Seconds of waiting that the proposals save a day, at most.", of="saved_high"
    )
    written_bytes_per_day = Float(
        "Bytes that caches write to SSD per day now; caches without a known rate are left out.",
        of="written_now",
    )
    written_bytes_per_day_after = Float("The same with the proposals.", of="written_after")
    wear_bytes_per_day = Float(
        "Bytes per day at which the SSDs last five years; null: their endurance is unknown.",
        of="room.wear_bytes_per_day",
        null=True,
    )
    verdict = Text("The result, as a sentence for people.")
    items = VolumeShareShape("Each volume that may have a cache.", of="shares", many=True)
    next_ssds = NextSsdShape("Savings of one more SSD, by capacity.", many=True)


class CacheYieldShape(Shape):
    """What a cache does for its SSD, on average of the last two weeks."""

    volume = Ref("The volume.", of="row.volume")
    cache_bytes = Integer("Size of its cache.", of="size_bytes")
    measured_seconds = Float("Seconds of the measurement.", of="seconds")
    per_gib_hour = Float(
        "I/Os that each GiB of SSD serves in an hour; null: measured for less than a day.",
        null=True,
    )
    is_idle = Boolean("It serves next to nothing.")
    busy_until = DateTime(
        "End of the last day on which an idle cache was busy; null: it is not idle, or was always "
        "idle.",
        null=True,
    )
    enough_bytes = Integer(
        "The smallest size that would serve nearly as much; null: none, or unknown.",
        of=lambda of: of.enough.size_bytes if of.enough is not None else None,
        null=True,
    )


class AllocationShape(Shape):
    """The allocation of SSD. Empty without an inventory or without SSD."""

    groups = GroupAllocationShape("Each volume group with SSD.", many=True)
    caches = CacheYieldShape("Each cache, what does least first.", of="yields", many=True)


class HostDivision(HostResource):
    """The division of a host's SSD."""

    @operation(
        "host_allocation", "Show the allocation of SSD, and proposed changes", AllocationShape
    )
    def get(self, request: Request, key: str) -> Response:
        """The allocation that saves the most waiting time, within sold plans and the endurance of
        the SSDs. A volume without a forecast keeps its cache."""
        return self.shown(allocation_of(self.host(key, with_inventory=True), database_now()))

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
    """What a volume has of the SSD, and what it would best have; the same: nothing is proposed."""

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
        "Bytes a day that the cache proposed writes to SSD; null: not known.", null=True
    )
    why = Text("Why, in a sentence for people.")


class NextSsdShape(Shape):
    """What one more SSD would save beyond the proposal."""

    ssd_bytes = Integer("Its capacity.")
    saved_seconds_per_day = Float("Seconds of waiting that it would save a day.")
    volumes = Ref(
        "The volumes on which it saves most, at most five.",
        many=True,
    )


class GroupAllocationShape(Shape):
    """The SSD of one volume group. What is proposed comes first, in the order in which it would be
    done; then the other volumes with a cache, then those without."""

    name = Text("The volume group.", of="vg.name")
    ssd_bytes = Integer("SSD that caches have, and that is free.", of="room.ssd_bytes")
    free_bytes = Integer("Free of it now.")
    free_bytes_after = Integer("Free of it once all is done that is proposed.")
    saved_seconds_per_day_low = Float(
        "Seconds of waiting that the proposals save a day, at least.", of="saved_low"
    )
    saved_seconds_per_day_high = Float(
        "Seconds of waiting that the proposals save a day, at most.", of="saved_high"
    )
    written_bytes_per_day = Float(
        "Bytes a day that caches write to SSD now, without those of which it is not known.",
        of="written_now",
    )
    written_bytes_per_day_after = Float("The same with the proposals.", of="written_after")
    wear_bytes_per_day = Float(
        "Bytes a day at which the SSDs last five years; null: their endurance is not known.",
        of="room.wear_bytes_per_day",
        null=True,
    )
    verdict = Text("What it comes to, in a sentence for people.")
    items = VolumeShareShape("Each volume that may have a cache.", of="shares", many=True)
    next_ssds = NextSsdShape("What one more SSD would save, by capacity.", many=True)


class CacheYieldShape(Shape):
    """What a cache does for its SSD, on average of the last two weeks."""

    volume = Ref("The volume.", of="row.volume")
    cache_bytes = Integer("Size of its cache.", of="size_bytes")
    measured_seconds = Float("For how long that was measured.", of="seconds")
    per_gib_hour = Float(
        "I/Os that each GiB of SSD serves in an hour; null: measured for less than a day.",
        null=True,
    )
    is_idle = Boolean("It serves next to nothing.")
    busy_until = DateTime(
        "End of the last day on which an idle cache was not; null: it is not idle, or always was.",
        null=True,
    )
    enough_bytes = Integer(
        "The smallest size that would serve nearly as much; null: none, or not known.",
        of=lambda of: of.enough.size_bytes if of.enough is not None else None,
        null=True,
    )


class AllocationShape(Shape):
    """Who gets how much SSD. Nothing in it without an inventory, or without SSD."""

    groups = GroupAllocationShape("Each volume group with SSD.", many=True)
    caches = CacheYieldShape("Each cache, what does least first.", of="yields", many=True)


class HostDivision(HostResource):
    """The division of a host's SSD."""

    @operation(
        "host_allocation", "Show who gets how much SSD, and what is proposed", AllocationShape
    )
    def get(self, request: Request, key: str) -> Response:
        """The division that saves most waiting, within what was sold and what the SSDs bear. A
        volume without a forecast keeps what it has."""
        return self.shown(allocation_of(self.host(key, with_inventory=True), database_now()))

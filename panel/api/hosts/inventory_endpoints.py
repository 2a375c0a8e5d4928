"""What was found on a host, and what is advised for it. Staff only."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, DateTime, Float, Integer, Text, Texts
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Ref
from panel.api.framework.shape import Shape, show
from panel.api.hosts.host_resource import HostResource
from panel.api.jobs.job_shape import ErrorShape
from storage.analysis.advice import outlook
from storage.models import Placement, Volume
from storage.planner.technologies.lookup import cache_of
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of


class DiskFoundShape(Shape):
    """A disk as the kernel has it; `POST /hosts/{key}/ssds` takes `name` and `serial`."""

    name = Text("Such as sda.")
    dev = Text("Device number.")
    size_bytes = Integer("Bytes.")
    rotational = Boolean("True: a hard disk.")
    model = Text("Model, as the disk reports it; empty: none.")
    serial = Text("Serial number of the disk.")
    transport = Text("sata, sas, nvme or another bus; empty: unknown.")
    read_only = Boolean("Whether it refuses writes.")  # type: ignore[assignment]  # a field, no attribute
    scheduler = Text("Its I/O scheduler, such as mq-deadline; empty: unknown.")


class ArrayFoundShape(Shape):
    """An md array; `GET /hosts/{key}/arrays` has its rebuilds and checks."""

    name = Text("Such as md0.")
    uuid = Text("Its UUID, as LVM or md writes it.")
    level = Text("RAID level, such as raid1.")
    state = Text("Its current state.")
    size_bytes = Integer("Bytes.")
    degraded_count = Integer(
        "How many of its disks are missing or have failed; null: unknown.", null=True
    )
    members = Texts(
        "Names of its disks, such as sda1.",
        of=lambda array: [member.name for member in array.members],
    )


class PhysicalVolumeShape(Shape):
    """A physical volume of LVM."""

    uuid = Text("Its UUID, as LVM or md writes it.")
    name = Text("Of the device, such as md0.")
    vg_uuid = Text("LVM's UUID of the volume group.")
    vg_name = Text("Name of the volume group.")
    size_bytes = Integer("Bytes.")
    free_bytes = Integer("Free bytes.")
    tier = Text("fast (SSD) or slow.")
    redundant = Boolean("Whether one underlying device may fail without loss of data.")
    healthy = Boolean("False: an underlying device has failed.")
    missing = Boolean("Whether its device is gone.")
    allocatable = Boolean("Whether LVM may allocate space on it.")


class VolumeGroupShape(Shape):
    """A volume group of LVM."""

    uuid = Text("Its UUID, as LVM or md writes it.")
    name = Text("Of the volume group.")
    size_bytes = Integer("Bytes.")
    free_bytes = Integer("Free bytes.")
    extent_bytes = Integer("Bytes of one extent; sizes are rounded up to it.")
    allowed = Boolean("Root lets Tiercel change it.")
    partial = Boolean("Whether a physical volume is missing.")  # type: ignore[assignment]  # a field, no attribute


class LogicalVolumeShape(Shape):
    """A logical volume that a guest could use. `volume` is the panel's record of it."""

    uuid = Text("Its UUID, as LVM or md writes it.")
    name = Text("Of the logical volume.")
    vg_name = Text("Name of the volume group.")
    size_bytes = Integer("Bytes.")
    active = Boolean("Whether its device exists.")
    cached = Boolean("Whether it has a cache.", given=True)
    volume = Ref("The volume.", null=True, given=True)
    users = Texts(
        "Names of the guests, mounts and others that hold it.",
        of=lambda lv: [user.name for user in lv.users],
    )


class InventoryShape(Shape):
    """A host as it was read at `read_at`."""

    read_at = DateTime("When it was read from the host; null: never.", given=True)
    kernel = Text("Release of the running kernel.", of="kernel.release")
    disks = DiskFoundShape("Disks as the kernel has them.", many=True)
    arrays = ArrayFoundShape("md arrays.", many=True)
    physical_volumes = PhysicalVolumeShape("Physical volumes of LVM.", of="pvs", many=True)
    volume_groups = VolumeGroupShape("Volume groups of LVM.", of="vgs", many=True)
    logical_volumes = LogicalVolumeShape(
        "Logical volumes that a guest could use.", many=True, given=True
    )


class LoadShape(Shape):
    """Share of the reads that the slow disks answered; null if they answered none."""

    volume = Ref("The volume.", of="row.volume")
    share = Float(
        "Share of the reads that the slow disks answered, 0 to 1; null: they answered none.",
        null=True,
    )


class GuestLoadShape(Shape):
    """The same for all volumes of a guest."""

    guest = Text("Name of the guest.")
    volume_count = Integer("How many volumes it has here.")
    share = Float(
        "Share of the reads that the slow disks answered, 0 to 1; null: they answered none.",
        null=True,
    )


class SuggestionShape(Shape):
    """A cache that would help, or that may help if repeated reads are unknown. `is_enough` is false
    until three `days` have figures. `…_commands` are for an admin to type where root allows Tiercel
    only to read."""

    volume = Ref("The volume.", of="use.row.volume")
    size_bytes = Integer("Bytes.")
    mode = Text("writethrough; writeback where only writes gain.", of="advised.mode")
    reasons = Texts(
        "Sentences for people: why this size, this technology, and what writes say.",
        of="advised.reasons",
    )
    saved_seconds_per_day_low = Float(
        "Seconds of waiting that it would save a day, at least; null: unknown.",
        of="advised.prospect.saved_seconds_per_day.low",
        null=True,
    )
    saved_seconds_per_day_high = Float(
        "Seconds of waiting that it would save a day, at most.",
        of="advised.prospect.saved_seconds_per_day.high",
        null=True,
    )
    waited_seconds = Float("Seconds that its guest waited for reads without a cache.")
    covered_seconds = Float("Measured seconds.")
    waited_seconds_per_day = Float("On a usual day: the days with the longest waits are left out.")
    days = Integer("Days with figures.", of="usual.days")
    is_enough = Boolean("False: fewer than three days have figures.")
    obstacle = ErrorShape("Why it cannot be added now; null: it can.", null=True)
    add_commands = Texts(
        "Commands for root to add it; empty: none can be given.",
        of=lambda suggestion: suggestion.commands.add if suggestion.commands else (),
    )
    remove_commands = Texts(
        "Commands for root to remove it again.",
        of=lambda suggestion: suggestion.commands.remove if suggestion.commands else (),
    )


class UnhelpedShape(Shape):
    """A volume that waits for reads although no cache is recommended."""

    volume = Ref("The volume.", of="use.row.volume")
    reason = Text("Why not, in a sentence for people.")
    instead = Text("What would help; empty: not certain yet.")


class RiskShape(Shape):
    """A risk."""

    severity = Text("error, warning or info.")
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")


class AdviceShape(Shape):
    """Which volumes of a host to cache first, based on the figures from `start` to `end`, which
    cover `seconds` on `days` days. `uses` and `guests` cover the whole time, `recent` the last
    hour. `is_enough` is false until three days have figures."""

    start = DateTime("When it begins.")
    end = DateTime("When it ends.")
    seconds = Float("Seconds with figures.")
    days = Integer("Days with figures.")
    is_enough = Boolean("False: fewer than three days have figures.")
    uses = LoadShape("Volumes by their reads from the slow disks in the whole period.", many=True)
    recent = LoadShape("The same for its last hour.", many=True)
    guests = GuestLoadShape("The same by guest.", many=True)
    suggestions = SuggestionShape("Caches that would help, best first.", many=True)
    unhelped = UnhelpedShape(
        "Volumes that wait for reads although no cache is recommended.", many=True
    )
    risks = RiskShape("What may go wrong on this host.", many=True)


class HostInventory(HostResource):
    """What was found on a host."""

    @operation("host_inventory", "Show the inventory of a host", InventoryShape, problems=(409,))
    def get(self, request: Request, key: str) -> Response:
        """Disks with their serial numbers, arrays, physical volumes, groups and logical volumes, as
        last read. 409 `not_read` before the first inventory."""
        host = self.host(key, with_inventory=True)
        facts = inventory_of(host)
        if facts is None or host.facts_at is None:
            raise ApiProblem(
                409, "not_read", "The host has not been read yet.", "Wait, or refresh it."
            )
        placed = Placement.objects.filter(host=host, until=None).select_related("volume")
        volumes = {each.lv_uuid: each.volume for each in placed}
        logical_volumes = [
            show(
                LogicalVolumeShape,
                lv,
                cached=cache_of(facts, lv) is not None,
                volume=volumes.get(lv.uuid),
            )
            for lv in facts.public_lvs()
        ]
        return self.shown(facts, read_at=host.facts_at, logical_volumes=logical_volumes)


class HostAdvice(HostResource):
    """What is advised for a host."""

    @operation("host_advice", "Show which volumes of a host to cache first", AdviceShape)
    def get(self, request: Request, key: str) -> Response:
        """Based on the last two weeks; changes nothing."""
        host = self.host(key, with_inventory=True)
        facts = inventory_of(host)
        volumes = Volume.objects.visible_to(self.user).placed_on(host).in_service()
        rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
        return self.shown(outlook(host, facts, rows, timezone.now()))

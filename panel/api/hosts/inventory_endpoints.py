"""What was found on a host, and what is advised for it. Staff only."""

from __future__ import annotations

from collections.abc import Iterable

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.fields import Boolean, DateTime, Float, Integer, Text, Texts
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.resource_json import volume_ref
from panel.api.response_shapes import ErrorShape, Json, Ref
from panel.models import Scope
from storage.analysis.advice import outlook
from storage.analysis.advice.suggestion import Suggestion
from storage.analysis.advice.usage import LoadShare
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.inventory.stored import inventory_of
from storage.models import Host, Placement, Volume
from storage.planner import Refused
from storage.planner.technologies.lookup import cache_of
from storage.volumes.snapshot import snapshots_of

DISK = (
    "name",
    "dev",
    "size_bytes",
    "rotational",
    "model",
    "serial",
    "transport",
    "read_only",
    "scheduler",
)
ARRAY = ("name", "uuid", "level", "state", "size_bytes", "degraded_count")
PV = (
    "uuid",
    "name",
    "vg_uuid",
    "vg_name",
    "size_bytes",
    "free_bytes",
    "tier",
    "redundant",
    "healthy",
    "missing",
    "allocatable",
)
SUGGESTION = (
    "size_bytes",
    "waited_seconds",
    "covered_seconds",
    "waited_seconds_per_day",
    "is_enough",
)
VG = ("uuid", "name", "size_bytes", "free_bytes", "extent_bytes", "allowed", "partial")


class DiskFoundShape(Shape):
    """A disk as the kernel has it; `POST /hosts/{key}/ssds` takes `name` and `serial`."""

    name = Text("Such as sda.")
    dev = Text("Device number.")
    size_bytes = Integer("Bytes.")
    rotational = Boolean("True: a hard disk.")
    model = Text("Model, as the disk names it; empty: it says none.")
    serial = Text("Serial number of the disk.")
    transport = Text("sata, sas, nvme or another bus; empty: not known.")
    read_only = Boolean("Whether it refuses writes.")  # type: ignore[assignment]  # a field, no attribute
    scheduler = Text("Its I/O scheduler, such as mq-deadline; empty: not known.")


class ArrayFoundShape(Shape):
    """An md array; `GET /hosts/{key}/arrays` has its rebuilds and checks."""

    name = Text("Such as md0.")
    uuid = Text("Its UUID, as LVM or md writes it.")
    level = Text("RAID level, such as raid1.")
    state = Text("Where it stands now.")
    size_bytes = Integer("Bytes.")
    degraded_count = Integer(
        "How many of its disks are missing or have failed; null: unknown.", null=True
    )
    members = Texts("Names of its disks, such as sda1.")


class PhysicalVolumeShape(Shape):
    """A physical volume of LVM."""

    uuid = Text("Its UUID, as LVM or md writes it.")
    name = Text("Of the device, such as md0.")
    vg_uuid = Text("LVM's UUID of the volume group.")
    vg_name = Text("Name of the volume group.")
    size_bytes = Integer("Bytes.")
    free_bytes = Integer("Bytes of it that nothing uses.")
    tier = Text("fast (SSD) or slow.")
    redundant = Boolean("Whether one device below may fail without loss of data.")
    healthy = Boolean("False: a device below has failed.")
    missing = Boolean("Whether its device is gone.")
    allocatable = Boolean("Whether LVM may put anything on it.")


class VolumeGroupShape(Shape):
    """A volume group of LVM."""

    uuid = Text("Its UUID, as LVM or md writes it.")
    name = Text("Of the volume group.")
    size_bytes = Integer("Bytes.")
    free_bytes = Integer("Bytes of it that nothing uses.")
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
    cached = Boolean("Whether it has a cache.")
    volume = Ref("The volume.", null=True)
    users = Texts("Names of the guests, mounts and others that hold it.")


class InventoryShape(Shape):
    """A host as it was read at `read_at`."""

    read_at = DateTime("When it was read from the host; null: never.")
    kernel = Text("Release of the running kernel.")
    disks = DiskFoundShape("Disks as the kernel has them.", many=True)
    arrays = ArrayFoundShape("md arrays.", many=True)
    physical_volumes = PhysicalVolumeShape("Physical volumes of LVM.", many=True)
    volume_groups = VolumeGroupShape("Volume groups of LVM.", many=True)
    logical_volumes = LogicalVolumeShape("Logical volumes that a guest could use.", many=True)


class LoadShape(Shape):
    """Its part of the reads that the slow disks answered; null where they answered none."""

    volume = Ref("The volume.")
    share = Float(
        "Share of the reads that the slow disks answered, 0 to 1; null: they answered none.",
        null=True,
    )


class GuestLoadShape(Shape):
    """The same of all volumes of a guest."""

    guest = Text("Name of the guest.")
    volume_count = Integer("How many volumes it has here.")
    share = Float(
        "Share of the reads that the slow disks answered, 0 to 1; null: they answered none.",
        null=True,
    )


class SuggestionShape(Shape):
    """A cache that would help. `is_enough` is false where fewer `days` than three have figures.
    `…_commands` are what a person would type where root lets Tiercel only look."""

    volume = Ref("The volume.")
    size_bytes = Integer("Bytes.")
    waited_seconds = Float("What its guest waited for reads without a cache.")
    covered_seconds = Float("Of so many seconds that were measured.")
    waited_seconds_per_day = Float("On a usual day: the days with the longest waits are left out.")
    days = Integer("So many days have figures.")
    is_enough = Boolean("False: fewer than three days have figures.")
    obstacle = ErrorShape("Why it cannot be added now; null: it can.", null=True)
    add_commands = Texts("What root would type to add it; empty: nothing can be said.")
    remove_commands = Texts("What root would type to remove it again.")


class RiskShape(Shape):
    """What may go wrong."""

    severity = Text("error, warning or info.")
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")


class AdviceShape(Shape):
    """Which volumes of a host to cache first, by the figures from `start` to `end`: there are
    `seconds` of them, on so many `days`. `uses` and `guests` are of all of that time, `recent` of
    its last hour. `is_enough` is false before three days have figures."""

    start = DateTime("When it begins.")
    end = DateTime("When it ends.")
    seconds = Float("So many seconds have figures.")
    days = Integer("So many days have figures.")
    is_enough = Boolean("False: fewer than three days have figures.")
    uses = LoadShape(
        "Volumes by the reads that they sent to the slow disks in all of that time.", many=True
    )
    recent = LoadShape("The same for its last hour.", many=True)
    guests = GuestLoadShape("The same by guest.", many=True)
    suggestions = SuggestionShape("Caches that would help, the best first.", many=True)
    risks = RiskShape("What may go wrong on this host.", many=True)


class HostInventory(Resource):
    """What was found on a host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True

    @extend_schema(
        operation_id="host_inventory",
        summary="Show the inventory of a host",
        responses={200: InventoryShape, **described.problems(403, 404, 409)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Disks with their serial numbers, arrays, physical volumes, groups and logical volumes, as
        they were read last. 409 `not_read` before the first time."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        facts = inventory_of(host)
        if facts is None or host.facts_at is None:
            raise ApiProblem(409, "not_read", "The host was not read yet.", "Wait, or refresh it.")
        return Response(show(InventoryShape, _inventory_json(host, facts)))


class HostAdvice(Resource):
    """What is advised for a host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True

    @extend_schema(
        operation_id="host_advice",
        summary="Show which volumes of a host to cache first",
        responses={200: AdviceShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """By the figures of the last two weeks; nothing is changed."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        facts = inventory_of(host)
        volumes = Volume.objects.visible_to(self.user).placed_on(host).in_service()
        rows = snapshots_of(volumes.select_related("customer"), {host.pk: facts})
        advised = outlook(host, facts, rows, timezone.now())
        data = {
            **_some(advised, ("start", "end", "seconds", "days", "is_enough")),
            "uses": _loads_json(advised.uses),
            "recent": _loads_json(advised.recent),
            "guests": advised.guests,
            "suggestions": list(map(_suggestion_json, advised.suggestions)),
            "risks": advised.risks,
        }
        return Response(show(AdviceShape, data))


def _inventory_json(host: Host, facts: HostFacts) -> Json:
    placed = Placement.objects.filter(host=host, until=None).select_related("volume")
    volumes = {each.lv_uuid: each.volume for each in placed}
    return {
        "read_at": host.facts_at,
        "kernel": facts.kernel.release,
        "disks": [_some(disk, DISK) for disk in facts.disks],
        "arrays": [
            {**_some(array, ARRAY), "members": [member.name for member in array.members]}
            for array in facts.arrays
        ],
        "physical_volumes": [_some(pv, PV) for pv in facts.pvs],
        "volume_groups": [_some(vg, VG) for vg in facts.vgs],
        "logical_volumes": [_lv_json(facts, lv, volumes) for lv in facts.public_lvs()],
    }


def _lv_json(facts: HostFacts, lv: LogicalVolume, volumes: dict[str | None, Volume]) -> Json:
    volume = volumes.get(lv.uuid)
    return {
        **_some(lv, ("uuid", "name", "vg_name", "size_bytes", "active")),
        "cached": cache_of(facts, lv) is not None,
        "volume": volume_ref(volume) if volume is not None else None,
        "users": [user.name for user in lv.users],
    }


def _loads_json(shares: Iterable[LoadShare]) -> list[Json]:
    return [{"volume": volume_ref(each.row.volume), "share": each.share} for each in shares]


def _suggestion_json(each: Suggestion) -> Json:
    commands = each.commands
    return {
        "volume": volume_ref(each.use.row.volume),
        **_some(each, SUGGESTION),
        "days": each.usual.days,
        "obstacle": _refusal_json(each.obstacle) if each.obstacle is not None else None,
        "add_commands": list(commands.add) if commands is not None else [],
        "remove_commands": list(commands.remove) if commands is not None else [],
    }


def _refusal_json(refused: Refused) -> Json:
    return _some(refused, ("code", "message", "correction"))


def _some(each: object, names: tuple[str, ...]) -> Json:
    return {name: getattr(each, name) for name in names}

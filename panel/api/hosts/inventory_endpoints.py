"""What was found on a host, and what is advised for it. Staff only."""

from __future__ import annotations

from collections.abc import Iterable

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.resource_json import volume_ref
from panel.api.response_shapes import ErrorShape, Json, Ref
from panel.models import Scope
from storage.analysis.advice import outlook
from storage.analysis.advice.suggestion import Suggestion
from storage.analysis.advice.usage import LoadShare
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.models import Host, Placement, Volume
from storage.planner import Refused
from storage.planner.technologies.lookup import cache_of
from storage.stored_inventory import inventory_of
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

    name = serializers.CharField(help_text="Such as sda.")
    dev = serializers.CharField(help_text="Device number.")
    size_bytes = serializers.IntegerField()
    rotational = serializers.BooleanField(help_text="True: a hard disk.")
    model = serializers.CharField(allow_blank=True)
    serial = serializers.CharField(allow_blank=True)
    transport = serializers.CharField(
        allow_blank=True, help_text="sata, sas, nvme or another bus; empty: not known."
    )
    read_only = serializers.BooleanField(help_text="Whether it refuses writes.")  # type: ignore[assignment]  # a field, no attribute
    scheduler = serializers.CharField(
        allow_blank=True, help_text="Its I/O scheduler, such as mq-deadline; empty: not known."
    )


class ArrayFoundShape(Shape):
    """An md array; `GET /hosts/{key}/arrays` has its rebuilds and checks."""

    name = serializers.CharField(help_text="Such as md0.")
    uuid = serializers.CharField()
    level = serializers.CharField()
    state = serializers.CharField()
    size_bytes = serializers.IntegerField()
    degraded_count = serializers.IntegerField(allow_null=True)
    members = serializers.ListField(child=serializers.CharField())


class PhysicalVolumeShape(Shape):
    """A physical volume of LVM."""

    uuid = serializers.CharField()
    name = serializers.CharField(help_text="Of the device, such as md0.")
    vg_uuid = serializers.CharField(allow_blank=True)
    vg_name = serializers.CharField(allow_blank=True)
    size_bytes = serializers.IntegerField()
    free_bytes = serializers.IntegerField()
    tier = serializers.CharField(help_text="fast (SSD) or slow.")
    redundant = serializers.BooleanField(
        help_text="Whether one device below may fail without loss of data."
    )
    healthy = serializers.BooleanField(help_text="False: a device below has failed.")
    missing = serializers.BooleanField(help_text="Whether its device is gone.")
    allocatable = serializers.BooleanField(help_text="Whether LVM may put anything on it.")


class VolumeGroupShape(Shape):
    """A volume group of LVM."""

    uuid = serializers.CharField()
    name = serializers.CharField(help_text="Of the volume group.")
    size_bytes = serializers.IntegerField()
    free_bytes = serializers.IntegerField()
    extent_bytes = serializers.IntegerField(
        help_text="Bytes of one extent; sizes are rounded up to it."
    )
    allowed = serializers.BooleanField(help_text="Root lets Tiercel change it.")
    partial = serializers.BooleanField(help_text="Whether a physical volume is missing.")  # type: ignore[assignment]  # a field, no attribute


class LogicalVolumeShape(Shape):
    """A logical volume that a guest could use. `volume` is the panel's record of it."""

    uuid = serializers.CharField()
    name = serializers.CharField(help_text="Of the logical volume.")
    vg_name = serializers.CharField()
    size_bytes = serializers.IntegerField()
    active = serializers.BooleanField(help_text="Whether its device exists.")
    cached = serializers.BooleanField(help_text="Whether it has a cache.")
    volume = Ref(allow_null=True)
    users = serializers.ListField(
        child=serializers.CharField(),
        help_text="Names of the guests, mounts and others that hold it.",
    )


class InventoryShape(Shape):
    """A host as it was read at `read_at`."""

    read_at = serializers.DateTimeField()
    kernel = serializers.CharField(allow_blank=True, help_text="Release of the running kernel.")
    disks = DiskFoundShape(many=True, help_text="Disks as the kernel has them.")
    arrays = ArrayFoundShape(many=True, help_text="md arrays.")
    physical_volumes = PhysicalVolumeShape(many=True, help_text="Physical volumes of LVM.")
    volume_groups = VolumeGroupShape(many=True, help_text="Volume groups of LVM.")
    logical_volumes = LogicalVolumeShape(
        many=True, help_text="Logical volumes that a guest could use."
    )


class LoadShape(Shape):
    """Its part of the reads that the slow disks answered; null where they answered none."""

    volume = Ref()
    share = serializers.FloatField(allow_null=True)


class GuestLoadShape(Shape):
    """The same of all volumes of a guest."""

    guest = serializers.CharField(allow_blank=True, help_text="Name of the guest.")
    volume_count = serializers.IntegerField(help_text="How many volumes it has here.")
    share = serializers.FloatField(allow_null=True)


class SuggestionShape(Shape):
    """A cache that would help. `is_enough` is false where fewer `days` than three have figures.
    `…_commands` are what a person would type where root lets Tiercel only look."""

    volume = Ref()
    size_bytes = serializers.IntegerField()
    waited_seconds = serializers.FloatField(
        help_text="What its guest waited for reads without a cache."
    )
    covered_seconds = serializers.FloatField(help_text="Of so many seconds that were measured.")
    waited_seconds_per_day = serializers.FloatField(
        help_text="On a usual day: the days with the longest waits are left out."
    )
    days = serializers.IntegerField(help_text="So many days have figures.")
    is_enough = serializers.BooleanField(help_text="False: fewer than three days have figures.")
    obstacle = ErrorShape(allow_null=True, help_text="Why it cannot be added now; null: it can.")
    add_commands = serializers.ListField(
        child=serializers.CharField(),
        help_text="What root would type to add it; empty: nothing can be said.",
    )
    remove_commands = serializers.ListField(
        child=serializers.CharField(), help_text="What root would type to remove it again."
    )


class RiskShape(Shape):
    """What may go wrong."""

    severity = serializers.CharField(help_text="error, warning or info.")
    message = serializers.CharField()
    correction = serializers.CharField(allow_blank=True)


class AdviceShape(Shape):
    """Which volumes of a host to cache first, by the figures from `start` to `end`: there are
    `seconds` of them, on so many `days`. `uses` and `guests` are of all of that time, `recent` of
    its last hour. `is_enough` is false before three days have figures."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    seconds = serializers.FloatField(help_text="So many seconds have figures.")
    days = serializers.IntegerField(help_text="So many days have figures.")
    is_enough = serializers.BooleanField(help_text="False: fewer than three days have figures.")
    uses = LoadShape(
        many=True,
        help_text="Volumes by the reads that they sent to the slow disks in all of that time.",
    )
    recent = LoadShape(many=True, help_text="The same for its last hour.")
    guests = GuestLoadShape(many=True, help_text="The same by guest.")
    suggestions = SuggestionShape(many=True, help_text="Caches that would help, the best first.")
    risks = RiskShape(many=True, help_text="What may go wrong on this host.")


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
        return Response(InventoryShape(_inventory_json(host, facts)).data)


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
        return Response(AdviceShape(data).data)


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

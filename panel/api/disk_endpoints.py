"""The disks of a host as they describe themselves through SMART. Staff only."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.resource import Resource
from panel.api.response_shapes import Json
from storage.access import Right
from storage.database_clock import database_now
from storage.health import disk_decisions
from storage.health.smart_findings import error_counts, increases
from storage.health.smart_records import DiskCondition, conditions_of
from storage.models import DiskRound, Host, PhysicalDisk
from storage.models.physical_disk import REASON_LIMIT

DISK_STATES = ["read", "standby", "hung", "slow", "failed"]


class DiskFindingShape(serializers.Serializer[Json]):
    """What is wrong with a disk."""

    code = serializers.CharField()
    severity = serializers.ChoiceField(choices=["error", "warning", "info"])
    message = serializers.CharField()
    correction = serializers.CharField()


class AcceptedShape(serializers.Serializer[Json]):
    """Who declared the errors of a disk known, and why."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField()


class WrittenShape(serializers.Serializer[Json]):
    """What was written to a disk in its life: `raw` times `unit_bytes`, both as the disk counts.
    The unit is null where it is neither known nor measured."""

    counter = serializers.CharField(help_text="What was counted, as the disk names it.")
    raw = serializers.IntegerField()
    unit_bytes = serializers.IntegerField(allow_null=True)
    bytes = serializers.IntegerField(allow_null=True)
    standing = serializers.ChoiceField(
        choices=["standard", "name", "model", "operator", "measured", "unknown"]
    )
    reason = serializers.CharField()


class DiskShape(serializers.Serializer[Json]):
    """A disk. Figures are of `read_at`; `state` is of the last time it was asked. Of
    `error_counts`, `new_errors` came on top of what was known."""

    key = serializers.CharField()
    name = serializers.CharField(
        allow_blank=True, help_text="The kernel's name, empty behind a RAID controller."
    )
    device = serializers.CharField()
    type = serializers.CharField(allow_blank=True, help_text="What smartctl takes for -d.")
    state = serializers.ChoiceField(choices=DISK_STATES)
    message = serializers.CharField(allow_blank=True)
    is_gone = serializers.BooleanField(help_text="The last reading did not find it.")
    asked_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)
    model = serializers.CharField(allow_blank=True)
    serial = serializers.CharField(allow_blank=True)
    firmware = serializers.CharField(allow_blank=True)
    protocol = serializers.CharField(allow_blank=True)
    size_bytes = serializers.IntegerField(allow_null=True)
    passed = serializers.BooleanField(allow_null=True, help_text="The disk's own verdict.")
    temperature_celsius = serializers.IntegerField(allow_null=True)
    power_on_hours = serializers.IntegerField(allow_null=True)
    used_percent = serializers.IntegerField(
        allow_null=True, help_text="Used of an SSD's endurance; may exceed 100."
    )
    written = WrittenShape(allow_null=True)
    rated_bytes = serializers.IntegerField(allow_null=True)
    worn_out_at = serializers.DateTimeField(allow_null=True)
    worn_out_assumption = serializers.CharField(allow_blank=True)
    error_counts = serializers.DictField(child=serializers.IntegerField())
    new_errors = serializers.DictField(child=serializers.IntegerField())
    accepted = AcceptedShape(allow_null=True)
    findings = DiskFindingShape(many=True)


class DiskDetailShape(DiskShape):
    """A disk with the number of the last change that a person made of it, for `undo`."""

    last_change = serializers.IntegerField(allow_null=True)


class DisksShape(serializers.Serializer[Json]):
    """The disks of a host. `asked_at` is null before the first reading; `message` says what kept
    some from being read."""

    asked_at = serializers.DateTimeField(allow_null=True)
    installed = serializers.BooleanField(help_text="Whether the host has smartctl.")
    message = serializers.CharField(allow_blank=True)
    items = DiskShape(many=True)


class DiskBody(request_bodies.Body):
    """What a disk does not say itself."""

    unit_bytes = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=1 << 40,
        help_text="The unit in which the disk counts what was written. Measurement overrules it.",
    )
    rated_bytes = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=(1 << 63) - 1,
        help_text="Rated endurance: how much may be written.",
    )
    accept_errors = serializers.CharField(
        required=False,
        max_length=REASON_LIMIT,
        help_text="Why the errors that it has now are no cause for alarm: only more are reported.",
    )
    undo = serializers.IntegerField(
        required=False,
        help_text="Takes back the change with this number (`last_change`). Without other fields.",
    )


class HostDisks(Resource):
    """The disks of a host."""

    staff_only = True

    @extend_schema(
        operation_id="host_disks",
        summary="List the disks of a host with their health",
        responses={200: DisksShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """As read every 45 minutes; disks that are gone come last."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        last = DiskRound.objects.filter(host=host).first()
        data = {
            "asked_at": None if last is None else last.answered_at,
            "installed": last is not None and last.installed,
            "message": "" if last is None else last.message,
            "items": [_json(each) for each in conditions_of(host, database_now())],
        }
        return Response(DisksShape(data).data)


class OneDisk(Resource):
    """A disk, and what is entered of it."""

    staff_only = True

    @extend_schema(
        operation_id="host_disk",
        summary="Show a disk",
        responses={200: DiskDetailShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str, disk: str) -> Response:
        """As read every 45 minutes."""
        return Response(_detail(self._find(key, disk)))

    @extend_schema(
        operation_id="host_disk_change",
        summary="Enter a disk's unit or endurance, accept its errors, or undo that",
        request=DiskBody,
        responses={200: DiskDetailShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str, disk: str) -> Response:
        """For admins. What is null is forgotten."""
        get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.ADMINISTER)
        changed, now = self._find(key, disk), database_now()
        values = request_bodies.read(request, DiskBody, partial=True)
        names = [name for name in ("unit_bytes", "rated_bytes") if name in values]
        if "undo" in values:
            disk_decisions.undo(changed, values["undo"], now)
        elif names:
            entered = {f"entered_{name}": values[name] for name in names}
            disk_decisions.enter(changed, now, **entered)
        if "accept_errors" in values:
            disk_decisions.accept_errors(changed, self.user.email, values["accept_errors"], now)
        return Response(_detail(changed))

    def _find(self, key: str, disk: str) -> PhysicalDisk:
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        rows = PhysicalDisk.objects.visible_to(self.user).filter(host=host)
        return get_object_or_404(rows, key=disk)


def _detail(disk: PhysicalDisk) -> Json:
    listed = conditions_of(disk.host, database_now())
    data = _json(next(each for each in listed if each.disk.pk == disk.pk))
    last = disk_decisions.last_decision(disk)
    return DiskDetailShape({**data, "last_change": None if last is None else last.pgh_id}).data


def _json(condition: DiskCondition) -> Json:
    disk, health, written = condition.disk, condition.health, condition.written
    errors = {} if health is None else error_counts(health)
    worn_out = condition.worn_out
    data: Json = {
        "key": disk.key,
        "name": disk.name,
        "device": disk.device,
        "type": disk.kind,
        "state": disk.state,
        "message": disk.message,
        "is_gone": condition.is_gone,
        "asked_at": disk.asked_at,
        "read_at": disk.read_at,
        **{name: getattr(health, name, "") for name in ("model", "serial", "firmware", "protocol")},
        **{
            name: getattr(health, name, None)
            for name in ("size_bytes", "passed", "temperature_celsius", "power_on_hours")
        },
        "used_percent": None if condition.wear is None else condition.wear.percent,
        "written": None,
        "rated_bytes": condition.endurance_bytes,
        "worn_out_at": None if worn_out is None else worn_out.at,
        "worn_out_assumption": "" if worn_out is None else worn_out.assumption,
        "error_counts": errors,
        "new_errors": increases(disk.baseline, errors),
        "accepted": None,
        "findings": condition.findings,
    }
    if written is not None:
        data["written"] = {
            "counter": written.source,
            "raw": written.raw,
            "unit_bytes": written.unit_bytes,
            "bytes": written.written_bytes,
            "standing": written.standing,
            "reason": written.reason,
        }
    if disk.accepted_at is not None:
        data["accepted"] = {
            "at": disk.accepted_at,
            "by": disk.accepted_by,
            "reason": disk.accepted_reason,
        }
    return data

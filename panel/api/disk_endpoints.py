"""The disks of a host as they describe themselves through SMART, its arrays, and checks of both.
Staff only."""

from __future__ import annotations

from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import media_checks
from jobs.models import CheckKind, CheckState, MediaCheck
from panel.api import request_bodies
from panel.api.framework import cursor, described
from panel.api.framework.api_lists import PAGE, Listing
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.response_shapes import Json
from panel.models import Scope
from storage.access import Right
from storage.database_clock import database_now
from storage.health import smart_records
from storage.health.smart_findings import error_counts, increases
from storage.health.smart_records import DiskCondition, conditions_of
from storage.inventory.disk_list import seconds_left
from storage.inventory.facts import Array, HostFacts
from storage.models import DiskRound, Host, PhysicalDisk
from storage.models.physical_disk import REASON_LIMIT
from storage.stored_inventory import inventory_of

MEASURED = (
    "state",
    "message",
    "is_gone",
    "gone_since",
    "asked_at",
    "read_at",
    "temperature_celsius",
    "power_on_hours",
    "used_percent",
    "written",
    "worn_out_at",
    "worn_out_assumption",
    "error_counts",
    "new_errors",
    "findings",
)
"""Of a disk: what no request says."""
DISK_STATES = ["read", "standby", "unasked", "hung", "slow", "failed"]


class DiskFindingShape(Shape):
    """What is wrong with a disk."""

    code = serializers.CharField()
    severity = serializers.ChoiceField(choices=["error", "warning", "info"])
    message = serializers.CharField()
    correction = serializers.CharField()


class AcceptedShape(Shape):
    """Who declared the errors of a disk, or that it is gone, known, and why."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField()


class WrittenShape(Shape):
    """What was written to a disk in its life: `raw` times `unit_bytes`, both as the disk counts.
    The unit is null where it is neither known nor measured."""

    counter = serializers.CharField(help_text="What was counted, as the disk names it.")
    raw = serializers.IntegerField(help_text="The count, as the disk shows it.")
    unit_bytes = serializers.IntegerField(
        allow_null=True, help_text="Of one count; null: not known."
    )
    bytes = serializers.IntegerField(allow_null=True, help_text="Null: the unit is not known.")
    standing = serializers.ChoiceField(
        choices=["standard", "name", "model", "operator", "measured", "unknown"],
        help_text="How the unit is known.",
    )
    reason = serializers.CharField(
        help_text="How the unit is known, or why it is not, in a sentence for people."
    )


class DiskShape(Shape):
    """A disk. Figures are of `read_at`; `state` is of the last time it was asked."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField(
        allow_blank=True, help_text="The kernel's name, empty behind a RAID controller."
    )
    device = serializers.CharField(help_text="Device that smartctl reads, such as /dev/sda.")
    type = serializers.CharField(allow_blank=True, help_text="What smartctl takes for -d.")
    state = serializers.ChoiceField(choices=DISK_STATES)
    message = serializers.CharField(allow_blank=True, help_text="Why it was not read.")
    is_gone = serializers.BooleanField(help_text="The last reading did not find it.")
    gone_since = serializers.DateTimeField(
        allow_null=True, help_text="When a reading first missed it; null for a disk that is there."
    )
    asked_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)
    model = serializers.CharField(allow_blank=True)
    serial = serializers.CharField(allow_blank=True)
    firmware = serializers.CharField(allow_blank=True, help_text="Version; empty: not known.")
    protocol = serializers.CharField(allow_blank=True, help_text="Such as NVMe; empty: not known.")
    size_bytes = serializers.IntegerField(allow_null=True)
    passed = serializers.BooleanField(allow_null=True, help_text="The disk's own verdict.")
    temperature_celsius = serializers.IntegerField(allow_null=True, help_text="Null: not known.")
    power_on_hours = serializers.IntegerField(
        allow_null=True, help_text="Hours that it was switched on; null: not known."
    )
    used_percent = serializers.IntegerField(
        allow_null=True, help_text="Used of an SSD's endurance; may exceed 100."
    )
    written = WrittenShape(
        allow_null=True, help_text="What was written to it in its life; null: it does not say."
    )
    rated_bytes = serializers.IntegerField(
        allow_null=True, help_text="Bytes that may be written in its life; null: not known."
    )
    worn_out_at = serializers.DateTimeField(
        allow_null=True, help_text="When it will be worn out at the present rate; null: not known."
    )
    worn_out_assumption = serializers.CharField(
        allow_blank=True, help_text="What that date assumes; empty: there is no date."
    )
    error_counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="Errors in its life, by kind."
    )
    new_errors = serializers.DictField(
        child=serializers.IntegerField(), help_text="Those that nobody accepted."
    )
    accepted = AcceptedShape(
        allow_null=True, help_text="Who declared its errors or its loss known; null: nobody."
    )
    findings = DiskFindingShape(many=True, help_text="What is wrong with it; empty: nothing.")


class DiskDetailShape(DiskShape):
    """A disk with the number of the last change that a person made of it, for `undo`."""

    last_change = serializers.IntegerField(
        allow_null=True, help_text="Number of the last change by a person, for `undo`."
    )


class DisksShape(Shape):
    """The disks of a host."""

    asked_at = serializers.DateTimeField(allow_null=True)
    installed = serializers.BooleanField(help_text="Whether the host has smartctl.")
    message = serializers.CharField(
        allow_blank=True, help_text="What kept some disks from being read; empty: nothing."
    )
    items = DiskShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


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
        help_text="Why the errors that it has now, or its loss, are no cause for alarm: only more "
        "errors are reported, or that it is gone again.",
    )
    undo = serializers.IntegerField(
        required=False,
        help_text="Takes back the change with this number (`last_change`). Without other fields.",
    )


class HostDisks(Resource):
    """The disks of a host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    parameters: ClassVar = {"GET": cursor.PARAMETERS}

    @extend_schema(
        operation_id="host_disks",
        summary="List the disks of a host with their health",
        parameters=PAGE,
        responses={200: DisksShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """As read every 45 minutes; disks that are gone come last."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        last = DiskRound.objects.filter(host=host).first()
        page, after = cursor.slice_of(request, conditions_of(host, database_now()), "host-disks")
        data = {
            "asked_at": None if last is None else last.answered_at,
            "installed": last is not None and last.installed,
            "message": "" if last is None else last.message,
            **cursor.body(map(_json, page), after),
        }
        return Response(DisksShape(data).data)


class OneDisk(Resource):
    """A disk, and what is entered of it."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS
    measured = MEASURED

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
        summary="Enter a disk's unit or endurance, accept its errors or its loss, or undo that",
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
            smart_records.undo_decision(changed, values["undo"], now)
        elif names:
            entered = {f"entered_{name}": values[name] for name in names}
            smart_records.enter(changed, now, **entered)
        if "accept_errors" in values:
            smart_records.accept_errors(changed, self.user.email, values["accept_errors"], now)
        return Response(_detail(changed))

    def _find(self, key: str, disk: str) -> PhysicalDisk:
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        rows = PhysicalDisk.objects.visible_to(self.user).filter(host=host)
        return get_object_or_404(rows, key=disk)


def _detail(disk: PhysicalDisk) -> Json:
    listed = conditions_of(disk.host, database_now())
    data = _json(next(each for each in listed if each.disk.pk == disk.pk))
    last = smart_records.last_decision(disk)
    return DiskDetailShape({**data, "last_change": None if last is None else last.pgh_id}).data


def _json(condition: DiskCondition) -> Json:
    disk, health, written = condition.disk, condition.health, condition.written
    errors = {} if health is None else error_counts(health)
    worn_out = condition.worn_out
    data: Json = {
        "key": disk.key,
        "url": reverse("api-host-disk", args=[disk.host.key, disk.key]),
        "name": disk.name,
        "device": disk.device,
        "type": disk.kind,
        "state": disk.state,
        "message": disk.message,
        "is_gone": condition.is_gone,
        "gone_since": disk.gone_since,
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


class MediaCheckShape(Shape):
    """A check that somebody asked for. The host runs it."""

    key = serializers.CharField()
    kind = serializers.ChoiceField(choices=CheckKind.choices, help_text="What is checked, and how.")
    of = serializers.CharField(help_text="The disk or array.")
    state = serializers.ChoiceField(choices=CheckState.choices)
    remaining_percent = serializers.IntegerField(
        allow_null=True, help_text="Percent that is still to be done; null: the host does not say."
    )
    message = serializers.CharField(allow_blank=True)
    correction = serializers.CharField(allow_blank=True)
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ArrayShape(Shape):
    """An md array, as the last inventory had it."""

    name = serializers.CharField(help_text="Such as md0.")
    uuid = serializers.CharField()
    level = serializers.CharField()
    state = serializers.CharField()
    size_bytes = serializers.IntegerField()
    disk_count = serializers.IntegerField(
        allow_null=True, help_text="How many disks it is made for; null: the host does not say."
    )
    degraded_count = serializers.IntegerField(allow_null=True)
    action = serializers.CharField(help_text="What it does now: idle, recover, check, …")
    progress = serializers.FloatField(
        allow_null=True, help_text="Done of the rebuild or check, 0 to 1; null: none is at work."
    )
    speed_bytes_per_s = serializers.IntegerField(
        allow_null=True, help_text="Bytes a second of each disk; null: nothing is at work."
    )
    seconds_left = serializers.FloatField(
        allow_null=True, help_text="Seconds until the rebuild or check is done; null: not known."
    )
    mismatch_bytes = serializers.IntegerField(
        allow_null=True,
        help_text="Found by the last check to differ between the copies; null: not known.",
    )
    members = serializers.ListField(child=serializers.CharField())
    spares = serializers.ListField(
        child=serializers.CharField(), help_text="Names of the disks in reserve."
    )


class ArraysShape(Shape):
    """The arrays of a host."""

    read_at = serializers.DateTimeField(allow_null=True)
    items = ArrayShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SelfTestBody(request_bodies.Body):
    """Which self-test."""

    kind = serializers.ChoiceField(
        choices=[CheckKind.SHORT, CheckKind.LONG],
        help_text="short takes minutes, long reads the whole disk.",
    )


class HostArrays(Resource):
    """The arrays of a host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    parameters: ClassVar = {"GET": cursor.PARAMETERS}

    @extend_schema(
        operation_id="host_arrays",
        summary="List the arrays of a host with rebuilds and checks",
        parameters=PAGE,
        responses={200: ArraysShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Empty before the first inventory."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        facts = inventory_of(host)
        items = [] if facts is None else [_array_json(facts, array) for array in facts.arrays]
        body = cursor.body(*cursor.slice_of(request, items, "host-arrays"))
        return Response(ArraysShape({"read_at": host.facts_at, **body}).data)


class HostChecks(Resource):
    """Checks of the arrays and disks of a host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    listing: ClassVar = Listing("host-checks", MediaCheckShape, newest_first=True)
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="host_checks",
        summary="List the checks of a host's disks and arrays",
        parameters=listing.described,
        responses={200: listing.page_shape("MediaCheckPage"), **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Self-tests and array checks that somebody asked for, newest first."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        rows = MediaCheck.objects.visible_to(self.user).filter(host=host)
        return self.listing.answer(
            request,
            rows.select_related("actor", "disk"),
            lambda page: (show(MediaCheckShape, _check_json(check)) for check in page),
        )


class ArrayChecks(Resource):
    """The comparison of an array's copies."""

    staff_only = True
    write_scope = Scope.HOSTS
    takes_no_body = True

    @extend_schema(
        operation_id="host_array_check",
        summary="Check an array",
        request=None,
        responses={202: MediaCheckShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str, array: str) -> Response:
        """The kernel reads all copies and compares them; volumes stay in use. A degraded array, or
        one at work, is refused."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        facts = inventory_of(host)
        named = [each for each in facts.arrays if each.name == array] if facts else []
        if not named:
            raise Http404
        return _accepted(media_checks.check_array(host, named[0], self.requester))


class DiskTests(Resource):
    """Self-tests of a disk."""

    staff_only = True
    write_scope = Scope.HOSTS

    @extend_schema(
        operation_id="host_disk_test",
        summary="Start a self-test of a disk",
        request=SelfTestBody,
        responses={202: MediaCheckShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str, disk: str) -> Response:
        """The disk stays in use. One that sleeps, or belongs to an array that is being rebuilt, is
        refused."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        rows = PhysicalDisk.objects.visible_to(self.user).filter(host=host)
        tested = get_object_or_404(rows.select_related("host"), key=disk)
        kind = CheckKind(request_bodies.read(request, SelfTestBody)["kind"])
        return _accepted(media_checks.test_disk(tested, kind, self.requester))


def _accepted(check: MediaCheck) -> Response:
    return Response(MediaCheckShape(_check_json(check)).data, status=status.HTTP_202_ACCEPTED)


def _check_json(check: MediaCheck) -> Json:
    names = ("key", "kind", "state", "remaining_percent", "message", "correction")
    moments = ("created_at", "started_at", "ended_at")
    return {
        **{name: getattr(check, name) for name in (*names, *moments)},
        "of": check.label,
        "by": None if check.actor is None else check.actor.email,
    }


def _array_json(facts: HostFacts, array: Array) -> Json:
    speed, mismatch = array.sync_speed_kib, array.mismatch_sectors
    return {
        **{
            name: getattr(array, name)
            for name in ("name", "uuid", "level", "state", "size_bytes", "disk_count")
        },
        "degraded_count": array.degraded_count,
        "action": array.sync_action,
        "progress": array.progress,
        "speed_bytes_per_s": None if speed is None else speed * 1024,
        "seconds_left": seconds_left(facts, array),
        "mismatch_bytes": None if mismatch is None else mismatch * 512,
        "members": [member.name for member in array.members],
        "spares": list(array.spares),
    }

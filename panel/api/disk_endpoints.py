"""The disks of a host as they describe themselves through SMART, its arrays, and checks of both.
Staff only."""

from __future__ import annotations

from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import media_checks
from jobs.models import CheckKind, CheckState, MediaCheck
from panel.api import request_bodies
from panel.api.framework import cursor, described
from panel.api.framework.api_lists import PAGE, Listing
from panel.api.framework.fields import Boolean, Choice, DateTime, Float, Integer, Map, Text, Texts
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
from storage.inventory.stored import inventory_of
from storage.models import DiskRound, Host, PhysicalDisk
from storage.models.physical_disk import REASON_LIMIT

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

    code = Text("For programs; it never changes its meaning.")
    severity = Choice("error or warning.", ["error", "warning", "info"])
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")


class AcceptedShape(Shape):
    """Who declared the errors of a disk, or that it is gone, known, and why."""

    at = DateTime("When it happened.")
    by = Text("E-mail address of who did it; null or empty: the panel itself.")
    reason = Text("Why, in the words of who said so.")


class WrittenShape(Shape):
    """What was written to a disk in its life: `raw` times `unit_bytes`, both as the disk counts.
    The unit is null where it is neither known nor measured."""

    counter = Text("What was counted, as the disk names it.")
    raw = Integer("The count, as the disk shows it.")
    unit_bytes = Integer("Of one count; null: not known.", null=True)
    bytes = Integer("Null: the unit is not known.", null=True)
    standing = Choice(
        "How the unit is known.", ["standard", "name", "model", "operator", "measured", "unknown"]
    )
    reason = Text("How the unit is known, or why it is not, in a sentence for people.")


class DiskShape(Shape):
    """A disk. Figures are of `read_at`; `state` is of the last time it was asked."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("The kernel's name, empty behind a RAID controller.")
    device = Text("Device that smartctl reads, such as /dev/sda.")
    type = Text("What smartctl takes for -d.")
    state = Choice("Where it stands now.", DISK_STATES)
    message = Text("Why it was not read.")
    is_gone = Boolean("The last reading did not find it.")
    gone_since = DateTime(
        "When a reading first missed it; null for a disk that is there.", null=True
    )
    asked_at = DateTime("When the host was asked last; null: never.")
    read_at = DateTime("When it was read from the host; null: never.", null=True)
    model = Text("Model, as the disk names it; empty: it says none.")
    serial = Text("Serial number of the disk.")
    firmware = Text("Version; empty: not known.")
    protocol = Text("Such as NVMe; empty: not known.")
    size_bytes = Integer("Bytes.", null=True)
    passed = Boolean("The disk's own verdict.", null=True)
    temperature_celsius = Integer("Null: not known.", null=True)
    power_on_hours = Integer("Hours that it was switched on; null: not known.", null=True)
    used_percent = Integer("Used of an SSD's endurance; may exceed 100.", null=True)
    written = WrittenShape("What was written to it in its life; null: it does not say.", null=True)
    rated_bytes = Integer("Bytes that may be written in its life; null: not known.", null=True)
    worn_out_at = DateTime(
        "When it will be worn out at the present rate; null: not known.", null=True
    )
    worn_out_assumption = Text("What that date assumes; empty: there is no date.")
    error_counts = Map("Errors in its life, by kind.", Integer())
    new_errors = Map("Those that nobody accepted.", Integer())
    accepted = AcceptedShape("Who declared its errors or its loss known; null: nobody.", null=True)
    findings = DiskFindingShape("What is wrong with it; empty: nothing.", many=True)


class DiskDetailShape(DiskShape):
    """A disk with the number of the last change that a person made of it, for `undo`."""

    last_change = Integer("Number of the last change by a person, for `undo`.", null=True)


class DisksShape(Shape):
    """The disks of a host."""

    asked_at = DateTime("When the host was asked last; null: never.", null=True)
    installed = Boolean("Whether the host has smartctl.")
    message = Text("What kept some disks from being read; empty: nothing.")
    items = DiskShape("The rows of this answer, one each.", many=True)
    next_cursor = Text("The `cursor` of the next page; null: this is the last one.", null=True)


class DiskBody(request_bodies.Body):
    """What a disk does not say itself."""

    unit_bytes = Integer(
        "The unit in which the disk counts what was written. Measurement overrules it.",
        required=False,
        null=True,
        min_value=1,
        max_value=1 << 40,
    )
    rated_bytes = Integer(
        "Rated endurance: how much may be written.",
        required=False,
        null=True,
        min_value=1,
        max_value=(1 << 63) - 1,
    )
    accept_errors = Text(
        "Why the errors that it has now, or its loss, are no cause for alarm: only more "
        "errors are reported, or that it is gone again.",
        required=False,
        max_length=REASON_LIMIT,
    )
    undo = Integer(
        "Takes back the change with this number (`last_change`). Without other fields.",
        required=False,
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
        return Response(show(DisksShape, data))


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
    return show(DiskDetailShape, {**data, "last_change": None if last is None else last.pgh_id})


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

    key = Text("Its name in the API; it never changes.")
    kind = Choice("What is checked, and how.", CheckKind.choices)
    of = Text("The disk or array.")
    state = Choice("Where it stands now.", CheckState.choices)
    remaining_percent = Integer(
        "Percent that is still to be done; null: the host does not say.", null=True
    )
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    by = Text("E-mail address of who did it; null or empty: the panel itself.", null=True)
    created_at = DateTime("When it was made.")
    started_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it was over; null: it is not yet.", null=True)


class ArrayShape(Shape):
    """An md array, as the last inventory had it."""

    name = Text("Such as md0.")
    uuid = Text("Its UUID, as LVM or md writes it.")
    level = Text("RAID level, such as raid1.")
    state = Text("Where it stands now.")
    size_bytes = Integer("Bytes.")
    disk_count = Integer("How many disks it is made for; null: the host does not say.", null=True)
    degraded_count = Integer(
        "How many of its disks are missing or have failed; null: unknown.", null=True
    )
    action = Text("What it does now: idle, recover, check, …")
    progress = Float("Done of the rebuild or check, 0 to 1; null: none is at work.", null=True)
    speed_bytes_per_s = Integer("Bytes a second of each disk; null: nothing is at work.", null=True)
    seconds_left = Float("Seconds until the rebuild or check is done; null: not known.", null=True)
    mismatch_bytes = Integer(
        "Found by the last check to differ between the copies; null: not known.", null=True
    )
    members = Texts("Names of its disks, such as sda1.")
    spares = Texts("Names of the disks in reserve.")


class ArraysShape(Shape):
    """The arrays of a host."""

    read_at = DateTime("When it was read from the host; null: never.", null=True)
    items = ArrayShape("The rows of this answer, one each.", many=True)
    next_cursor = Text("The `cursor` of the next page; null: this is the last one.", null=True)


class SelfTestBody(request_bodies.Body):
    """Which self-test."""

    kind = Choice(
        "short takes minutes, long reads the whole disk.", [CheckKind.SHORT, CheckKind.LONG]
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
        return Response(show(ArraysShape, {"read_at": host.facts_at, **body}))


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
    return Response(show(MediaCheckShape, _check_json(check)), status=status.HTTP_202_ACCEPTED)


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

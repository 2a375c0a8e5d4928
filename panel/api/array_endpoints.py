"""The arrays of a host, and checks of arrays and disks that a program asks for. Staff only."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import media_checks
from jobs.models import CheckKind, CheckState, MediaCheck
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.resource import Resource
from panel.api.response_shapes import Json
from storage.access import Right
from storage.inventory.facts import Array
from storage.inventory.stored import inventory_of
from storage.models import Host, PhysicalDisk

LAST = 20


class MediaCheckShape(serializers.Serializer[Json]):
    """A check that somebody asked for. The host runs it; `remaining_percent` is null where the disk
    or the kernel does not say."""

    key = serializers.CharField()
    kind = serializers.ChoiceField(choices=CheckKind.choices)
    of = serializers.CharField(help_text="The disk or array.")
    state = serializers.ChoiceField(choices=CheckState.choices)
    remaining_percent = serializers.IntegerField(allow_null=True)
    message = serializers.CharField(allow_blank=True)
    correction = serializers.CharField(allow_blank=True)
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ArrayShape(serializers.Serializer[Json]):
    """An md array, as the last inventory had it. `progress` (0 to 1), `speed_bytes_per_s` and
    `seconds_left` are of a rebuild or check that is at work; `mismatch_bytes` is what the last
    check found to differ between the copies."""

    name = serializers.CharField()
    uuid = serializers.CharField()
    level = serializers.CharField()
    state = serializers.CharField()
    size_bytes = serializers.IntegerField()
    disk_count = serializers.IntegerField(allow_null=True)
    degraded_count = serializers.IntegerField()
    action = serializers.CharField(help_text="What it does now: idle, recover, check, …")
    progress = serializers.FloatField(allow_null=True)
    speed_bytes_per_s = serializers.IntegerField(allow_null=True)
    seconds_left = serializers.FloatField(allow_null=True)
    mismatch_bytes = serializers.IntegerField(allow_null=True)
    members = serializers.ListField(child=serializers.CharField())
    spares = serializers.ListField(child=serializers.CharField())


class ArraysShape(serializers.Serializer[Json]):
    """`read_at` is when the host was last read."""

    read_at = serializers.DateTimeField(allow_null=True)
    items = ArrayShape(many=True)


class MediaChecksShape(serializers.Serializer[Json]):
    """The newest first."""

    items = MediaCheckShape(many=True)


class SelfTestBody(request_bodies.Body):
    """Which self-test."""

    kind = serializers.ChoiceField(choices=[CheckKind.SHORT, CheckKind.LONG])


class HostArrays(Resource):
    """The arrays of a host."""

    staff_only = True

    @extend_schema(
        operation_id="host_arrays",
        summary="List the arrays of a host with rebuilds and checks",
        responses={200: ArraysShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Empty before the first inventory."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        facts = inventory_of(host)
        items = [] if facts is None else [_array_json(array) for array in facts.arrays]
        return Response(ArraysShape({"read_at": host.facts_at, "items": items}).data)


class HostChecks(Resource):
    """Checks of the arrays and disks of a host."""

    staff_only = True

    @extend_schema(
        operation_id="host_checks",
        summary="List the last checks of a host's disks and arrays",
        responses={200: MediaChecksShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Self-tests and array checks that somebody asked for."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        rows = MediaCheck.objects.visible_to(self.user).filter(host=host)
        listed = [_check_json(check) for check in rows.select_related("actor", "disk")[:LAST]]
        return Response(MediaChecksShape({"items": listed}).data)


class ArrayChecks(Resource):
    """The comparison of an array's copies."""

    staff_only = True
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
        found = get_object_or_404(rows.select_related("host"), key=disk)
        kind = CheckKind(request_bodies.read(request, SelfTestBody)["kind"])
        return _accepted(media_checks.test_disk(found, kind, self.requester))


def _accepted(check: MediaCheck) -> Response:
    return Response(MediaCheckShape(_check_json(check)).data, status=status.HTTP_202_ACCEPTED)


def _check_json(check: MediaCheck) -> Json:
    told = ("key", "kind", "state", "remaining_percent", "message", "correction")
    moments = ("created_at", "started_at", "ended_at")
    return {
        **{name: getattr(check, name) for name in (*told, *moments)},
        "of": check.label,
        "by": None if check.actor is None else check.actor.email,
    }


def _array_json(array: Array) -> Json:
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
        "seconds_left": array.seconds_left,
        "mismatch_bytes": None if mismatch is None else mismatch * 512,
        "members": [member.name for member in array.members],
        "spares": list(array.spares),
    }

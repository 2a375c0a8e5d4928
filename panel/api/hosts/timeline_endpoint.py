"""The time line of a host. Staff only."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import cursor, described
from panel.api.framework.resource import Resource, bad_parameter
from panel.api.framework.shape import Shape
from panel.api.response_shapes import Json
from storage.models import Host, HostChange, HostChangeKind


class HostEventShape(Shape):
    """One change of a host. `subject` is the serial number where it is of a disk; `count` is how
    often it happened within an hour of `at`."""

    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=HostChangeKind.choices, help_text="What changed.")
    subject = serializers.CharField(
        allow_blank=True, help_text="Serial number, where it is of a disk; empty else."
    )
    before = serializers.CharField(allow_blank=True, help_text="What it was; empty: nothing.")
    after = serializers.CharField(allow_blank=True, help_text="What it is since; empty: nothing.")
    count = serializers.IntegerField(help_text="How often it happened within an hour of `at`.")


class HostEvents(Resource):
    """The time line of a host."""

    staff_only = True
    parameters: ClassVar = {"GET": (*cursor.PARAMETERS, "kind")}

    @extend_schema(
        operation_id="host_events",
        summary="Read the time line of a host",
        parameters=[
            *described.PAGE,
            described.query("kind", "What changed.", enum=HostChangeKind.values),
        ],
        responses={
            200: described.page_of(HostEventShape, "HostEventPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """Newest first: restarts, other kernels and versions, disks that came, went or changed. A
        restart into another kernel is one event of the kind `kernel`."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        rows = HostChange.objects.visible_to(self.user).filter(host=host)
        if (kind := request.query_params.get("kind")) is not None:
            if kind not in HostChangeKind.values:
                raise bad_parameter(
                    "kind", "invalid", f"One of {', '.join(HostChangeKind.values)}."
                )
            rows = rows.filter(kind=kind)
        page, after = cursor.page(
            request, rows, "host-events", newest_first=True, order=("at", "id")
        )
        return Response(cursor.body(map(_event_json, page), after))


def _event_json(change: HostChange) -> Json:
    names = ("at", "kind", "subject", "before", "after", "count")
    return HostEventShape({name: getattr(change, name) for name in names}).data

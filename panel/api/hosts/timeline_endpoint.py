"""The time line of a host, and what a restart into another kernel changed. Staff only."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.fields import Choice, DateTime, Float, Integer, Text
from panel.api.framework.resource import Resource, bad_parameter
from panel.api.framework.shape import Shape, show
from panel.api.response_shapes import Json
from panel.models import Scope
from storage.analysis.restart_comparison import compare_restart
from storage.models import Host, HostChange, HostChangeKind


class HostEventShape(Shape):
    """One change of a host. `subject` is the serial number where it is of a disk; `count` is how
    often it happened within an hour of `at`."""

    number = Integer("Names the event at `GET /hosts/{key}/events/{event}/comparison`.")
    at = DateTime("When it happened.")
    kind = Choice("What changed.", HostChangeKind.choices)
    subject = Text("Serial number, where it is of a disk; empty else.")
    before = Text("What it was; empty: nothing.")
    after = Text("What it is since; empty: nothing.")
    count = Integer("How often it happened within an hour of `at`.")


class LikeHoursShape(Shape):
    """What the I/O of one side was like, in the hours that are compared."""

    p95_ms = Float("95th percentile of latency, in milliseconds.", null=True)
    p99_ms = Float("99th percentile of latency, in milliseconds.", null=True)
    average_ms = Float("Milliseconds of an average I/O.", null=True)
    iops = Float("Reads and writes a second.")


class RestartComparisonShape(Shape):
    """The days before and after a restart into another kernel, by the hours of the same time of day
    with about as much I/O."""

    at = DateTime("When it happened.")
    kernel_before = Text("Release of the kernel before it.")
    kernel_after = Text("Release of the kernel since.")
    days = Integer("How many days of each side are compared.")
    hours = Integer("How many pairs of hours are alike.")
    before = LikeHoursShape("Null: too little is known (`lacks`).", null=True)
    after = LikeHoursShape("Null: too little is known (`lacks`).", null=True)
    times = Float(
        "How many times as long an I/O takes; below 1: it is faster; null: not known.", null=True
    )
    times_low = Float("Lower end of its 95 % interval.", null=True)
    times_high = Float("Upper end of its 95 % interval.", null=True)
    verdict = Choice("Null: no difference is certain.", ["worse", "better"], null=True)
    sentence = Text("What the figures come to, in a sentence for people.")
    lacks = Text("Why there are no figures; empty: there are.")


class HostEvents(Resource):
    """The time line of a host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    listing: ClassVar = Listing(
        "host-events", HostEventShape, order=("at", "id"), time="at", newest_first=True
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "kind")}

    @extend_schema(
        operation_id="host_events",
        summary="Read the time line of a host",
        parameters=[
            *listing.described,
            described.query("kind", "What changed.", enum=HostChangeKind.values),
        ],
        responses={
            200: listing.page_shape("HostEventPage"),
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
        return self.listing.answer(request, rows, lambda page: map(_event_json, page))


class HostRestartComparison(Resource):
    """What a restart into another kernel changed."""

    read_scope = Scope.HOSTS_READ
    staff_only = True

    @extend_schema(
        operation_id="host_restart_comparison",
        summary="Compare a host before and after a restart into another kernel",
        responses={200: RestartComparisonShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str, event: str) -> Response:
        """Up to a week on each side, but not beyond another such restart. Only of events of the
        kind `kernel`."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        number = int(event) if event.isascii() and event.isdecimal() and len(event) < 19 else 0
        kernels = HostChange.objects.visible_to(self.user).filter(
            host=host, kind=HostChangeKind.KERNEL
        )
        change = get_object_or_404(kernels.select_related("host"), pk=number)
        compared = compare_restart(change, timezone.now())
        times = compared.times or (None, None, None)
        data = {
            "at": change.at,
            "kernel_before": change.before,
            "kernel_after": change.after,
            **{name: getattr(compared, name) for name in ("days", "hours", "before", "after")},
            **dict(zip(("times", "times_low", "times_high"), times, strict=True)),
            "verdict": compared.verdict or None,
            "sentence": compared.sentence,
            "lacks": compared.lacks,
        }
        return Response(show(RestartComparisonShape, data))


def _event_json(change: HostChange) -> Json:
    names = ("at", "kind", "subject", "before", "after", "count")
    data = {name: getattr(change, name) for name in names}
    return show(HostEventShape, {"number": change.pk, **data})

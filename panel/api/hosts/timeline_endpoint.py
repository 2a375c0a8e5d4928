"""The time line of a host, and what a restart into another kernel changed. Staff only."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Choice, DateTime, Float, Integer, Text
from panel.api.framework.parameters import OneOf
from panel.api.framework.shape import Shape
from panel.api.hosts.host_resource import HostResource
from storage.analysis.restart_comparison import compare_restart
from storage.models import HostChange, HostChangeKind


class HostEventShape(Shape):
    """One change of a host. `subject` is the serial number where it is of a disk; `count` is how
    often it happened within an hour of `at`."""

    number = Integer("Names the event at `GET /hosts/{key}/events/{event}/comparison`.", of="pk")
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

    at = DateTime("When it happened.", given=True)
    kernel_before = Text("Release of the kernel before it.", given=True)
    kernel_after = Text("Release of the kernel since.", given=True)
    days = Integer("How many days of each side are compared.")
    hours = Integer("How many pairs of hours are alike.")
    before = LikeHoursShape("Null: too little is known (`lacks`).", null=True)
    after = LikeHoursShape("Null: too little is known (`lacks`).", null=True)
    times = Float(
        "How many times as long an I/O takes; below 1: it is faster; null: not known.",
        null=True,
        given=True,
    )
    times_low = Float("Lower end of its 95 % interval.", null=True, given=True)
    times_high = Float("Upper end of its 95 % interval.", null=True, given=True)
    verdict = Choice(
        "Null: no difference is certain.",
        ["worse", "better"],
        null=True,
        of=lambda compared: compared.verdict or None,
    )
    sentence = Text("What the figures come to, in a sentence for people.")
    lacks = Text("Why there are no figures; empty: there are.")


class HostEvents(HostResource):
    """The time line of a host."""

    listing: ClassVar = Listing(
        "host-events",
        HostEventShape,
        order=("at", "id"),
        time="at",
        newest_first=True,
        filters=(OneOf("kind", "What changed.", "kind", values=HostChangeKind.values),),
    )

    @operation("host_events", "Read the time line of a host", listing)
    def get(self, request: Request, key: str) -> Response:
        """Newest first: restarts, other kernels and versions, disks that came, went or changed. A
        restart into another kernel is one event of the kind `kernel`."""
        return self.page(HostChange.objects.visible_to(self.user).filter(host=self.host(key)))


class HostRestartComparison(HostResource):
    """What a restart into another kernel changed."""

    @operation(
        "host_restart_comparison",
        "Compare a host before and after a restart into another kernel",
        RestartComparisonShape,
    )
    def get(self, request: Request, key: str, event: str) -> Response:
        """Up to a week on each side, but not beyond another such restart. Only of events of the
        kind `kernel`."""
        host = self.host(key)
        number = int(event) if event.isascii() and event.isdecimal() and len(event) < 19 else 0
        kernels = HostChange.objects.visible_to(self.user).filter(
            host=host, kind=HostChangeKind.KERNEL
        )
        change = get_object_or_404(kernels.select_related("host"), pk=number)
        compared = compare_restart(change, timezone.now())
        times, low, high = compared.times or (None, None, None)
        return self.shown(
            compared,
            at=change.at,
            kernel_before=change.before,
            kernel_after=change.after,
            times=times,
            times_low=low,
            times_high=high,
        )

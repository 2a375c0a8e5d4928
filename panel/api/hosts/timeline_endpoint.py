"""The time line of a host, and what a restart into another kernel changed. Staff only."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import By, Choice, DateTime, Float, Integer, Text
from panel.api.framework.parameters import OneOf
from panel.api.framework.shape import Shape
from panel.api.hosts.host_resource import HostResource
from storage.access import Right
from storage.analysis.restart_comparison import compare_restart
from storage.analysis.restart_verdicts import REASON_LIMIT, accept_loss, revoke_loss_acceptance
from storage.database_clock import database_now
from storage.models import Host, HostChange, HostChangeKind, RestartEffect


class LossAcceptanceShape(Shape):
    """Who accepted that a host is slower since a restart into another kernel, and why."""

    at = DateTime("When it happened.")
    by = By()
    reason = Text("The reason that the person gives.")


class AcceptLossBody(Body):
    """Why the host may be slower."""

    reason = Text("The reason that the person gives.", max_length=REASON_LIMIT)


class HostEventShape(Shape):
    """One change of a host. `subject` is the serial number for a disk; `count` is how often it
    happened within an hour of `at`."""

    number = Integer("Names the event at `GET /hosts/{key}/events/{event}/comparison`.", of="pk")
    at = DateTime("When it happened.")
    kind = Choice("What changed.", HostChangeKind.choices)
    subject = Text("Serial number for events of a disk; otherwise empty.")
    before = Text("Its former value; empty: none.")
    after = Text("Its new value; empty: none.")
    count = Integer("How often it happened within an hour of `at`.")
    effect = Choice(
        "Comparison of the days around a restart into another kernel: I/O is slower (`loss`) or "
        "faster "
        "since; null: no certain difference, or not known yet.",
        RestartEffect.choices,
        null=True,
        of=lambda change: change.effect or None,
    )
    acceptance = LossAcceptanceShape(
        "Who accepted the loss; null: no one.",
        of=lambda change: change.acceptance or None,
        null=True,
    )


class LikeHoursShape(Shape):
    """The I/O of one side, in the compared hours."""

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
    hours = Integer("How many comparable pairs of hours there are.")
    before = LikeHoursShape("Null: too little is known (`lacks`).", null=True)
    after = LikeHoursShape("Null: too little is known (`lacks`).", null=True)
    times = Float(
        "Time of an I/O after, relative to before; below 1: faster; null: unknown.",
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
    sentence = Text("The result, as a sentence for people.")
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

    @operation("host_events", "Read the timeline of a host", listing)
    def get(self, request: Request, key: str) -> Response:
        """Newest first: restarts, new kernels and versions, and disks that were added, removed or
        changed. A restart into another kernel is one event of kind `kernel`."""
        return self.page(HostChange.objects.visible_to(self.user).filter(host=self.host(key)))


class RestartResource(HostResource):
    """Of one restart into another kernel."""

    def restart(self, host: Host, event: str) -> HostChange:
        """By the number of its event."""
        number = int(event) if event.isascii() and event.isdecimal() and len(event) < 19 else 0
        kernels = HostChange.objects.visible_to(self.user).filter(
            host=host, kind=HostChangeKind.KERNEL
        )
        return get_object_or_404(kernels.select_related("host"), pk=number)


class LossAcceptance(RestartResource):
    """Acceptance that a host is slower since a restart into another kernel, and its end."""

    @operation(
        "host_loss_accept",
        "Accept that a host is slower since a restart into another kernel",
        HostEventShape,
        body=AcceptLossBody,
    )
    def put(self, request: Request, key: str, event: str) -> Response:
        """Ends the problem `kernel_slower`. Only where `effect` is `loss`."""
        change = self.restart(self.host(key, Right.OPERATE), event)
        accept_loss(change, self.user.email, self.read()["reason"], database_now())
        change.refresh_from_db()
        return self.shown(change)

    @operation(
        "host_loss_revoke",
        "Take back the acceptance of a loss",
        HostEventShape,
        problems=(422,),
    )
    def delete(self, request: Request, key: str, event: str) -> Response:
        """The loss is reported again."""
        change = self.restart(self.host(key, Right.OPERATE), event)
        revoke_loss_acceptance(change)
        change.refresh_from_db()
        return self.shown(change)


class HostRestartComparison(RestartResource):
    """What a restart into another kernel changed."""

    @operation(
        "host_restart_comparison",
        "Compare a host before and after a restart into another kernel",
        RestartComparisonShape,
    )
    def get(self, request: Request, key: str, event: str) -> Response:
        """Up to a week on each side, but not beyond another such restart. Only for events of kind
        `kernel`."""
        change = self.restart(self.host(key), event)
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

"""Traces of all that a volume reads and writes for some minutes, and what they say of the size of
chunks."""

from __future__ import annotations

from typing import ClassVar

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine.heat_traces import ask_for_trace, cancel_trace
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import By, Choice, DateTime, Float, Integer, Text
from panel.api.framework.refs import Ref
from panel.api.framework.shape import Shape
from panel.api.volumes.volume_resource import VolumeResource
from storage.access import Right
from storage.analysis.trace_outcome import outcome_of
from storage.database_clock import database_now
from storage.models import HeatTrace, TraceState
from storage.models.heat_trace import MOST_MINUTES


class TraceShape(Shape):
    """A trace that was requested. The host runs it."""

    key = Text("Its name in the API; it never changes.")
    url = Text(
        "Where the API shows it.",
        of=lambda trace: reverse("api-volume-trace", args=[trace.volume.key, trace.key]),
    )
    host = Ref("The host that traces.")
    minutes = Integer("Requested length in minutes.")
    state = Choice("Its current state.", TraceState.choices)
    seconds_left = Integer(
        "Seconds until a running trace ends; otherwise null.",
        of=lambda trace: trace.seconds_left(database_now()),
        null=True,
    )
    message = Text("Why it failed, or a note on it, as a sentence for people; empty: none.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    by = By("actor.email", null=True)
    created_at = DateTime("When it was created.")
    begun_at = DateTime("When the host began; null: it has not yet.", null=True)
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)


class ChunkShareShape(Shape):
    """What chunks of one size would serve."""

    chunk_bytes = Integer("Bytes of a chunk.")
    hit_rate_low = Float("Share of reads from SSD at least, 0 to 1.", of="hit_rate.low")
    hit_rate_high = Float("That share at most.", of="hit_rate.high")


class TracedSizeShape(Shape):
    """What SSD of one size would serve, by the size of its chunks."""

    size_bytes = Integer("Bytes of SSD.")
    chunks = ChunkShareShape("By chunk size, smallest first.", of="shares", many=True)
    best_chunk_bytes = Integer(
        "The chunk size that serves most reads, among those possible for a cache of this size; "
        "null for bcache, which has no chunks.",
        null=True,
    )


class TraceDetailShape(TraceShape):
    """A trace with its results."""

    sizes = TracedSizeShape(
        "By size, smallest first; empty before it ends, and without reads.",
        of=outcome_of,
        many=True,
    )


class TraceBody(Body):
    """How long."""

    minutes = Integer("1 to 30.", min_value=1, max_value=MOST_MINUTES, default=15)


class TraceResource(VolumeResource):
    """Of the traces of a volume."""

    staff_only = True

    def trace(self, key: str, trace: str, right: Right | None = None) -> HeatTrace:
        """The one of that key, for those who have the right."""
        rows = HeatTrace.objects.visible_to(self.user).filter(volume=self.volume(key, right))
        return get_object_or_404(rows.select_related("actor", "host", "volume"), key=trace)


class VolumeTraces(TraceResource):
    """The traces of a volume."""

    listing: ClassVar = Listing("volume-traces", TraceShape, newest_first=True)

    @operation("volume_traces", "List the traces of a volume", listing)
    def get(self, request: Request, key: str) -> Response:
        """Newest first."""
        rows = HeatTrace.objects.visible_to(self.user).filter(volume=self.volume(key))
        return self.page(rows.select_related("actor", "host", "volume"))

    @operation(
        "volume_trace_make",
        "Trace what a volume reads and writes",
        TraceShape,
        status=202,
        body=TraceBody,
        problems=(422,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. The host's agent sees every I/O of the volume for `minutes` and stores
        only counts (`docs/security.md`, What heat sees). A volume has one trace at a time, and a
        host runs one at a time: others wait."""
        row, minutes = self.row(key, Right.OPERATE), self.read()["minutes"]
        return self.shown(ask_for_trace(row, minutes, self.requester), status=202)


class OneTrace(TraceResource):
    """A trace of a volume."""

    measured = ("seconds_left", "state", "message", "correction", "begun_at", "ended_at", "sizes")

    @operation("volume_trace", "Show a trace with its results", TraceDetailShape)
    def get(self, request: Request, key: str, trace: str) -> Response:
        """Results are kept as long as heat."""
        return self.shown(self.trace(key, trace))

    @operation("volume_trace_cancel", "Cancel a trace", problems=(422,))
    def delete(self, request: Request, key: str, trace: str) -> Response:
        """For operators. Refused once it has ended."""
        cancel_trace(self.trace(key, trace, Right.OPERATE))
        return Response(status=204)

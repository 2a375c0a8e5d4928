"""The list of events: read on from a place, or wait there for the next one.

Server-sent events come from the same list: an answer with what there is by now, which ends.
`EventSource` reconnects and continues from its last event, so no stream holds a thread of web.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from drf_spectacular.utils import (
    extend_schema_serializer,
)
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.hosts import panel_identity
from panel.accounts.authentication.second_factor import MARK, seal, unseal
from panel.api.deprecations import Deprecation
from panel.api.framework.api_lists import FIELDS, only_fields
from panel.api.framework.api_operations import operation
from panel.api.framework.cursor import DEFAULT_LIMIT, MAX_LIMIT
from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, Text
from panel.api.framework.parameters import Header, Moment, Number, Parameter, SomeOf
from panel.api.framework.problem import ApiProblem
from panel.api.framework.rendering import JsonRenderer, json_bytes
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.jobs import wait_for_job
from panel.deliveries.webhooks.event_body import event_json
from panel.models import Scope
from storage import event_list
from storage.access import is_staff
from storage.database_clock import database_now
from storage.models import Event, EventKind
from storage.models.event import FAMILIES, EventQuerySet

TYPES: Final = (*EventKind.values, *(f"{family}.*" for family in FAMILIES))
LATEST: Final = "latest"
PLACE: Final = "plc_"
WRITTEN: Final = re.compile(r"(plc|evt)_[\w=-]+", re.ASCII)
"""A place, or the id of an event."""
URL_SAFE: Final = str.maketrans("+/", "-_")
NOT_URL_SAFE: Final = str.maketrans("-_", "+/")
STREAM: Final = "text/event-stream"
STREAM_WAIT_SECONDS: Final = 20
RETRY_MS: Final = 2000
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.2, 1.0


class EventDataShape(Shape):
    """Keys of the objects that the event is about (null if none), and what changed. The fields
    depend on `type`; docs/api.md has the table. `host`, `alert` and their details are for staff
    only."""

    customer = Text(
        "Key of the customer at that time; null: customers do not see the event.", null=True
    )
    customer_external_id = Text("Name of the customer in your systems at that time.")
    volume = Text("The volume.", null=True)
    job = Text("Key of the job; null: none.", null=True)
    order = Text("The order.", null=True)
    host = Text("The storage host.", null=True, required=False)
    alert = Text("Key of the alert; null: none.", null=True, required=False)
    kind = Text("job.*: the kind of the job.", required=False)
    state = Text("job.*, order.*, host.*", required=False)
    error_code = Text("job.failed, job.needs_attention, host.*", required=False)
    external_id = Text("volume.*, order.*: of the volume.", required=False)
    label = Text("volume.*", required=False)  # type: ignore[assignment]  # a field, no attribute
    size_bytes = Integer(
        "volume.*: of the volume; cache.*: of the cache.", required=False, null=True
    )
    mode = Text("cache.*", required=False)
    intent = Text("order.*", required=False)
    reason_code = Text("order.*", required=False)
    proof = Text("order.proof: ready or impossible.", required=False)
    verdict = Text("order.proof", required=False)
    managed = Boolean("volume.*, staff", required=False)
    vg = Text("volume.moved, staff", required=False)
    technology = Text("cache.*, staff", required=False)
    trouble = Text("cache.*, staff", required=False)
    name = Text("host.*", required=False)
    until = Text("host.maintenance_began", required=False, null=True)
    change = Text("host.changed", required=False)
    item = Text("host.changed", required=False)
    before = Text("host.changed", required=False)
    after = Text("host.changed", required=False)
    code = Text("alert.*", required=False)
    severity = Text("alert.*", required=False)
    data_at_risk = Boolean("alert.*", required=False)
    is_told = Boolean("alert.*", required=False)
    tier = Integer("alert.*", required=False)


class EventShape(Shape):
    """One event. Its `id` is permanent, here and in webhooks."""

    id = Text("Its permanent id, here and in webhooks.")
    type = Choice("What happened.", EventKind.values)
    version = Integer(
        "Version of `data`. It increases when a field is removed or changes its meaning, not when "
        "one is added."
    )
    timestamp = DateTime("When it happened.")
    subject = Text("What it is about: volume:KEY, host:KEY or alert:KEY.")
    data = EventDataShape("What it is about, and what changed.")  # type: ignore[assignment]  # a field, no attribute


@extend_schema_serializer(deprecate_fields=["next_after"])
class EventPageShape(Shape):
    """Events after a position, and the next position: the `cursor` of the next request."""

    items = EventShape("The events, oldest first.", many=True)
    next_cursor = Text(
        "Opaque, never null; it differs in each answer. Valid for 30 days from the last event "
        "before it, or from the answer if it was the end."
    )
    next_after = Text("The same as `next_cursor`.")


class EventStreamRenderer(BaseRenderer):
    """A page of events by the rules of server-sent events; a problem stays JSON."""

    media_type = STREAM
    format = "stream"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """`retry` first, which also tells a browser that the answer is one."""
        if "items" not in data:
            return json_bytes(data)
        parts = [f"retry: {RETRY_MS}\n\n".encode()]
        for each in data["items"]:
            head = f"id: {each['id']}\nevent: {each['type']}\ndata: "
            parts += [head.encode(), json_bytes(each), b"\n\n"]
        # An id without data is not an event: the reader only stores the position.
        parts.append(f"id: {data['next_cursor']}\n\n".encode())
        return b"".join(parts)


CURSOR: Final = Parameter(
    "cursor",
    "The next_cursor of the previous answer, or the id of an event. Omitted: from the oldest "
    f"event. {LATEST}: after the newest one.",
)
AFTER: Final = Parameter(
    "after", "The same as `cursor`.", deprecated=Deprecation("after", date(2026, 11, 26))
)
LIMIT: Final = Number(
    "limit",
    f"Events per page, 1 to {MAX_LIMIT}; {DEFAULT_LIMIT}",
    least=1,
    most=MAX_LIMIT,
    default=DEFAULT_LIMIT,
)
WAIT: Final = Number(
    "wait",
    "If there is no event yet, answers with the next one, or after this many seconds "
    f"(0 to {wait_for_job.MAX_SECONDS}).",
    most=wait_for_job.MAX_SECONDS,
)
TYPE: Final = SomeOf("type", "Only events of this type, or of a family.", values=TYPES)
HOST: Final = Parameter("host", "Key of a host, for staff.")
FILTERS: Final = (
    Parameter("volume", "Key of a volume.", "volume_key"),
    Parameter("customer", "Key of a customer at that time.", "customer_key"),
    Moment("created_since", "At this time or later.", "at__gte"),
)
LAST_SEEN: Final = Header("Last-Event-ID", "Replaces `cursor`; EventSource sends it automatically.")


class Events(Resource):
    """What happened."""

    read_scope = Scope.EVENTS_READ
    renderer_classes = (JsonRenderer, EventStreamRenderer)
    # Each answer names another place.
    is_tagged = False

    @operation(
        "events_list",
        "Read events from a position",
        EventPageShape,
        parameters=(CURSOR, AFTER, LIMIT, TYPE, HOST, *FILTERS, FIELDS, WAIT, LAST_SEEN),
        problems=(410,),
    )
    def get(self, request: Request) -> Response:
        """Oldest first, in an order that never changes; kept for 30 days. Nothing is ever added
        before an event that was listed, so reading on from next_cursor misses none. Customers see
        what happened to their volumes and orders.

        With `Accept: text/event-stream` the same events come as server-sent events, in a response
        that ends: `EventSource` reconnects after two seconds and continues from its last event."""
        limit = LIMIT.of(request)
        rows = self._rows(request)
        is_stream = request.accepted_renderer.media_type == STREAM
        is_endless = is_stream and WAIT.name not in request.query_params
        within = STREAM_WAIT_SECONDS if is_endless else WAIT.of(request)
        fields = only_fields(request, EventShape)
        if is_stream and FIELDS.of(request) is not None:
            raise FIELDS.refused("`fields` cannot be used with a stream.", "unknown")
        after = request.headers.get(LAST_SEEN.name) or CURSOR.of(request) or AFTER.of(request)
        page, place = _read(rows, self._position(after), limit)
        headers: dict[str, str] = {}
        if not page and within:
            with wait_for_job.place_of(self) as has_place:
                if has_place:
                    page, place = _wait(rows, place.position, limit, within)
            if not has_place:
                headers["Retry-After"] = str(wait_for_job.AGAIN_SECONDS)
        for_staff = is_staff(self.user)
        items = fields(event_json(each, for_staff=for_staff) for each in page)
        behind = place.written()
        data = {"items": list(items), "next_cursor": behind, "next_after": behind}
        return Response(data, headers=headers)

    def _rows(self, request: Request) -> EventQuerySet:
        rows = Event.objects.visible_to(self.user).listed().of_kinds(TYPE.of(request) or [])
        if (host := HOST.of(request)) is not None:
            rows = rows.filter(host_key=host) if is_staff(self.user) else rows.none()
        for each in FILTERS:
            rows = each.narrow(request, rows)
        return rows

    def _position(self, after: str | None) -> int:
        if after is None:
            return 0
        if after == LATEST:
            return event_list.head()
        if WRITTEN.fullmatch(after) is None:
            # Not even an old one: the client made a mistake and missed no events.
            raise CURSOR.refused(f"Use next_cursor of the previous answer, or {LATEST}.")
        if after.startswith(PLACE):
            position = _position(after)
        else:
            known = Event.objects.visible_to(self.user).filter(key=after, position__isnull=False)
            position = known.values_list("position", flat=True).first()
        if position is None:
            raise ApiProblem(
                410,
                "place_gone",
                "No event has this id, or the position is older than 30 days or from before a "
                "restore.",
                "Read the current state of the objects that you follow, then events from "
                "cursor=latest.",
            )
        return position


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where a reader is in the list: all up to `position` is read, and all that is not was written
    at `at` or later."""

    position: int
    at: datetime

    def written(self) -> str:
        """As readers get it: encrypted, with another text each time, since the position counts
        what happens to all customers. A restored panel has another id, and its list continues
        differently from the one that was read."""
        panel = panel_identity.this().panel.hex
        sealed = seal(f"{PLACE}{self.position}:{int(self.at.timestamp())}:{panel}")
        return PLACE + sealed.removeprefix(MARK).translate(URL_SAFE)


def _position(place: str) -> int | None:
    """The position of a written place; None where events behind it may be forgotten, or may be
    others: it is too old, was written before a restore, or never."""
    try:
        text = unseal(MARK + place.removeprefix(PLACE).translate(NOT_URL_SAFE))
        position, at, panel = text.removeprefix(PLACE).split(":")
        written_at = datetime.fromtimestamp(int(at), UTC)
    except ValueError:
        return None
    is_kept = database_now() - written_at < event_list.KEPT
    is_of_this_list = panel == panel_identity.this().panel.hex
    # A database that other tools put back has the same panel, and may have given fewer places.
    was_given = int(position) <= event_list.given_out()
    return int(position) if is_kept and is_of_this_list and was_given else None


def _read(rows: EventQuerySet, position: int, limit: int) -> tuple[list[Event], EventPlace]:
    """The events after the position, and the next position: once all are read, the end of the list,
    also for a reader without events."""
    now, head = database_now(), event_list.head()
    page = list(rows.filter(position__gt=position)[:limit])
    if len(page) < limit:
        return page, EventPlace(max(position, head, *(each.position or 0 for each in page)), now)
    return page, EventPlace(page[-1].position or 0, page[-1].at)


def _wait(
    rows: EventQuerySet, position: int, limit: int, within: int
) -> tuple[list[Event], EventPlace]:
    """The same once there are events, or after the given seconds."""
    end, pause = time.monotonic() + within, FIRST_POLL_SECONDS
    while True:
        time.sleep(min(pause, max(0.0, end - time.monotonic())))
        page, place = _read(rows, position, limit)
        if page or time.monotonic() >= end:
            return page, place
        position, pause = place.position, min(pause * 1.5, LAST_POLL_SECONDS)

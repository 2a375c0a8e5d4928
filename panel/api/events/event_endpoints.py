"""The list of events: read on from a place, or wait there for the next one.

Server-sent events come from the same list: an answer with what there is by now, which ends.
`EventSource` asks again by itself, from where it was, so no stream ever holds a thread of web.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.hosts import panel_identity
from panel.accounts.authentication.second_factor import MARK, seal, unseal
from panel.api.framework import described, wait_for_job
from panel.api.framework.api_lists import FIELDS, only_fields
from panel.api.framework.cursor import DEFAULT_LIMIT, MAX_LIMIT
from panel.api.framework.problem import ApiProblem
from panel.api.framework.rendering import JsonRenderer, json_bytes
from panel.api.framework.resource import Resource, bad_parameter, since, whole
from panel.api.framework.shape import Shape
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
LAST_SEEN: Final = "Last-Event-ID"
STREAM: Final = "text/event-stream"
STREAM_WAIT_SECONDS: Final = 20
RETRY_MS: Final = 2000
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.2, 1.0


class EventDataShape(Shape):
    """Keys of what the event is about (null where there is none), and what changed. Which fields
    there are depends on `type`; docs/api.md has the table. `host`, `alert` and what is said of them
    is for staff only."""

    customer = serializers.CharField(
        allow_null=True,
        help_text="Key that the customer had then; null: nothing that a customer sees.",
    )
    customer_external_id = serializers.CharField(
        allow_blank=True, help_text="Name that the customer had then in your systems."
    )
    volume = serializers.CharField(allow_null=True)
    job = serializers.CharField(allow_null=True, help_text="Key of the job; null: none.")
    order = serializers.CharField(allow_null=True)
    host = serializers.CharField(allow_null=True, required=False)
    alert = serializers.CharField(
        allow_null=True, required=False, help_text="Key of the alert; null: none."
    )
    kind = serializers.CharField(required=False, help_text="job.*: the kind of the job.")
    state = serializers.CharField(required=False, help_text="job.*, order.*, host.*")
    error_code = serializers.CharField(
        required=False, allow_blank=True, help_text="job.failed, job.needs_attention, host.*"
    )
    external_id = serializers.CharField(
        required=False, allow_blank=True, help_text="volume.*, order.*: of the volume."
    )
    label = serializers.CharField(  # type: ignore[assignment]  # a field, no attribute
        required=False, help_text="volume.*"
    )
    size_bytes = serializers.IntegerField(
        required=False, allow_null=True, help_text="volume.*: of the volume; cache.*: of the cache."
    )
    mode = serializers.CharField(required=False, allow_blank=True, help_text="cache.*")
    intent = serializers.CharField(required=False, help_text="order.*")
    reason_code = serializers.CharField(required=False, allow_blank=True, help_text="order.*")
    proof = serializers.CharField(required=False, help_text="order.proof: ready or impossible.")
    verdict = serializers.CharField(required=False, allow_blank=True, help_text="order.proof")
    managed = serializers.BooleanField(required=False, help_text="volume.*, staff")
    vg = serializers.CharField(required=False, help_text="volume.moved, staff")
    technology = serializers.CharField(required=False, allow_blank=True, help_text="cache.*, staff")
    trouble = serializers.CharField(required=False, allow_blank=True, help_text="cache.*, staff")
    name = serializers.CharField(required=False, help_text="host.*")
    until = serializers.CharField(
        required=False, allow_null=True, help_text="host.maintenance_began"
    )
    change = serializers.CharField(required=False, help_text="host.changed")
    item = serializers.CharField(required=False, allow_blank=True, help_text="host.changed")
    before = serializers.CharField(required=False, allow_blank=True, help_text="host.changed")
    after = serializers.CharField(required=False, allow_blank=True, help_text="host.changed")
    code = serializers.CharField(required=False, allow_blank=True, help_text="alert.*")
    severity = serializers.CharField(required=False, help_text="alert.*")
    data_at_risk = serializers.BooleanField(required=False, help_text="alert.*")
    is_told = serializers.BooleanField(required=False, help_text="alert.*")
    tier = serializers.IntegerField(required=False, help_text="alert.*")


class EventShape(Shape):
    """One thing that happened. `id` names it for ever, here and in webhooks."""

    id = serializers.CharField(help_text="Its name for ever, here and in webhooks.")
    type = serializers.ChoiceField(choices=EventKind.values, help_text="What happened.")
    version = serializers.IntegerField(
        help_text="Of data. A new field does not change it; it counts up where one goes or means "
        "something else."
    )
    timestamp = serializers.DateTimeField(help_text="When it happened.")
    subject = serializers.CharField(
        help_text="What it is about: volume:KEY, host:KEY or alert:KEY."
    )
    data = EventDataShape(help_text="What it is about, and what changed.")  # type: ignore[assignment]  # a field, no attribute


@extend_schema_serializer(deprecate_fields=["next_after"])
class EventPageShape(Shape):
    """Events behind a place, and the place behind them: the `cursor` of the next request."""

    items = EventShape(many=True, help_text="The events, oldest first.")
    next_cursor = serializers.CharField(
        help_text="Opaque, never null; it differs in each answer. Valid for 30 days from the last "
        "event before it, or from the answer where there were no more."
    )
    next_after = serializers.CharField(help_text="The same as `next_cursor`.")


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
        # An id without data is no event: the reader only notes where to go on.
        parts.append(f"id: {data['next_cursor']}\n\n".encode())
        return b"".join(parts)


class Events(Resource):
    """What happened."""

    read_scope = Scope.EVENTS_READ
    renderer_classes = (JsonRenderer, EventStreamRenderer)
    # Each answer names another place.
    is_tagged = False
    parameters: ClassVar = {
        "GET": (
            "cursor",
            "after",
            "limit",
            "type",
            "volume",
            "host",
            "customer",
            "created_since",
            "fields",
            "wait",
        )
    }
    repeatable = ("type",)

    @extend_schema(
        operation_id="events_list",
        summary="Read events on from a place",
        parameters=[
            described.query(
                "cursor",
                "The next_cursor of the previous answer, or the id of an event. Missing: from the "
                f"oldest event on. {LATEST}: behind the newest one.",
            ),
            described.query("after", "The same as `cursor`.", deprecated=True),
            OpenApiParameter(
                "limit", int, description=f"Events per page, 1 to {MAX_LIMIT}; {DEFAULT_LIMIT}"
            ),
            described.choice("type", "Only events of this type, or of a family.", TYPES),
            described.query("volume", "Key of a volume."),
            described.query("host", "Key of a host, for staff."),
            described.query("customer", "Key that a customer had then."),
            OpenApiParameter(
                "created_since", OpenApiTypes.DATETIME, description="At this time or later."
            ),
            FIELDS,
            OpenApiParameter(
                "wait",
                int,
                description="Where there is no event yet, the answer comes with the next one, or "
                f"after this many seconds (0 to {wait_for_job.MAX_SECONDS}).",
            ),
            OpenApiParameter(
                LAST_SEEN,
                str,
                OpenApiParameter.HEADER,
                description="As `cursor`, which it replaces; EventSource sends it by itself.",
            ),
        ],
        responses={
            200: EventPageShape,
            **described.problems(400, 403),
            **described.gone("The event named by `cursor` is not kept any more (`place_gone`)."),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first, in an order that never changes; kept for 30 days. Nothing is ever added
        before an event that was listed, so reading on from next_cursor misses none. Customers see
        what happened to their volumes and orders.

        With `Accept: text/event-stream` the same events come as server-sent events, in an answer
        that ends: `EventSource` asks again after two seconds, from where it was."""
        limit = whole(request, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT)
        rows = self._rows(request)
        is_stream = request.accepted_renderer.media_type == STREAM
        default_wait = STREAM_WAIT_SECONDS if is_stream else 0
        within = whole(request, "wait", default_wait, 0, wait_for_job.MAX_SECONDS)
        fields, asked = only_fields(request, EventShape), request.query_params
        if is_stream and "fields" in asked:
            raise bad_parameter("fields", "unknown", "A stream has whole events.")
        after = request.headers.get(LAST_SEEN) or asked.get("cursor") or asked.get("after")
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
        kinds = request.query_params.getlist("type")
        if not set(kinds) <= set(TYPES):
            raise bad_parameter("type", "invalid", f"One of {', '.join(TYPES)}; repeat it.")
        rows = Event.objects.visible_to(self.user).listed()
        rows = rows.of_kinds(kinds)
        if (volume := request.query_params.get("volume")) is not None:
            rows = rows.filter(volume_key=volume)
        if (host := request.query_params.get("host")) is not None:
            rows = rows.filter(host_key=host) if is_staff(self.user) else rows.none()
        if (customer := request.query_params.get("customer")) is not None:
            rows = rows.filter(customer_key=customer)
        if (at := since(request, "created_since")) is not None:
            rows = rows.filter(at__gte=at)
        return rows

    def _position(self, after: str | None) -> int:
        if after is None:
            return 0
        if after == LATEST:
            return event_list.head()
        if WRITTEN.fullmatch(after) is None:
            # Not even an old one: who asks has a mistake, not a gap in what they have read.
            raise bad_parameter(
                "cursor", "invalid", f"Take next_cursor of the last answer, or {LATEST}."
            )
        if after.startswith(PLACE):
            position = _position(after)
        else:
            known = Event.objects.visible_to(self.user).filter(key=after, position__isnull=False)
            position = known.values_list("position", flat=True).first()
        if position is None:
            raise ApiProblem(
                410,
                "place_gone",
                "No event has this id, or the place is older than 30 days or than a restore.",
                "Read the state of what you follow, then events from cursor=latest.",
            )
        return position


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where a reader is in the list: all up to `position` is read, and all that is not was written
    at `at` or later."""

    position: int
    at: datetime

    def written(self) -> str:
        """As readers are told it. It is sealed, and each time another text: the position counts
        what happens to all customers. A restored panel has another id, and its list goes on
        otherwise than the one that was read."""
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
    """The events behind the position, and the place to go on from: where all were read, that is the
    end of the list, also for a reader to whom nothing happens."""
    now, head = database_now(), event_list.head()
    page = list(rows.filter(position__gt=position)[:limit])
    if len(page) < limit:
        return page, EventPlace(max(position, head, *(each.position or 0 for each in page)), now)
    return page, EventPlace(page[-1].position or 0, page[-1].at)


def _wait(
    rows: EventQuerySet, position: int, limit: int, within: int
) -> tuple[list[Event], EventPlace]:
    """The same once there are any, or after so many seconds."""
    end, pause = time.monotonic() + within, FIRST_POLL_SECONDS
    while True:
        time.sleep(min(pause, max(0.0, end - time.monotonic())))
        page, place = _read(rows, position, limit)
        if page or time.monotonic() >= end:
            return page, place
        position, pause = place.position, min(pause * 1.5, LAST_POLL_SECONDS)

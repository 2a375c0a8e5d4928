"""Alerts and silences: list, detail, acknowledge, silence."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db.models import Q
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.alerts import alert_actions
from jobs.models import Alert, AlertEventKind, Silence
from jobs.models.alert import AlertQuerySet
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource, bad_parameter, truth
from panel.api.framework.shape import Shape
from panel.api.request_bodies import Body, ZonedDateTimeField
from panel.api.resource_json import host_ref, job_ref, ref, volume_ref
from panel.api.response_shapes import Json, Ref
from panel.deliveries.alerts.alert_texts import name_of
from panel.models import AlertDelivery, RouteKind, Scope
from panel.models.alert_route import with_message_counts
from storage.access import Right
from storage.database_clock import database_now
from storage.models import Host, Volume
from storage.problems.all_kinds import KINDS

STATES = ("open", "waiting", "acknowledged", "hushed", "resolved", "all")
FILTERS = ("state", "code", "host", "volume", "data_at_risk", "at_risk")
ORDER = ("first_seen_at", "key")
LONGEST = timedelta(days=366)
MOST_MESSAGES = 100
REASON = "Why, for whoever looks next."


class AlertEventShape(Shape):
    """One thing that happened to an alert. `actor` is "" for the panel."""

    at = serializers.DateTimeField()
    kind = serializers.CharField(help_text=f"One of {', '.join(AlertEventKind.values)}.")
    told = serializers.BooleanField(help_text="Whether people are to be told of it.")
    tier = serializers.IntegerField(help_text="Who is told: 1 first, 3 last.")
    text = serializers.CharField(allow_blank=True, help_text="What was said of it; empty: nothing.")
    actor = serializers.CharField(allow_blank=True)


class AcknowledgementShape(Shape):
    """Who looks after an alert. `until` null: until it is resolved."""

    at = serializers.DateTimeField()
    by = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    until = serializers.DateTimeField(allow_null=True)


class MessageCountShape(Shape):
    """How many messages about an alert there are. All 0: nobody was told, whatever `told_at`
    says."""

    delivered = serializers.IntegerField(help_text="That arrived.")
    waiting = serializers.IntegerField(help_text="Not sent yet, or to be tried again.")
    given_up = serializers.IntegerField(help_text="That are tried no more.")


class AlertMessageToShape(Shape):
    """A message about an alert."""

    route = Ref(allow_null=True, help_text="Who is told; null where it was deleted.")
    recipient = serializers.CharField(help_text="Who was told, by name, also where it is gone.")
    kind = serializers.CharField(
        allow_null=True,
        help_text=f"One of {', '.join(RouteKind.values)}; null where it was deleted.",
    )
    state = serializers.CharField(help_text="delivered, waiting or given_up.")
    created_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)


class AlertShape(Shape):
    """A problem from its opening to its end. `events`, `deliveries` and `effects` come with a
    single alert."""

    key = serializers.CharField()
    url = serializers.CharField()
    code = serializers.CharField(
        allow_blank=True, help_text="The kind of problem, such as array_degraded."
    )
    severity = serializers.CharField(help_text="error or warning.")
    data_at_risk = serializers.BooleanField(help_text="Another fault may destroy data.")
    state = serializers.CharField(help_text="open or resolved.")
    host = Ref(allow_null=True, help_text="null where it concerns all hosts.")
    volume = Ref(allow_null=True, help_text="Null where it concerns no single volume.")
    job = Ref(allow_null=True, help_text="The job that it is about; null: none.")
    subject = serializers.CharField(
        allow_blank=True, help_text="What else it is about, such as a disk or an array."
    )
    message = serializers.CharField(allow_blank=True)
    correction = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField(allow_null=True, help_text="When the problem began.")
    opened_at = serializers.DateTimeField(help_text="When it lasted long enough to be an alert.")
    told_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When it was due to be told; whom, the routes decide. See messages.",
    )
    messages = MessageCountShape(help_text="To people, by what became of them.")
    resolved_at = serializers.DateTimeField(
        allow_null=True, help_text="When the problem was over; null: it is not."
    )
    hushed_by = serializers.CharField(
        allow_blank=True, help_text="silence, maintenance, or empty: why nobody is told."
    )
    flapping = serializers.BooleanField(help_text="It opens and resolves again and again.")
    openings = serializers.IntegerField(help_text="How often it has opened.")
    tier = serializers.IntegerField(help_text="Who is told by now: 1 first, 3 last.")
    cause = Ref(allow_null=True, help_text="The alert that it follows from; null: none.")
    acknowledgement = AcknowledgementShape(
        allow_null=True, help_text="Who looks after it; null: nobody."
    )
    events = AlertEventShape(many=True, required=False, help_text="What happened to it, in order.")
    deliveries = AlertMessageToShape(
        many=True, required=False, help_text="Its messages, the latest first."
    )
    effects = Ref(many=True, required=False, help_text="The alerts that follow from it.")


class SilenceShape(Shape):
    """What nobody is told of, until when."""

    key = serializers.CharField()
    url = serializers.CharField()
    host = Ref(allow_null=True)
    volume = Ref(allow_null=True)
    code = serializers.CharField(allow_blank=True, help_text="Kind of problem; empty: any.")
    reason = serializers.CharField()
    author = serializers.CharField(
        allow_blank=True, help_text="E-mail address of who made it; empty: the panel itself."
    )
    created_at = serializers.DateTimeField()
    until = serializers.DateTimeField()
    active = serializers.BooleanField(help_text="False: it has ended.")


class AcknowledgeBody(Body):
    """Why nobody else needs to be told."""

    reason = serializers.CharField(max_length=200, help_text=REASON)
    until = ZonedDateTimeField(
        required=False, allow_null=True, help_text="Default: until it is resolved."
    )


class SilenceBody(Body):
    """What nobody shall be told of: what agrees with all that is given, at least one."""

    host = serializers.CharField(required=False, help_text="Key or name.")
    volume = serializers.CharField(required=False, help_text="Key.")
    code = serializers.CharField(
        required=False, max_length=64, help_text="Kind of problem, such as drift."
    )
    reason = serializers.CharField(max_length=200, help_text=REASON)
    until = ZonedDateTimeField(help_text="Within a year.")


def alert_json(alert: Alert, *, whole: bool = False) -> Json:
    """An alert that came with its message counts, for `AlertShape`; `whole` with its events."""
    data: Json = {
        name: getattr(alert, name)
        for name in (
            "key",
            "code",
            "severity",
            "subject",
            "message",
            "correction",
            "since",
            "opened_at",
            "told_at",
            "resolved_at",
            "hushed_by",
            "openings",
            "tier",
        )
    }
    data |= {
        "url": reverse("api-alert", args=[alert.key]),
        "data_at_risk": alert.rank == 0,
        "state": "resolved" if alert.resolved_at is not None else "open",
        "host": host_ref(alert.host),
        "volume": volume_ref(alert.volume),
        "job": job_ref(alert.job),
        "flapping": alert.is_flapping,
        "messages": {
            state: getattr(alert, f"messages_{state}")
            for state in ("delivered", "waiting", "given_up")
        },
        "cause": alert_ref(alert.cause),
        "acknowledgement": _acknowledgement(alert),
    }
    if whole:
        data["events"] = [
            {
                "at": each.at,
                "kind": each.kind,
                "told": each.is_told,
                "tier": each.tier,
                "text": each.text,
                "actor": str(each.actor or ""),
            }
            for each in alert.events.select_related("actor")
        ]
        about = AlertDelivery.objects.filter(events__alert=alert).select_related("route")
        data["deliveries"] = [
            {
                "route": ref("api-alert-route", each.route.key, each.route.name)
                if each.route is not None
                else None,
                "recipient": each.route.name if each.route is not None else each.recipient,
                "kind": each.route.kind if each.route is not None else None,
                "state": each.state,
                "created_at": each.created_at,
                "delivered_at": each.delivered_at,
            }
            for each in about.distinct()[:MOST_MESSAGES]
        ]
        data["effects"] = list(map(alert_ref, alert.effects.filter(opened_at__isnull=False)))
    shaped: Json = AlertShape(data).data
    return shaped


def _acknowledgement(alert: Alert) -> Json | None:
    if alert.acknowledged_at is None:
        return None
    return {
        "at": alert.acknowledged_at,
        "by": str(alert.acknowledged_by or ""),
        "reason": alert.acknowledged_reason,
        "until": alert.acknowledged_until,
    }


def alert_ref(alert: Alert | None) -> Json | None:
    """By the kind of problem: an alert has no name of its own."""
    return ref("api-alert", alert.key, name_of(alert.code)) if alert is not None else None


def silence_json(quiet: Silence, now: datetime) -> Json:
    """A silence, for `SilenceShape`."""
    shaped: Json = SilenceShape(
        {
            "key": quiet.key,
            "url": reverse("api-silence", args=[quiet.key]),
            "host": host_ref(quiet.host),
            "volume": volume_ref(quiet.volume),
            "code": quiet.code,
            "reason": quiet.reason,
            "author": str(quiet.author or ""),
            "created_at": quiet.created_at,
            "until": quiet.until,
            "active": quiet.until > now,
        }
    ).data
    return shaped


class Alerts(Resource):
    """Open alerts, and the history."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    listing: ClassVar = Listing(
        "alerts",
        AlertShape,
        order=ORDER,
        time="first_seen_at",
        newest_first=True,
        searched=("message", "host__name", "volume__label"),
        search_text="Part of the message, or of the name of its host or volume.",
    )
    parameters: ClassVar = {"GET": (*listing.parameters, *FILTERS)}

    @extend_schema(
        operation_id="alerts_list",
        summary="List alerts",
        parameters=[
            *listing.described,
            described.query("state", "Default: open.", enum=STATES),
            described.query("code", "Kind of problem, such as array_degraded."),
            described.query("host", "Key or name of a host."),
            described.query("volume", "Key of a volume."),
            described.query("data_at_risk", "true: only data at risk.", enum=["true", "false"]),
            described.query(
                "at_risk", "The same as `data_at_risk`.", enum=["true", "false"], deprecated=True
            ),
        ],
        responses={
            200: listing.page_shape("AlertPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Newest first, also those that follow from another one."""
        rows = _filtered(request, with_message_counts(Alert.objects.visible_to(self.user)))
        rows = rows.with_names()
        return self.listing.answer(request, rows, lambda page: map(alert_json, page))


def _filtered(request: Request, rows: AlertQuerySet) -> AlertQuerySet:
    asked = request.query_params
    state = asked.get("state", "open")
    if state not in STATES:
        raise bad_parameter("state", "invalid", f"One of {', '.join(STATES)}.")
    rows = rows.of_state("" if state == "open" else state)
    if (code := asked.get("code")) is not None:
        if not _is_known(code):
            raise bad_parameter("code", "invalid", f"There is no kind of problem {code}.")
        rows = rows.filter(code=code)
    if (host := asked.get("host")) is not None:
        rows = rows.filter(Q(host__key=host) | Q(host__name=host))
    if (volume := asked.get("volume")) is not None:
        rows = rows.filter(volume__key=volume)
    for name in ("data_at_risk", "at_risk"):
        if name in asked:
            rows = rows.filter(rank=0) if truth(request, name) else rows.filter(rank__gt=0)
    return rows


class OneAlert(Resource):
    """One alert."""

    read_scope = Scope.ALERTS_READ
    staff_only = True

    @extend_schema(
        operation_id="alert",
        summary="Show an alert",
        responses={200: AlertShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """With its events and what follows from it."""
        return Response(alert_json(_alert_of(self, key), whole=True))


def _alert_of(view: Resource, key: str) -> Alert:
    alerts = with_message_counts(Alert.objects.visible_to(view.user)).with_names()
    return get_object_or_404(alerts, key=key)


class AlertAcknowledgement(Resource):
    """Who looks after an alert."""

    staff_only = True
    write_scope = Scope.ALERTS

    @extend_schema(
        operation_id="alert_acknowledge",
        summary="Acknowledge an alert",
        request=AcknowledgeBody,
        responses={200: AlertShape, **described.problems(403, 404, 409, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. Nobody else is told, until it is resolved, becomes worse, or `until` has
        come. Refused (`resolved`) once it is over."""
        alert = _alert_of(self, key)
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, AcknowledgeBody)
        until = values.get("until")
        if until is not None:
            _demand_end(until)
        if not alert_actions.acknowledge(alert, self.user, values["reason"], until):
            raise ApiProblem(409, "resolved", "The alert is resolved.", "Nothing is left to do.")
        return Response(alert_json(_alert_of(self, key), whole=True))

    @extend_schema(
        operation_id="alert_unacknowledge",
        summary="Take back an acknowledgement",
        responses={200: AlertShape, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators. The next tier is told if nobody else looks after it."""
        alert = _alert_of(self, key)
        self.demand(Right.OPERATE)
        alert_actions.unacknowledge(alert, self.user)
        return Response(alert_json(_alert_of(self, key), whole=True))


class Silences(Resource):
    """What nobody is told of."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERTS
    listing: ClassVar = Listing("silences", SilenceShape, newest_first=True)
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="silences_list",
        summary="List silences",
        parameters=listing.described,
        responses={
            200: listing.page_shape("SilencePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Newest first, also those that are over."""
        rows = Silence.objects.visible_to(self.user).select_related("host", "volume", "author")
        now = database_now()
        return self.listing.answer(
            request, rows, lambda page: (silence_json(each, now) for each in page)
        )

    @extend_schema(
        operation_id="silence_make",
        summary="Silence a host, a volume or a kind of problem",
        request=SilenceBody,
        responses={201: SilenceShape, **described.problems(400, 403, 404, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        """For operators. Alerts open all the same; what is still there at the end is told then."""
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, SilenceBody)
        scope = [values.get(name) for name in ("host", "volume", "code")]
        if not any(scope):
            raise _unfit("", "Name a host, a volume or a code.")
        if scope[2] and not _is_known(scope[2]):
            raise _unfit("/code", f"There is no kind of problem {scope[2]}.")
        _demand_end(values["until"])
        host, volume = self._host(scope[0]), self._volume(scope[1])
        made = alert_actions.silence(
            host=host,
            volume=volume,
            code=scope[2] or "",
            reason=values["reason"],
            until=values["until"],
            author=self.user,
        )
        data = silence_json(made, database_now())
        return Response(data, status=201, headers={"Location": data["url"]})

    def _host(self, name: str | None) -> Host | None:
        if not name:
            return None
        hosts = Host.objects.visible_to(self.user).without_inventory()
        # A key is stronger than a name of the same text.
        host = hosts.filter(key=name).first() or hosts.filter(name=name).first()
        if host is None:
            raise _unfit("/host", f"There is no host {name}.")
        return host

    def _volume(self, key: str | None) -> Volume | None:
        if not key:
            return None
        volume = Volume.objects.visible_to(self.user).filter(key=key).first()
        if volume is None:
            raise _unfit("/volume", f"There is no volume {key}.")
        return volume


class OneSilence(Resource):
    """One silence."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERTS

    @extend_schema(
        operation_id="silence",
        summary="Show a silence",
        responses={200: SilenceShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Also one that is over."""
        return Response(silence_json(_silence(self, key), database_now()))

    @extend_schema(
        operation_id="silence_delete",
        summary="End a silence",
        deprecated=True,
        responses={200: SilenceShape, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """The same as `POST …/end`: its row stays."""
        return _ended(self, key)


class SilenceEnd(Resource):
    """The end of a silence before its time."""

    staff_only = True
    write_scope = Scope.ALERTS
    takes_no_body = True

    @extend_schema(
        operation_id="silence_end",
        summary="End a silence",
        request=None,
        responses={200: SilenceShape, **described.problems(403, 404)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Its row stays; what is still there is told."""
        return _ended(self, key)


def _ended(view: Resource, key: str) -> Response:
    quiet = _silence(view, key)
    view.demand(Right.OPERATE)
    alert_actions.end_silence(quiet, view.user)
    return Response(silence_json(_silence(view, key), database_now()))


def _silence(view: Resource, key: str) -> Silence:
    rows = Silence.objects.visible_to(view.user).select_related("host", "volume", "author")
    return get_object_or_404(rows, key=key)


def _is_known(code: str) -> bool:
    """Whether alerts can have this kind: one that the panel names, or that a host has reported."""
    return code in KINDS or Alert.objects.filter(code=code).exists()


def _demand_end(until: datetime) -> None:
    if not database_now() < until <= database_now() + LONGEST:
        raise _unfit("/until", "The end must lie within the next year.")


def _unfit(pointer: str, message: str) -> ApiProblem:
    errors = [{"pointer": pointer, "code": "invalid", "message": message}]
    return ApiProblem(422, "invalid", message, "Correct the field.", errors=errors)

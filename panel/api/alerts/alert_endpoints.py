"""Alerts and silences: list, detail, acknowledge, silence."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, ClassVar

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.alerts import alert_actions
from jobs.models import Alert, AlertEventKind, Silence
from panel.api.deprecations import Deprecation
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import Boolean, By, DateTime, Integer, Text
from panel.api.framework.parameters import OneOf, Parameter, Truth
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Noun, Ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.models import AlertDelivery, RouteKind, Scope
from panel.models.alert_route import with_message_counts
from storage.access import Right
from storage.database_clock import ClockNow, database_now
from storage.models import Host, Volume
from storage.problems.all_kinds import KINDS

LONGEST = timedelta(days=366)
MOST_MESSAGES = 100
REASON = "The reason, shown to others."


class AlertEventShape(Shape):
    """One thing that happened to an alert. `actor` is "" for the panel."""

    at = DateTime("When it happened.")
    kind = Text(f"One of {', '.join(AlertEventKind.values)}.")
    told = Boolean("Whether recipients are notified of it.", of="is_notified")
    tier = Integer("Who is notified: 1 first, 3 last.")
    text = Text("Details; empty: none.")
    actor = By("actor.email")


class AcknowledgementShape(Shape):
    """The acknowledgement of an alert. `until` null: until it is resolved."""

    at = DateTime("When it happened.", of="acknowledged_at")
    by = By("acknowledged_by.email")
    reason = Text("The reason that the person gave.", of="acknowledged_reason")
    until = DateTime("When it ends.", of="acknowledged_until", null=True)


class MessageCountShape(Shape):
    """Number of messages about an alert. All 0: no one was notified, even if `told_at` is set."""

    delivered = Integer("Delivered.", of="messages_delivered")
    waiting = Integer("Not sent yet, or to be retried.", of="messages_waiting")
    given_up = Integer("Given up.", of="messages_given_up")


class AlertMessageToShape(Shape):
    """A message about an alert."""

    route = Ref("The recipient; null where it was deleted.", null=True)
    recipient = Text(
        "Name of the recipient, also of a deleted one.",
        of=lambda row: row.recipient if row.route is None else row.route.name,
    )
    kind = Text(
        f"One of {', '.join(RouteKind.values)}; null where it was deleted.",
        of="route.kind",
        null=True,
    )
    state = Text("delivered, waiting or given_up.")
    created_at = DateTime("When it was made.")
    delivered_at = DateTime("When it arrived; null: not yet.", null=True)


def _messages_about(alert: Alert) -> QuerySet[AlertDelivery]:
    about = AlertDelivery.objects.filter(events__alert=alert).select_related("route")
    return about.distinct()[:MOST_MESSAGES]


class AlertShape(Noun):
    """A problem from its opening to its end. `events`, `deliveries` and `effects` come with a
    single alert."""

    code = Text("The kind of problem, such as array_degraded.")
    severity = Text("error or warning.")
    data_at_risk = Boolean("Another fault may destroy data.", of=lambda alert: alert.rank == 0)
    state = Text(
        "open or resolved.", of=lambda alert: "open" if alert.resolved_at is None else "resolved"
    )
    host = Ref("null where it concerns all hosts.", null=True)
    volume = Ref("Null where it concerns no single volume.", null=True)
    job = Ref("The job concerned; null: none.", null=True)
    subject = Text("What else it is about, such as a disk or an array.")
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty: nothing.")
    since = DateTime("When the problem began.", null=True)
    opened_at = DateTime("When it lasted long enough to be an alert.")
    told_at = DateTime(
        "When it first notified; the messages show whether there was a recipient.",
        of="notified_at",
        null=True,
    )
    messages = MessageCountShape("Its messages, by state.", of=lambda alert: alert)
    resolved_at = DateTime("When the problem ended; null: it has not.", null=True)
    hushed_by = Text("silence, maintenance, or empty: why no one is notified.", of="muted_by")
    flapping = Boolean("It opens and resolves again and again.", of="is_flapping")
    openings = Integer("How often it has opened.")
    tier = Integer("The tier it has reached: 1 first, 3 last.")
    cause = Ref("The alert that it follows from; null: none.", null=True)
    acknowledgement = AcknowledgementShape(
        "Its acknowledgement; null: none.",
        of=lambda alert: None if alert.acknowledged_at is None else alert,
        null=True,
    )
    events = AlertEventShape(
        "What happened to it, in order.",
        of=lambda alert: alert.events.select_related("actor"),
        many=True,
        detail=True,
    )
    deliveries = AlertMessageToShape(
        "Its messages, the latest first.", of=_messages_about, many=True, detail=True
    )
    effects = Ref(
        "The alerts that follow from it.",
        of=lambda alert: alert.effects.filter(opened_at__isnull=False),
        many=True,
        detail=True,
    )


class SilenceShape(Noun):
    """Alerts that send no messages, until when."""

    host = Ref("The storage host.", null=True)
    volume = Ref("The volume.", null=True)
    code = Text("Kind of problem; empty: any.")
    reason = Text("The reason that the person gave.")
    author = Text("E-mail address of its author; empty: the panel itself.", of="author.email")
    created_at = DateTime("When it was made.")
    until = DateTime("When it ends.")
    active = Boolean("False: it has ended.")


class AcknowledgeBody(Body):
    """The reason and the end of an acknowledgement."""

    reason = Text(REASON, max_length=200)
    until = DateTime("Default: until it is resolved.", required=False, null=True)


class SilenceBody(Body):
    """Mute alerts that match all given terms, at least one."""

    host = Text("Key or name.", required=False)
    volume = Text("Key.", required=False)
    code = Text("Kind of problem, such as drift.", required=False, max_length=64)
    reason = Text(REASON, max_length=200)
    until = DateTime("Within a year.")


def _is_known(code: str) -> bool:
    """Whether alerts can have this kind: the panel knows it, or a host has reported it."""
    return code in KINDS or Alert.objects.filter(code=code).exists()


class ProblemCode(Parameter):
    """A kind of problem."""

    def read(self, text: str) -> str:
        """The kind, if alerts can have it."""
        if not _is_known(text):
            raise self.refused(f"There is no kind of problem {text}.")
        return text


def _at_risk(value: bool) -> Q:
    return Q(rank=0) if value else Q(rank__gt=0)


STATE = OneOf(
    "state",
    "Default: open.",
    values=("open", "waiting", "acknowledged", "hushed", "resolved", "all"),
)
FILTERS = (
    STATE,
    ProblemCode("code", "Kind of problem, such as array_degraded.", "code"),
    Parameter(
        "host", "Key or name of a host.", lambda text: Q(host__key=text) | Q(host__name=text)
    ),
    Parameter("volume", "Key of a volume.", "volume__key"),
    Truth("data_at_risk", "true: only data at risk.", _at_risk),
    Truth(
        "at_risk",
        "The same as `data_at_risk`.",
        _at_risk,
        deprecated=Deprecation("at_risk", date(2026, 11, 26)),
    ),
)


class AlertResource(Resource):
    """Of alerts."""

    read_scope = Scope.ALERTS_READ
    staff_only = True

    def alert(self, key: str) -> Alert:
        """The one of this key."""
        alerts = with_message_counts(Alert.objects.visible_to(self.user)).with_names()
        return get_object_or_404(alerts, key=key)


class Alerts(AlertResource):
    """Open alerts, and the history."""

    listing: ClassVar = Listing(
        "alerts",
        AlertShape,
        order=("first_seen_at", "key"),
        time="first_seen_at",
        newest_first=True,
        searched=("message", "host__name", "volume__label"),
        search_text="Part of the message, or of the name of its host or volume.",
        filters=FILTERS,
    )

    @operation("alerts_list", "List alerts", listing)
    def get(self, request: Request) -> Response:
        """Newest first, including those that follow from another one."""
        rows = with_message_counts(Alert.objects.visible_to(self.user)).with_names()
        state = STATE.of(request)
        return self.page(rows.of_state("" if state in (None, "open") else state))


class OneAlert(AlertResource):
    """One alert."""

    @operation("alert", "Show an alert", AlertShape)
    def get(self, request: Request, key: str) -> Response:
        """With its events and effects."""
        return self.shown(self.alert(key))


class AlertAcknowledgement(AlertResource):
    """The acknowledgement of an alert."""

    write_scope = Scope.ALERTS

    @operation(
        "alert_acknowledge",
        "Acknowledge an alert",
        AlertShape,
        body=AcknowledgeBody,
        problems=(409,),
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. No further messages until the alert is resolved or worsens, or `until`.
        Refused (`resolved`) once it is resolved."""
        alert = self.alert(key)
        self.demand(Right.OPERATE)
        values = self.read()
        until = values.get("until")
        if until is not None:
            _demand_end(until)
        if not alert_actions.acknowledge(alert, self.user, values["reason"], until):
            raise ApiProblem(409, "resolved", "The alert is resolved.", "Nothing is left to do.")
        return self.shown(self.alert(key))

    @operation("alert_unacknowledge", "Remove an acknowledgement", AlertShape)
    def delete(self, request: Request, key: str) -> Response:
        """For operators. The alert escalates to the next tier again."""
        alert = self.alert(key)
        self.demand(Right.OPERATE)
        alert_actions.unacknowledge(alert, self.user)
        return self.shown(self.alert(key))


class SilenceResource(Resource):
    """Of silences."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERTS

    def silences(self) -> QuerySet[Silence, Any]:
        """All of them, also those that have ended."""
        rows = Silence.objects.visible_to(self.user).select_related("host", "volume", "author")
        is_active = ExpressionWrapper(Q(until__gt=ClockNow()), output_field=BooleanField())
        return rows.annotate(active=is_active)

    def silence(self, key: str) -> Silence:
        """The one of this key."""
        silence: Silence = get_object_or_404(self.silences(), key=key)
        return silence

    def ended(self, key: str) -> Response:
        """End the silence."""
        quiet = self.silence(key)
        self.demand(Right.OPERATE)
        alert_actions.end_silence(quiet, self.user)
        return self.shown(self.silence(key))


class Silences(SilenceResource):
    """Silences of alerts."""

    listing: ClassVar = Listing("silences", SilenceShape, newest_first=True)

    @operation("silences_list", "List silences", listing)
    def get(self, request: Request) -> Response:
        """Newest first, including those that have ended."""
        return self.page(self.silences())

    @operation(
        "silence_make",
        "Silence a host, a volume or a kind of problem",
        SilenceShape,
        status=201,
        body=SilenceBody,
        problems=(400, 409),
    )
    def post(self, request: Request) -> Response:
        """For operators. Alerts still open; those that are open at its end notify then."""
        self.demand(Right.OPERATE)
        values = self.read()
        host, volume, code = (values.get(name) for name in ("host", "volume", "code"))
        if not (host or volume or code):
            raise unfit("__all__", "Name a host, a volume or a code.")
        if code and not _is_known(code):
            raise unfit("code", f"There is no kind of problem {code}.")
        _demand_end(values["until"])
        made = alert_actions.silence(
            host=self._host(host),
            volume=self._volume(volume),
            code=code or "",
            reason=values["reason"],
            until=values["until"],
            author=self.user,
        )
        return self.shown(self.silence(made.key), status=201)

    def _host(self, name: str | None) -> Host | None:
        if not name:
            return None
        hosts = Host.objects.visible_to(self.user).without_inventory()
        # A key takes precedence over an equal name.
        host = hosts.filter(key=name).first() or hosts.filter(name=name).first()
        if host is None:
            raise unfit("host", f"There is no host {name}.")
        return host

    def _volume(self, key: str | None) -> Volume | None:
        if not key:
            return None
        volume = Volume.objects.visible_to(self.user).filter(key=key).first()
        if volume is None:
            raise unfit("volume", f"There is no volume {key}.")
        return volume


class OneSilence(SilenceResource):
    """One silence."""

    @operation("silence", "Show a silence", SilenceShape)
    def get(self, request: Request, key: str) -> Response:
        """Also one that has ended."""
        return self.shown(self.silence(key))

    @operation(
        "silence_delete",
        "End a silence",
        SilenceShape,
        deprecated=Deprecation("silence_delete", date(2026, 11, 26)),
    )
    def delete(self, request: Request, key: str) -> Response:
        """The same as `POST …/end`: the silence stays in the list."""
        return self.ended(key)


class SilenceEnd(SilenceResource):
    """The early end of a silence."""

    @operation("silence_end", "End a silence", SilenceShape)
    def post(self, request: Request, key: str) -> Response:
        """For operators. The silence stays in the list; alerts that are still open notify."""
        return self.ended(key)


def _demand_end(until: datetime) -> None:
    if not database_now() < until <= database_now() + LONGEST:
        raise unfit("until", "The end must be within the next year.")

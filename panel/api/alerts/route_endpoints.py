"""Who is told of alerts; for admins."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.alerts import alert_routing, route_forms
from panel.alerts.route_forms import LONGEST_PAUSE, QuietForm, RouteForm
from panel.api import request_bodies
from panel.api.framework import cursor, described
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.request_bodies import Body, ZonedDateTimeField
from panel.api.resource_json import host_ref
from panel.api.response_shapes import Json, Ref
from panel.deliveries import delivery_queue
from panel.models import AlertDelivery, AlertRoute, RouteKind, Scope, User
from panel.models.alert_route import AlertDeliveryQuerySet, AlertRouteQuerySet
from storage.access import Right
from storage.database_clock import database_now
from storage.models import Host

KINDS = f"One of {', '.join(RouteKind.values)}."


class AlertRouteShape(Shape):
    """A person or an address. Address and secret are never shown."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.CharField(help_text=KINDS)
    person = serializers.CharField(allow_blank=True, help_text="E-mail address of the account.")
    on = serializers.BooleanField()
    tier = serializers.IntegerField(
        help_text="From which step of escalation on it is told: 1 first, 3 last."
    )
    most_rank = serializers.IntegerField(
        help_text="0 data at risk, 1 errors too, 2 warnings too, -1 nothing at once."
    )
    hosts = serializers.ListField(child=serializers.CharField(), help_text="Names.")
    sites = serializers.ListField(
        child=serializers.CharField(), help_text="Sites whose hosts it is about."
    )
    tags = serializers.ListField(
        child=serializers.CharField(),
        help_text="Tags whose hosts it is about; with no host, site and tag: all hosts.",
    )
    zone = serializers.CharField()
    quiet_start = serializers.TimeField(allow_null=True)
    quiet_end = serializers.TimeField(allow_null=True)
    risk_pierces = serializers.BooleanField()
    digest_hour = serializers.IntegerField(allow_null=True)
    paused_until = serializers.DateTimeField(
        allow_null=True, help_text="Set by the person themselves. Until then only a test is sent."
    )
    secret = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="The signing secret; only in the answer that made it, null in its replay.",
    )


class AlertRouteBody(Body):
    """The whole route. `address` and `secret` stay as they are where they are left out."""

    name = serializers.CharField(max_length=60)
    kind = serializers.CharField(help_text=KINDS)
    person = serializers.EmailField(required=False, help_text="For email: a staff account.")
    address = serializers.CharField(
        max_length=1000, required=False, help_text="E-mail address or URL, as `kind` needs it."
    )
    secret = serializers.CharField(
        max_length=500,
        required=False,
        help_text="Token of the receiving service; a webhook's is made here.",
    )
    on = serializers.BooleanField(default=True)
    tier = serializers.IntegerField(
        default=1,
        min_value=1,
        max_value=3,
        help_text="From which step of escalation on it is told: 1 first, 3 last.",
    )
    most_rank = serializers.IntegerField(
        default=2,
        min_value=-1,
        max_value=2,
        help_text="0 data at risk, 1 errors too, 2 warnings too, -1 nothing at once.",
    )
    hosts = serializers.ListField(
        child=serializers.CharField(max_length=64),
        default=list,
        help_text="Names of hosts that it is about.",
    )
    sites = serializers.ListField(
        child=serializers.CharField(max_length=64),
        default=list,
        help_text="Sites whose hosts it is about.",
    )
    tags = serializers.ListField(
        child=serializers.CharField(max_length=32),
        default=list,
        help_text="Tags whose hosts it is about; with no host, site and tag: all hosts.",
    )
    zone = serializers.CharField(default="UTC", max_length=64)
    quiet_start = serializers.TimeField(required=False, allow_null=True)
    quiet_end = serializers.TimeField(required=False, allow_null=True)
    risk_pierces = serializers.BooleanField(default=True)
    digest_hour = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=23
    )


class OwnAlertRouteBody(Body):
    """Your own alert mails: when they come. What is left out gets its default."""

    zone = serializers.CharField(default="UTC", max_length=64)
    quiet_start = serializers.TimeField(required=False, allow_null=True)
    quiet_end = serializers.TimeField(required=False, allow_null=True)
    risk_pierces = serializers.BooleanField(default=True)
    paused_until = ZonedDateTimeField(
        required=False, allow_null=True, help_text="Within two weeks; null for no pause."
    )


class AlertMessageShape(Shape):
    """A message to a route. `alert_keys` are of those that it is about."""

    key = serializers.CharField()
    purpose = serializers.ChoiceField(
        choices=AlertDelivery.Purpose.values, help_text="Why it was sent."
    )
    alert_keys = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the alerts that it is about."
    )
    state = serializers.ChoiceField(choices=["delivered", "given_up", "waiting"])
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(
        allow_null=True, help_text="Of the last answer; null where none came, and for mails."
    )
    error = serializers.CharField(allow_blank=True, help_text="Of the last try.")
    next_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried (again).")
    created_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)


def message_json(row: AlertDelivery) -> Json:
    """A message that came with the alerts of its events, for `AlertMessageShape`."""
    shaped: Json = AlertMessageShape(
        {
            "key": row.key,
            "purpose": row.purpose,
            "alert_keys": list(dict.fromkeys(event.alert.key for event in row.events.all())),
            "state": row.state,
            "attempts": row.attempts,
            "status": row.last_status,
            "error": row.last_error,
            "next_at": row.next_at if row.state == "waiting" else None,
            "created_at": row.created_at,
            "delivered_at": row.delivered_at,
        }
    ).data
    return shaped


def route_json(route: AlertRoute, secret: str = "", view: str = "api-alert-route") -> Json:
    """A route, for `AlertRouteShape`; `secret` is one that was just made, `view` where it is
    read."""
    data: Json = {
        name: getattr(route, name)
        for name in (
            "key",
            "name",
            "kind",
            "tier",
            "most_rank",
            "sites",
            "tags",
            "zone",
            "quiet_start",
            "quiet_end",
            "risk_pierces",
            "digest_hour",
            "paused_until",
        )
    }
    data |= {
        "url": reverse(view, args=[route.key]),
        "person": route.user.email if route.user is not None else "",
        "on": route.is_on,
        "hosts": [host.name for host in route.hosts.all()],
    }
    if secret:
        data["secret"] = secret
    shaped: Json = AlertRouteShape(data).data
    return shaped


class AlertRouteGapShape(Shape):
    """A host whose errors nobody is told at once."""

    host = Ref()
    untold = serializers.CharField(
        help_text="anything, or errors: what tier 1 is not told. With errors, data at risk is."
    )


class AlertRouteGapsShape(Shape):
    """All of them, by name."""

    items = AlertRouteGapShape(many=True)


class AlertRoutes(Resource):
    """Who is told."""

    staff_only = True
    write_scope = Scope.ALERT_ROUTES
    parameters: ClassVar = {"GET": cursor.PARAMETERS}

    @extend_schema(
        operation_id="alert_routes_list",
        summary="List who is told of alerts",
        parameters=described.PAGE,
        responses={
            200: described.page_of(AlertRouteShape, "AlertRoutePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For administrators, oldest first."""
        self.demand(Right.ADMINISTER)
        rows = AlertRoute.objects.visible_to(self.user).select_related("user")
        page, after = cursor.page(request, rows.prefetch_related("hosts"), "alert-routes")
        return Response(cursor.body((route_json(each) for each in page), after))

    @extend_schema(
        operation_id="alert_route_make",
        summary="Add a recipient of alerts",
        request=AlertRouteBody,
        responses={201: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """For administrators. A secret that signs is made where none is given, and shown once."""
        self.demand(Right.ADMINISTER)
        data = _saved(self, request, None)
        return Response(data, status=201, headers={"Location": data["url"]})


class AlertRouteGaps(Resource):
    """Of which hosts nobody is told first."""

    staff_only = True

    @extend_schema(
        operation_id="alert_route_gaps",
        summary="List hosts of which nobody is told first",
        responses={200: AlertRouteGapsShape, **described.problems(403, 404)},
    )
    def get(self, request: Request) -> Response:
        """For administrators. Hosts in use whose errors reach nobody of tier 1."""
        self.demand(Right.ADMINISTER)
        gaps = alert_routing.untold_hosts()
        items = [{"host": host_ref(each.host), "untold": each.untold} for each in gaps]
        return Response(AlertRouteGapsShape({"items": items}).data)


class OneAlertRoute(Resource):
    """One route."""

    staff_only = True
    write_scope = Scope.ALERT_ROUTES

    @extend_schema(
        operation_id="alert_route",
        summary="Show who is told",
        responses={200: AlertRouteShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """For administrators."""
        return Response(route_json(_route_of(self, key)))

    @extend_schema(
        operation_id="alert_route_change",
        summary="Change who is told",
        request=AlertRouteBody,
        responses={200: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For administrators. What is left out gets its default."""
        return Response(_saved(self, request, _route_of(self, key)))

    @extend_schema(
        operation_id="alert_route_delete",
        summary="Remove a recipient of alerts",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For administrators. Its messages are forgotten."""
        route_forms.delete_route(_route_of(self, key), self.user)
        return Response(status=204)


class AlertRouteTest(Resource):
    """A message that means nothing."""

    staff_only = True
    write_scope = Scope.ALERT_ROUTES
    takes_no_body = True

    @extend_schema(
        operation_id="alert_route_test",
        summary="Send a test message",
        request=None,
        responses={202: AlertMessageShape, **described.problems(403, 404, 409)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For administrators. It goes the way of all messages, at any hour, also in a pause."""
        route = _route_of(self, key)
        if why := alert_routing.why_no_test(route):
            raise ApiProblem(409, "switched_off", why, "Switch it on, or tell somebody else.")
        row = alert_routing.write_test(route)
        row.refresh_from_db()
        return Response(message_json(row), status=202)


class AlertMessages(Resource):
    """What was sent to somebody."""

    staff_only = True
    write_scope = Scope.ALERT_ROUTES
    parameters: ClassVar = {"GET": cursor.PARAMETERS}

    @extend_schema(
        operation_id="alert_messages_list",
        summary="List the messages to somebody who is told",
        parameters=described.PAGE,
        responses={
            200: described.page_of(AlertMessageShape, "AlertMessagePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """For administrators, newest first. Kept for 90 days after they were sent, those of an
        alert for 90 days after it resolved."""
        rows = _messages_of(self, key)
        page, after = cursor.page(request, rows, "alert-messages", newest_first=True)
        return Response(cursor.body((message_json(each) for each in page), after))


class AlertMessageAgain(Resource):
    """The same message once more."""

    staff_only = True
    write_scope = Scope.ALERT_ROUTES
    takes_no_body = True

    @extend_schema(
        operation_id="alert_message_again",
        summary="Send a message of alerts again",
        request=None,
        responses={202: AlertMessageShape, **described.problems(400, 403, 404)},
    )
    def post(self, request: Request, key: str, message: str) -> Response:
        """For administrators. Also one that was given up or delivered; under the same id, so that
        who has it knows it."""
        row = get_object_or_404(_messages_of(self, key), key=message)
        delivery_queue.again(row)
        transaction.on_commit(alert_routing.announce_alerts, robust=True)
        row.refresh_from_db()
        return Response(message_json(row), status=202)


def _messages_of(view: Resource, key: str) -> AlertDeliveryQuerySet:
    rows = AlertDelivery.objects.visible_to(view.user).filter(route=_route_of(view, key))
    return rows.prefetch_related("events__alert")


class OwnAlertRoutes(Resource):
    """When your own alert mails come."""

    staff_only = True
    write_scope = Scope.ALERTS
    parameters: ClassVar = {"GET": cursor.PARAMETERS}

    @extend_schema(
        operation_id="own_alert_routes_list",
        summary="List your own alert mails",
        parameters=described.PAGE,
        responses={
            200: described.page_of(AlertRouteShape, "OwnAlertRoutePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For staff: what an administrator entered for the person of the token."""
        page, after = cursor.page(request, _own_routes(self), "own-alert-routes")
        return Response(cursor.body((_own_json(each) for each in page), after))


class OneOwnAlertRoute(Resource):
    """One's own quiet hours and pause."""

    staff_only = True
    write_scope = Scope.ALERTS

    @extend_schema(
        operation_id="own_alert_route",
        summary="Show when your own alert mails come",
        responses={200: AlertRouteShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """For staff."""
        return Response(_own_json(get_object_or_404(_own_routes(self), key=key)))

    @extend_schema(
        operation_id="own_alert_route_change",
        summary="Set one's own quiet hours and pause",
        request=OwnAlertRouteBody,
        responses={200: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. During a pause you get no messages; others still do."""
        route = get_object_or_404(_own_routes(self), key=key)
        given = request_bodies.read(request, OwnAlertRouteBody)
        until, now = given.get("paused_until"), database_now()
        if until is not None and not now < until <= now + LONGEST_PAUSE:
            message = "The end must lie within the next two weeks."
            errors = [{"pointer": "/paused_until", "code": "invalid", "message": message}]
            raise ApiProblem(422, "invalid", message, "Correct the field.", errors=errors)
        form = QuietForm(given)
        if not form.is_valid():
            raise _refused(form)
        mine = route_forms.locked(AlertRoute.objects.own(self.user), route)
        route_forms.change_own(mine, form, until, self.user)
        return Response(_own_json(get_object_or_404(_own_routes(self), key=key)))


def _own_routes(view: Resource) -> AlertRouteQuerySet:
    return AlertRoute.objects.own(view.user).select_related("user").prefetch_related("hosts")


def _own_json(route: AlertRoute) -> Json:
    return route_json(route, view="api-own-alert-route")


def _route_of(view: Resource, key: str) -> AlertRoute:
    view.demand(Right.ADMINISTER)
    rows = AlertRoute.objects.visible_to(view.user).select_related("user")
    return get_object_or_404(rows.prefetch_related("hosts"), key=key)


def _saved(view: Resource, request: Request, route: AlertRoute | None) -> Json:
    """By the rules of the page's form."""
    given = request_bodies.read(request, AlertRouteBody)
    data: dict[str, Any] = {
        **given,
        "is_on": given["on"],
        "url": given.get("address", ""),
        "person": None,
    }
    if email := given.get("person"):
        data["person"] = User.objects.filter(email__iexact=email).first() or 0
    hosts = Host.objects.visible_to(view.user).without_inventory()
    form = RouteForm(data, hosts=hosts, route=route)
    if not form.is_valid():
        raise _refused(form)
    row, secret = form.save(view.user)
    return route_json(row, secret)


def _refused(form: QuietForm) -> ApiProblem:
    """What is wrong with each field."""
    errors = [
        {
            "pointer": "" if name == "__all__" else f"/{NAMES.get(name, name)}",
            "code": "invalid",
            "message": str(error),
        }
        for name, each in form.errors.items()
        for error in each
    ]
    return ApiProblem(422, "invalid", errors[0]["message"], "Correct the fields.", errors=errors)


NAMES = {"url": "address", "is_on": "on"}
"""Fields of the form that have another name here."""

"""Who is told of alerts; for admins."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Q
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api import request_bodies
from panel.api.alerts.alert_endpoints import alert_ref
from panel.api.framework import cursor, described
from panel.api.framework.api_lists import PAGE, Listing
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.request_bodies import Body, WholeBody, ZonedDateTimeField
from panel.api.resource_json import host_ref, person_ref
from panel.api.response_shapes import Json, PersonRef, Ref
from panel.deliveries import delivery_queue
from panel.deliveries.alerts import alert_routing, route_forms
from panel.deliveries.alerts.route_forms import LONGEST_PAUSE, QuietForm, RouteForm
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
    person = PersonRef(allow_null=True, help_text="Whose mails they are; null: an address.")
    on = serializers.BooleanField()
    tier = serializers.IntegerField(
        help_text="From which step of escalation on it is told: 1 first, 3 last."
    )
    most_rank = serializers.IntegerField(
        help_text="0 data at risk, 1 errors too, 2 warnings too, -1 nothing at once."
    )
    hosts = Ref(many=True, help_text="The hosts that it is about.")
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
    """A person or an address that is told."""

    name = serializers.CharField(max_length=60)
    kind = serializers.CharField(help_text=KINDS)
    person = serializers.CharField(
        max_length=254,
        required=False,
        allow_null=True,
        help_text="For email: key or address of a staff account.",
    )
    address = serializers.CharField(
        max_length=1000,
        required=False,
        allow_null=True,
        help_text="URL, for all but email. It is never shown; null: it stays as it is.",
    )
    secret = serializers.CharField(
        max_length=500,
        required=False,
        allow_null=True,
        help_text="Token of the receiving service; a webhook's is made here. It is never shown; "
        "null: it stays as it is, where kind and server do.",
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
        help_text="Keys or names of hosts that it is about.",
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


class WholeAlertRouteBody(WholeBody, AlertRouteBody):
    """The whole route: each field is required."""


class OwnAlertRouteBody(Body):
    """Your own alert mails: when they come."""

    zone = serializers.CharField(required=False, max_length=64)
    quiet_start = serializers.TimeField(required=False, allow_null=True)
    quiet_end = serializers.TimeField(required=False, allow_null=True)
    risk_pierces = serializers.BooleanField(required=False)
    paused_until = ZonedDateTimeField(
        required=False, allow_null=True, help_text="Within two weeks; null for no pause."
    )


class WholeOwnAlertRouteBody(WholeBody, OwnAlertRouteBody):
    """All of it: each field is required."""


class AlertMessageShape(Shape):
    """A message to a route."""

    key = serializers.CharField()
    purpose = serializers.ChoiceField(
        choices=AlertDelivery.Purpose.values, help_text="Why it was sent."
    )
    alerts = Ref(many=True, help_text="The alerts that it is about.")
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
            "alerts": list(map(alert_ref, dict.fromkeys(each.alert for each in row.events.all()))),
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
        "person": person_ref(route.user) if route.user is not None else None,
        "on": route.is_on,
        "hosts": list(map(host_ref, route.hosts.all())),
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
    next_cursor = serializers.CharField(allow_null=True)


class AlertRoutes(Resource):
    """Who is told."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERT_ROUTES
    listing: ClassVar = Listing("alert-routes", AlertRouteShape, sorts={"name": "name"})
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="alert_routes_list",
        summary="List who is told of alerts",
        parameters=listing.described,
        responses={
            200: listing.page_shape("AlertRoutePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For administrators, oldest first."""
        self.demand(Right.ADMINISTER)
        rows = AlertRoute.objects.visible_to(self.user).select_related("user")
        return self.listing.answer(
            request, rows.prefetch_related("hosts"), lambda page: map(route_json, page)
        )

    @extend_schema(
        operation_id="alert_route_make",
        summary="Add a recipient of alerts",
        request=AlertRouteBody,
        responses={201: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """For administrators. A secret that signs is made where none is given, and shown once."""
        self.demand(Right.ADMINISTER)
        data = _saved(self, request_bodies.read(request, AlertRouteBody), None)
        return Response(data, status=201, headers={"Location": data["url"]})


class AlertRouteGaps(Resource):
    """Of which hosts nobody is told first."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    parameters: ClassVar = {"GET": cursor.PARAMETERS}

    @extend_schema(
        operation_id="alert_route_gaps",
        summary="List hosts of which nobody is told first",
        parameters=PAGE,
        responses={200: AlertRouteGapsShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request) -> Response:
        """For administrators. Hosts in use whose errors reach nobody of tier 1."""
        self.demand(Right.ADMINISTER)
        gaps, after = cursor.slice_of(request, alert_routing.untold_hosts(), "alert-route-gaps")
        items = [{"host": host_ref(each.host), "untold": each.untold} for each in gaps]
        return Response(AlertRouteGapsShape(cursor.body(items, after)).data)


class OneAlertRoute(Resource):
    """One route."""

    read_scope = Scope.ALERTS_READ
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
        summary="Change fields of who is told",
        request=AlertRouteBody,
        responses={200: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For administrators. What is left out stays, but that a secret does not follow to another
        kind or server."""
        route = _route_of(self, key)
        given = request_bodies.read(request, AlertRouteBody, partial=True)
        return Response(_saved(self, given, route))

    @extend_schema(
        operation_id="alert_route_replace",
        summary="Replace who is told",
        request=WholeAlertRouteBody,
        responses={200: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For administrators: all fields of it, of which none has a default."""
        route = _route_of(self, key)
        return Response(_saved(self, request_bodies.read(request, WholeAlertRouteBody), route))

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

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERT_ROUTES
    listing: ClassVar = Listing("alert-messages", AlertMessageShape, newest_first=True)
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="alert_messages_list",
        summary="List the messages to somebody who is told",
        parameters=listing.described,
        responses={
            200: listing.page_shape("AlertMessagePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """For administrators, newest first. Kept for 90 days after they were sent, those of an
        alert for 90 days after it resolved."""
        rows = _messages_of(self, key)
        return self.listing.answer(request, rows, lambda page: map(message_json, page))


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

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERTS
    listing: ClassVar = Listing("own-alert-routes", AlertRouteShape)
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="own_alert_routes_list",
        summary="List your own alert mails",
        parameters=listing.described,
        responses={
            200: listing.page_shape("OwnAlertRoutePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For staff: what an administrator entered for the person of the token."""
        return self.listing.answer(request, _own_routes(self), lambda page: map(_own_json, page))


class OneOwnAlertRoute(Resource):
    """One's own quiet hours and pause."""

    read_scope = Scope.ALERTS_READ
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
        summary="Change one's own quiet hours or pause",
        request=OwnAlertRouteBody,
        responses={200: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For operators. What is left out stays. During a pause you get no messages; others still
        do."""
        route = get_object_or_404(_own_routes(self), key=key)
        given = request_bodies.read(request, OwnAlertRouteBody, partial=True)
        return self._saved(route, given)

    @extend_schema(
        operation_id="own_alert_route_replace",
        summary="Set one's own quiet hours and pause",
        request=WholeOwnAlertRouteBody,
        responses={200: AlertRouteShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators: all fields of it, of which none has a default."""
        route = get_object_or_404(_own_routes(self), key=key)
        return self._saved(route, request_bodies.read(request, WholeOwnAlertRouteBody))

    def _saved(self, route: AlertRoute, given: Json) -> Response:
        until, now = given.get("paused_until"), database_now()
        if until is not None and not now < until <= now + LONGEST_PAUSE:
            message = "The end must lie within the next two weeks."
            errors = [{"pointer": "/paused_until", "code": "invalid", "message": message}]
            raise ApiProblem(422, "invalid", message, "Correct the field.", errors=errors)
        form = QuietForm({name: getattr(route, name) for name in QuietForm.base_fields} | given)
        if not form.is_valid():
            raise _refused(form)
        mine = route_forms.locked(AlertRoute.objects.own(self.user), route)
        until = given.get("paused_until", mine.paused_until)
        route_forms.change_own(mine, form, until, self.user)
        return Response(_own_json(get_object_or_404(_own_routes(self), key=route.key)))


def _own_routes(view: Resource) -> AlertRouteQuerySet:
    return AlertRoute.objects.own(view.user).select_related("user").prefetch_related("hosts")


def _own_json(route: AlertRoute) -> Json:
    return route_json(route, view="api-own-alert-route")


def _route_of(view: Resource, key: str) -> AlertRoute:
    view.demand(Right.ADMINISTER)
    rows = AlertRoute.objects.visible_to(view.user).select_related("user")
    return get_object_or_404(rows.prefetch_related("hosts"), key=key)


def _saved(view: Resource, given: Json, route: AlertRoute | None) -> Json:
    """By the rules of the page's form; what is not given stays."""
    data: dict[str, Any] = {} if route is None else route_forms.initial_of(route)
    data |= {FIELDS.get(name, name): value for name, value in given.items()}
    if person := given.get("person"):
        people = User.objects.filter(Q(key=person) | Q(email__iexact=person))
        data["person"] = people.first() or 0
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
FIELDS = {name: field for field, name in NAMES.items()}

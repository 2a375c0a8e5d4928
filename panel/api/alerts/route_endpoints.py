"""Alert recipients; for admins."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.events.outgoing_shape import OutgoingShape
from panel.api.framework import cursor
from panel.api.framework.api_lists import PAGE, Listing, PageShape
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, WholeBody
from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, List, Text, Texts, Time
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Noun, PersonRef, Ref, url_at
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.deliveries import delivery_queue
from panel.deliveries.alerts import alert_routing, saved_routes
from panel.models import AlertDelivery, AlertRoute, RouteKind, Scope
from panel.models.alert_route import AlertDeliveryQuerySet, AlertRouteQuerySet
from storage.access import Right
from storage.models import Host


class AlertRouteShape(Noun):
    """A person or an address. Address and secret are never shown."""

    name = Text("Display name.")
    kind = Text(f"One of {', '.join(RouteKind.values)}.")
    person = PersonRef("The person notified by e-mail; null: an address.", of="user", null=True)
    on = Boolean("False: nothing is sent to it.", of="is_on")
    tier = Integer("Step of escalation at which it is notified: 1 first, 3 last.")
    most_rank = Integer("0 data at risk, 1 errors too, 2 warnings too, -1 nothing at once.")
    hosts = Ref("Hosts in its scope.", many=True)
    sites = Texts("Sites whose hosts are in its scope.")
    tags = Texts("Tags whose hosts are in its scope; without hosts, sites and tags: all hosts.")
    zone = Text("Time zone of its quiet hours and digest, such as Europe/Berlin.")
    quiet_start = Time("When its quiet hours begin, in `zone`; null: it has none.", null=True)
    quiet_end = Time("When its quiet hours end; they may span midnight.", null=True)
    risk_pierces = Boolean("Whether data at risk notifies during quiet hours, too.")
    digest_hour = Integer(
        "Hour of the daily digest in `zone`, 0 to 23; null: no digest.", null=True
    )
    paused_until = DateTime("Set by the person. Until then only tests are sent.", null=True)
    secret = Text(
        "The signing secret; only in the answer that created it, null in its replay.",
        null=True,
        required=False,
    )


class OwnAlertRouteShape(AlertRouteShape):
    """A recipient as its person sees it."""

    url = Text("Where the API shows it.", of=lambda route: url_at("api-own-alert-route", route.key))


class AlertRouteBody(Body):
    """A person or an address that receives alerts."""

    shows = AlertRouteShape
    name = Text(max_length=60)
    kind = Text()
    person = Text(
        "For email: key or address of a staff account.", max_length=254, required=False, null=True
    )
    address = Text(
        "URL, for all but email. Never shown; null: unchanged.",
        source="url",
        max_length=1000,
        required=False,
        null=True,
    )
    secret = Text(
        "Token of the receiving service; generated for a webhook. Never shown; "
        "null: unchanged, as long as kind and server are.",
        max_length=500,
        required=False,
        null=True,
    )
    on = Boolean(source="is_on", default=True)
    tier = Integer(default=1, min_value=1, max_value=3)
    most_rank = Integer(default=2, min_value=-1, max_value=2)
    hosts = List("Keys or names of hosts in its scope.", Text(max_length=64), default=list)
    sites = List("", Text(max_length=64), default=list)
    tags = List("", Text(max_length=32), default=list)
    zone = Text(default="UTC", max_length=64)
    quiet_start = Time(required=False, null=True)
    quiet_end = Time(required=False, null=True)
    risk_pierces = Boolean(default=True)
    digest_hour = Integer(required=False, null=True, min_value=0, max_value=23)


class WholeAlertRouteBody(WholeBody, AlertRouteBody):
    """The whole recipient: each field is required."""


class OwnAlertRouteBody(Body):
    """When your own alert mails are sent."""

    shows = AlertRouteShape
    zone = Text(required=False, max_length=64)
    quiet_start = Time(required=False, null=True)
    quiet_end = Time(required=False, null=True)
    risk_pierces = Boolean(required=False)
    paused_until = DateTime("Within two weeks; null: no pause.", required=False, null=True)


class WholeOwnAlertRouteBody(WholeBody, OwnAlertRouteBody):
    """All of it: each field is required."""


class AlertMessageShape(OutgoingShape):
    """A message to a recipient."""

    key = Text("Its name in the API; it never changes.")
    purpose = Choice("Why it was sent.", AlertDelivery.Purpose.values)
    alerts = Ref(
        "The alerts concerned.",
        of=lambda row: dict.fromkeys(each.alert for each in row.events.all()),
        many=True,
    )
    status = Integer(
        "Status of the last answer; null: none came, or an e-mail.", of="last_status", null=True
    )
    error = Text("Error of the last attempt.", of="last_error")


class AlertRouteGapShape(Shape):
    """A host whose errors have no recipient in tier 1."""

    host = Ref("The storage host.")
    untold = Text(
        "What tier 1 does not receive: anything, or errors (data at risk is still sent).",
        of="unnotified_of",
    )


class AlertRouteGapsShape(PageShape):
    """All of them, by name."""

    items = AlertRouteGapShape("The rows of this answer, one each.", many=True)


class RouteResource(Resource):
    """For administrators."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERT_ROUTES

    def routes(self) -> AlertRouteQuerySet:
        """All recipients; demands the right of administrators."""
        self.demand(Right.ADMINISTER)
        rows = AlertRoute.objects.visible_to(self.user).select_related("user")
        return rows.prefetch_related("hosts")

    def route(self, key: str) -> AlertRoute:
        """The one of this key."""
        return get_object_or_404(self.routes(), key=key)

    def messages(self, key: str) -> AlertDeliveryQuerySet:
        """The messages to the recipient with this key."""
        rows = AlertDelivery.objects.visible_to(self.user).filter(route=self.route(key))
        return rows.prefetch_related("events__alert")

    def saved(self, route: AlertRoute | None = None, status: int = 200) -> Response:
        """Save the recipient with the values of the body."""
        values = self.read()
        if "person" in values:
            values["person"] = saved_routes.recipient_of(values["person"] or "")
        if "hosts" in values:
            hosts = Host.objects.visible_to(self.user).without_inventory()
            values["hosts"] = saved_routes.hosts_of(values["hosts"], hosts)
        row, secret = saved_routes.save_route(values, self.user, route)
        made: dict[str, Any] = {"secret": secret} if secret else {}
        return self.shown(row, status, **made)


class AlertRoutes(RouteResource):
    """Alert recipients."""

    listing: ClassVar = Listing("alert-routes", AlertRouteShape, sorts={"name": "name"})

    @operation("alert_routes_list", "List alert recipients", listing)
    def get(self, request: Request) -> Response:
        """For administrators, oldest first."""
        return self.page(self.routes())

    @operation(
        "alert_route_make",
        "Add an alert recipient",
        AlertRouteShape,
        status=201,
        body=AlertRouteBody,
    )
    def post(self, request: Request) -> Response:
        """For administrators. A signing secret is generated where none is given, and shown once."""
        self.demand(Right.ADMINISTER)
        return self.saved(status=201)


class AlertRouteGaps(RouteResource):
    """Hosts without a recipient of the first tier."""

    @operation(
        "alert_route_gaps",
        "List hosts without a recipient of the first tier",
        AlertRouteGapsShape,
        parameters=PAGE,
    )
    def get(self, request: Request) -> Response:
        """For administrators. Hosts in use whose errors have no recipient of tier 1."""
        self.demand(Right.ADMINISTER)
        gaps = cursor.slice_of(request, alert_routing.hosts_without_recipient(), "alert-route-gaps")
        return self.shown(cursor.body(*gaps))


class OneAlertRoute(RouteResource):
    """One recipient."""

    @operation("alert_route", "Show an alert recipient", AlertRouteShape)
    def get(self, request: Request, key: str) -> Response:
        """For administrators."""
        return self.shown(self.route(key))

    @operation(
        "alert_route_change", "Change an alert recipient", AlertRouteShape, body=AlertRouteBody
    )
    def patch(self, request: Request, key: str) -> Response:
        """For administrators. Omitted fields stay, but the secret is dropped when kind or server
        changes."""
        return self.saved(self.route(key))

    @operation(
        "alert_route_replace",
        "Replace an alert recipient",
        AlertRouteShape,
        body=WholeAlertRouteBody,
    )
    def put(self, request: Request, key: str) -> Response:
        """For administrators: all fields of it, of which none has a default."""
        return self.saved(self.route(key))

    @operation("alert_route_delete", "Delete an alert recipient")
    def delete(self, request: Request, key: str) -> Response:
        """For administrators. Unsent messages are given up."""
        saved_routes.delete_route(self.route(key), self.user)
        return Response(status=204)


class AlertRouteTest(RouteResource):
    """A test message."""

    @operation(
        "alert_route_test",
        "Send a test message",
        AlertMessageShape,
        status=202,
        problems=(409,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For administrators. Sent like every message, but at any hour and during a pause."""
        route = self.route(key)
        if why := alert_routing.why_no_test(route):
            raise ApiProblem(409, "switched_off", why, "Switch it on, or choose another recipient.")
        row = alert_routing.write_test(route)
        row.refresh_from_db()
        return self.shown(row, status=202)


class AlertMessages(RouteResource):
    """What was sent to a recipient."""

    listing: ClassVar = Listing("alert-messages", AlertMessageShape, newest_first=True)

    @operation("alert_messages_list", "List the messages to an alert recipient", listing)
    def get(self, request: Request, key: str) -> Response:
        """For administrators, newest first. Kept for 90 days after they were sent, those of an
        alert for 90 days after it resolved."""
        return self.page(self.messages(key))


class AlertMessageAgain(RouteResource):
    """Repeats a message."""

    @operation(
        "alert_message_again",
        "Send an alert message again",
        AlertMessageShape,
        status=202,
        problems=(400,),
    )
    def post(self, request: Request, key: str, message: str) -> Response:
        """For administrators. Also one that was given up or delivered; under the same id, so that
        the receiver can recognise it."""
        row = get_object_or_404(self.messages(key), key=message)
        delivery_queue.again(row)
        transaction.on_commit(alert_routing.announce_alerts, robust=True)
        row.refresh_from_db()
        return self.shown(row, status=202)


class OwnRouteResource(Resource):
    """For staff: alert mails to themselves."""

    read_scope = Scope.ALERTS_READ
    staff_only = True
    write_scope = Scope.ALERTS

    def routes(self) -> AlertRouteQuerySet:
        """The routes to this person, which an administrator has added."""
        return AlertRoute.objects.own(self.user).select_related("user").prefetch_related("hosts")


class OwnAlertRoutes(OwnRouteResource):
    """When your own alert mails are sent."""

    listing: ClassVar = Listing("own-alert-routes", AlertRouteShape, page_name="OwnAlertRoutePage")

    @operation("own_alert_routes_list", "List your own alert mails", listing)
    def get(self, request: Request) -> Response:
        """For staff: the routes to the person of the token, which an administrator has added."""
        return self.page(
            self.routes(), lambda page: [show(OwnAlertRouteShape, row) for row in page]
        )


class OneOwnAlertRoute(OwnRouteResource):
    """One's own quiet hours and pause."""

    @operation("own_alert_route", "Show when your own alert mails are sent", AlertRouteShape)
    def get(self, request: Request, key: str) -> Response:
        """For staff."""
        return Response(show(OwnAlertRouteShape, get_object_or_404(self.routes(), key=key)))

    @operation(
        "own_alert_route_change",
        "Change your own quiet hours or pause",
        AlertRouteShape,
        body=OwnAlertRouteBody,
    )
    def patch(self, request: Request, key: str) -> Response:
        """For operators. Omitted fields stay. A pause stops the messages to you alone."""
        return self._saved(request, key)

    @operation(
        "own_alert_route_replace",
        "Set your own quiet hours and pause",
        AlertRouteShape,
        body=WholeOwnAlertRouteBody,
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators: all fields of it, of which none has a default."""
        return self._saved(request, key)

    def _saved(self, request: Request, key: str) -> Response:
        route = get_object_or_404(self.routes(), key=key)
        saved_routes.save_own_route(route, self.read(), self.user)
        return self.get(request, key)

"""How a host comes to the panel: its record, the line that enrols it, the key that a person
accepts. For admins."""

from __future__ import annotations

from django.conf import settings
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import notify_workers
from jobs.hosts import enrolment, trust
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.fields import DateTime, Integer, Text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.resource_json import host_ref, url_of
from panel.api.response_shapes import Ref
from panel.models import Scope
from storage.access import Right
from storage.models import Host
from storage.models.host import HostState

ACCOUNT_LIMIT = 32


class EnrolmentShape(Shape):
    """The line for a root shell on the host. It works once, and makes the host one of ours."""

    key = Text("Of the host.")
    url = Text("Of the host.")
    host = Ref("The storage host.")
    line = Text("The command; null in a replay of the answer.", null=True)
    expires_at = DateTime("When it ends.")


class NewHostBody(request_bodies.Body):
    """Where a new host is reached."""

    name = Text("a-z, 0-9, dots and dashes.", max_length=64)
    address = Text("Of its SSH server, as seen from the panel.", max_length=255)
    port = Integer("TCP port of SSH.", required=False, min_value=1, max_value=65535)
    account = Text("Default: tiercel.", required=False, max_length=ACCOUNT_LIMIT)


class AcceptKeyBody(request_bodies.Body):
    """The fingerprint that a person found on the host's console."""

    fingerprint = Text("SHA256:…", max_length=100)


class HostResource(Resource):
    """What is about one host."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS

    def host(self, key: str, right: Right | None = None) -> Host:
        """The host of that key, for whoever has the right."""
        rows = Host.objects.visible_to(self.user).without_inventory()
        host = get_object_or_404(rows, key=key)
        if right is not None:
            self.demand(right)
        return host


class HostEnrolment(HostResource):
    """The line that enrols a host."""

    once_only = ("line",)
    takes_no_body = True

    @extend_schema(
        operation_id="host_enrol",
        summary="Make a line that enrols or upgrades a host",
        request=None,
        responses={201: EnrolmentShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. A line that was made before no longer works."""
        host = self.host(key, Right.ADMINISTER)
        return enrolled(*enrolment.begin_enrolment(host.name, host.address))


class HostKey(HostResource):
    """The host key that a person accepts."""

    @extend_schema(
        operation_id="host_accept",
        summary="Accept the key of a host",
        request=AcceptKeyBody,
        responses={204: None, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The fingerprint as the host's console shows it: the panel never takes the
        one that it was shown itself. Tiercel reads the host then."""
        host = self.host(key, Right.ADMINISTER)
        given = request_bodies.read(request, AcceptKeyBody)["fingerprint"]
        trust.accept_fingerprint(host, given, self.user)
        return Response(status=204)


class HostRefresh(HostResource):
    """A fresh inventory."""

    takes_no_body = True

    @extend_schema(
        operation_id="host_refresh",
        summary="Read a host again",
        request=None,
        responses={202: None, **described.problems(403, 404)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. A worker reads it soon; `facts_at` of the host says when."""
        notify_workers.host(self.host(key, Right.OPERATE).pk)
        return Response(status=202)


def made_host(view: Resource, request: Request) -> Response:
    """A new host, and the line that enrols it."""
    view.demand(Right.ADMINISTER)
    values = request_bodies.read(request, NewHostBody)
    named = Host.objects.filter(name=values["name"])
    if named.exclude(state__in=(HostState.PENDING, HostState.REMOVED)).exists():
        raise ApiProblem(
            409,
            "already_exists",
            "A host with this name is enrolled already.",
            "Use POST /hosts/{key}/enrolment for another line.",
        )
    return enrolled(*enrolment.begin_enrolment(**values))


def enrolled(host: Host, token: str) -> Response:
    """The line, this once."""
    host.refresh_from_db()
    data = {
        "key": host.key,
        "url": url_of("api-host", host.key),
        "host": host_ref(host),
        "line": enrolment.line(token, settings.TIERCEL_PUBLIC_URL),
        "expires_at": host.enrol_expires_at,
    }
    headers = {"Location": url_of("api-host", host.key)}
    return Response(show(EnrolmentShape, data), status=201, headers=headers)

"""How a host comes to the panel: its record, the line that enrols it, the key that a person
accepts. For admins."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import notify_workers
from jobs.hosts import enrolment, trust
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import DateTime, Integer, Text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Ref, url_of
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.hosts.host_resource import HostResource
from storage.access import Right
from storage.models import Host
from storage.models.host import HostState

ACCOUNT_LIMIT = 32


class EnrolmentShape(Shape):
    """The command for a root shell on the host. It works once and enrols the host."""

    key = Text("Of the host.")
    url = Text("Of the host.", of=url_of)
    host = Ref("The storage host.", of=lambda host: host)
    line = Text("The command; null in a replay of the answer.", null=True, given=True)
    expires_at = DateTime("When it ends.", of="enrol_expires_at")


class NewHostBody(Body):
    """Where a new host is reached."""

    name = Text("a-z, 0-9, dots and dashes.", max_length=64)
    address = Text("Of its SSH server, as seen from the panel.", max_length=255)
    port = Integer("TCP port of SSH.", required=False, min_value=1, max_value=65535)
    account = Text("Default: tiercel.", required=False, max_length=ACCOUNT_LIMIT)


class AcceptKeyBody(Body):
    """The fingerprint, as read on the host's console."""

    fingerprint = Text("SHA256:…", max_length=100)


class HostEnrolment(HostResource):
    """The line that enrols a host."""

    once_only = ("line",)

    @operation(
        "host_enrol",
        "Create a command that enrols or upgrades a host",
        EnrolmentShape,
        status=201,
        problems=(422,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. Earlier commands for this host stop working."""
        host = self.host(key, Right.ADMINISTER)
        return enrolled(self, *enrolment.begin_enrolment(host.name, host.address))


class HostKey(HostResource):
    """The host key that a person accepts."""

    @operation("host_accept", "Accept the key of a host", body=AcceptKeyBody)
    def post(self, request: Request, key: str) -> Response:
        """For admins. Copy the fingerprint from the host's console: the panel does not trust the
        one it received itself. The panel then reads the host."""
        host = self.host(key, Right.ADMINISTER)
        given = self.read()["fingerprint"]
        trust.accept_fingerprint(host, given, self.user)
        return Response(status=204)


class HostRefresh(HostResource):
    """A fresh inventory."""

    @operation("host_refresh", "Read a host again", status=202)
    def post(self, request: Request, key: str) -> Response:
        """For operators. A worker reads the host soon; its `facts_at` then changes."""
        notify_workers.host(self.host(key, Right.OPERATE).pk)
        return Response(status=202)


def made_host(view: Resource) -> Response:
    """A new host, and the line that enrols it."""
    view.demand(Right.ADMINISTER)
    values = view.read()
    named = Host.objects.filter(name=values["name"])
    if named.exclude(state__in=(HostState.PENDING, HostState.REMOVED)).exists():
        raise ApiProblem(
            409,
            "already_exists",
            "A host with this name is enrolled already.",
            "Use POST /hosts/{key}/enrolment for another command.",
        )
    return enrolled(view, *enrolment.begin_enrolment(**values))


def enrolled(view: Resource, host: Host, token: str) -> Response:
    """The line, this once."""
    host.refresh_from_db()
    return view.shown(host, status=201, line=enrolment.line(token, settings.TIERCEL_PUBLIC_URL))

"""What holds jobs back: maintenance of a host and the stop of all jobs; and volumes that are gone
from a host for good."""

from __future__ import annotations

from datetime import date, timedelta
from typing import ClassVar

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import holds
from jobs.models import Halt, Job
from panel.api.deprecations import Deprecation
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import By, DateTime, Integer, Text
from panel.api.framework.refs import Ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape
from panel.api.host_endpoints import MaintenanceShape
from panel.api.hosts.host_resource import HostResource
from panel.models import Scope
from storage.access import Right
from storage.database_clock import database_now
from storage.health.missing_volumes import settle_missing_volumes
from storage.models import Host, Placement

REASON_LIMIT = 200
LATEST = timedelta(days=366)


class MaintenanceBody(Body):
    """Why jobs wait, as text for affected users, and until when."""

    reason = Text("The reason that the person gives.", max_length=REASON_LIMIT)
    until = DateTime("Within the next year.")


class HaltShape(Shape):
    """The stop of all jobs."""

    since = DateTime("When it began.")
    reason = Text("The reason that the person gives.")
    actor = By("actor.email", null=True)


class HaltBody(Body):
    """Why."""

    reason = Text(
        "The reason that the person gives.",
        max_length=REASON_LIMIT,
        required=False,
        allow_blank=True,
        default="",
    )


class MissingVolumeShape(Shape):
    """A volume that the last inventory of its host lacked."""

    volume = Ref("The volume.")
    missing_since = DateTime("When an inventory first lacked it.")
    vg = Text("Name of the volume group.", of="vg_name")
    lv = Text("Name of the logical volume.", of="lv_name")


class SettledShape(Shape):
    """How many were settled."""

    count = Integer("How many were settled.")


class HostMaintenance(HostResource):
    """A host whose jobs wait."""

    @operation("host_maintenance", "Show the maintenance of a host", MaintenanceShape)
    def get(self, request: Request, key: str) -> Response:
        """404 while there is none."""
        host = self.host(key)
        if not host.in_maintenance:
            raise Http404
        return self.shown(host)

    @operation(
        "host_maintenance_begin",
        "Begin or change the maintenance of a host",
        MaintenanceShape,
        body=MaintenanceBody,
    )
    def put(self, request: Request, key: str) -> Response:
        """For admins. No step starts on the host during maintenance; a running step finishes."""
        host = self.host(key, Right.ADMINISTER)
        values = self.read()
        now = database_now()
        if not now < values["until"] <= now + LATEST:
            raise unfit("until", "It must end within the next year.")
        holds.begin_maintenance(host, values["reason"], values["until"])
        return self.shown(self.host(key))

    @operation("host_maintenance_end", "End the maintenance of a host")
    def delete(self, request: Request, key: str) -> Response:
        """For admins. Its jobs resume."""
        holds.end_maintenance(self.host(key, Right.ADMINISTER))
        return Response(status=204)


class MissingResource(HostResource):
    """Of volumes that are gone from a host."""

    def settled(self, host: Host) -> Response:
        """How many are gone for good from now on."""
        held = Job.objects.unfinished().filter(host=host).values_list("volume_id", flat=True)
        count = settle_missing_volumes(host, database_now(), [pk for pk in held if pk is not None])
        return self.shown({"count": count})


class MissingVolumes(MissingResource):
    """Volumes that are recorded on a host and were not found there."""

    listing: ClassVar = Listing(
        "host-missing", MissingVolumeShape, order=("missing_since", "id"), time="missing_since"
    )

    @operation("host_missing", "List the missing volumes of a host", listing)
    def get(self, request: Request, key: str) -> Response:
        """As of the last inventory; the longest missing come first."""
        missing = Placement.objects.filter(
            host=self.host(key), until=None, missing_since__isnull=False
        )
        return self.page(missing.select_related("volume"))

    @operation(
        "host_missing_delete",
        "Mark the missing volumes of a host as lost",
        SettledShape,
        deprecated=Deprecation("host_missing_delete", date(2026, 11, 26)),
    )
    def delete(self, request: Request, key: str) -> Response:
        """The same as `POST …/missing/settle`."""
        return self.settled(self.host(key, Right.OPERATE))


class MissingVolumesSettled(MissingResource):
    """That volumes are gone for good."""

    @operation(
        "host_missing_settle",
        "Mark the missing volumes of a host as lost",
        SettledShape,
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Records, figures and customers are kept; cache plans end. Skips a volume
        that a job holds."""
        return self.settled(self.host(key, Right.OPERATE))


class AllJobsStop(Resource):
    """The stop of all jobs on all hosts."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS
    other_scopes = (Scope.VOLUMES,)

    @operation("halt", "Show the stop of all jobs", HaltShape)
    def get(self, request: Request) -> Response:
        """404 while there is none."""
        halt = Halt.objects.active()
        if halt is None:
            raise Http404
        return self.shown(halt)

    @operation("halt_begin", "Stop all jobs", HaltShape, body=HaltBody)
    def put(self, request: Request) -> Response:
        """For admins. No new step starts on any host; a running step finishes. If the jobs are
        already stopped, the first person and reason stay."""
        self.demand(Right.ADMINISTER)
        holds.stop_all(self.user.pk, self.read()["reason"])
        return self.get(request)

    @operation("halt_end", "Resume all jobs")
    def delete(self, request: Request) -> Response:
        """For admins."""
        self.demand(Right.ADMINISTER)
        holds.resume_all()
        return Response(status=204)

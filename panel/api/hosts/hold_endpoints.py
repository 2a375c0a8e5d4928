"""What holds jobs back: maintenance of a host and the stop of all jobs; and volumes that are gone
from a host for good."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import holds
from jobs.models import Halt, Job
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.fields import DateTime, Integer, Text
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.hosts.host_enrolment import HostResource
from panel.api.resource_json import volume_ref
from panel.api.response_shapes import Json, MaintenanceShape, Ref
from panel.models import Scope
from storage.access import Right
from storage.database_clock import database_now
from storage.health.missing_volumes import settle_missing_volumes
from storage.models import Host, Placement

REASON_LIMIT = 200
LATEST = timedelta(days=366)


class MaintenanceBody(request_bodies.Body):
    """Why jobs wait, for those who wait for them, and until when."""

    reason = Text("Why, in the words of who said so.", max_length=REASON_LIMIT)
    until = DateTime("Within the next year.")


class HaltShape(Shape):
    """The stop of all jobs."""

    since = DateTime("When it began.")
    reason = Text("Why, in the words of who said so.")
    actor = Text("E-mail address of who did it; null or empty: the panel itself.", null=True)


class HaltBody(request_bodies.Body):
    """Why."""

    reason = Text(
        "Why, in the words of who said so.",
        max_length=REASON_LIMIT,
        required=False,
        allow_blank=True,
        default="",
    )


class MissingVolumeShape(Shape):
    """A volume that the last inventory of its host did not have."""

    volume = Ref("The volume.")
    missing_since = DateTime("When an inventory first missed it.")
    vg = Text("Name of the volume group.")
    lv = Text("Name of the logical volume.")


class SettledShape(Shape):
    """How many were settled."""

    count = Integer("How many were settled.")


class HostMaintenance(HostResource):
    """A host whose jobs wait."""

    @extend_schema(
        operation_id="host_maintenance",
        summary="Show the maintenance of a host",
        responses={200: MaintenanceShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """404 while there is none."""
        host = self.host(key)
        if not host.in_maintenance:
            raise Http404
        return Response(_maintenance_json(host))

    @extend_schema(
        operation_id="host_maintenance_begin",
        summary="Begin or change the maintenance of a host",
        request=MaintenanceBody,
        responses={200: MaintenanceShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For admins. No step begins on the host until then; one that runs ends."""
        host = self.host(key, Right.ADMINISTER)
        values = request_bodies.read(request, MaintenanceBody)
        now = database_now()
        if not now < values["until"] <= now + LATEST:
            raise request_bodies.unfit("until", "It must end within the next year.")
        holds.begin_maintenance(host, values["reason"], values["until"])
        return Response(_maintenance_json(self.host(key)))

    @extend_schema(
        operation_id="host_maintenance_end",
        summary="End the maintenance of a host",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For admins. Its jobs resume."""
        holds.end_maintenance(self.host(key, Right.ADMINISTER))
        return Response(status=204)


class MissingVolumes(HostResource):
    """Volumes that are recorded on a host and were not found there."""

    listing: ClassVar = Listing(
        "host-missing", MissingVolumeShape, order=("missing_since", "id"), time="missing_since"
    )
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="host_missing",
        summary="List the missing volumes of a host",
        parameters=listing.described,
        responses={
            200: listing.page_shape("MissingVolumePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """As of the last inventory, what was missed first comes first."""
        missing = _missing(self.host(key)).select_related("volume")
        return self.listing.answer(request, missing, lambda page: map(_missing_json, page))

    @extend_schema(
        operation_id="host_missing_delete",
        summary="Say that the missing volumes of a host are gone for good",
        deprecated=True,
        responses={200: SettledShape, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """The same as `POST …/missing/settle`."""
        return _settled(self.host(key, Right.OPERATE))


class MissingVolumesSettled(HostResource):
    """That volumes are gone for good."""

    takes_no_body = True

    @extend_schema(
        operation_id="host_missing_settle",
        summary="Say that the missing volumes of a host are gone for good",
        request=None,
        responses={200: SettledShape, **described.problems(403, 404)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Records, figures and customers stay; plans of caches end. One that a job
        holds is left."""
        return _settled(self.host(key, Right.OPERATE))


def _settled(host: Host) -> Response:
    held = Job.objects.unfinished().filter(host=host).values_list("volume_id", flat=True)
    count = settle_missing_volumes(host, database_now(), [pk for pk in held if pk is not None])
    return Response(show(SettledShape, {"count": count}))


class AllJobsStop(Resource):
    """The stop of all jobs on all hosts."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS
    other_scopes = (Scope.VOLUMES,)

    @extend_schema(
        operation_id="halt",
        summary="Show the stop of all jobs",
        responses={200: HaltShape, **described.problems(403, 404)},
    )
    def get(self, request: Request) -> Response:
        """404 while there is none."""
        halt = Halt.objects.active()
        if halt is None:
            raise Http404
        return Response(_halt_json(halt))

    @extend_schema(
        operation_id="halt_begin",
        summary="Stop all jobs",
        request=HaltBody,
        responses={200: HaltShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request) -> Response:
        """For admins. No step begins on any host; one that runs ends. Whoever stops first is
        named."""
        self.demand(Right.ADMINISTER)
        holds.stop_all(self.user.pk, request_bodies.read(request, HaltBody)["reason"])
        halt = Halt.objects.active()
        if halt is None:
            raise Http404
        return Response(_halt_json(halt))

    @extend_schema(
        operation_id="halt_end",
        summary="Let all jobs go on",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request) -> Response:
        """For admins."""
        self.demand(Right.ADMINISTER)
        holds.resume_all()
        return Response(status=204)


def _halt_json(halt: Halt) -> Json:
    actor = str(halt.actor) if halt.actor is not None else None
    return show(HaltShape, {"since": halt.since, "reason": halt.reason, "actor": actor})


def _maintenance_json(host: Host) -> Json:
    names = ("since", "until", "reason")
    return show(MaintenanceShape, {name: getattr(host, f"maintenance_{name}") for name in names})


def _missing(host: Host) -> QuerySet[Placement]:
    return Placement.objects.filter(host=host, until=None, missing_since__isnull=False)


def _missing_json(placement: Placement) -> Json:
    data = {
        "volume": volume_ref(placement.volume),
        "missing_since": placement.missing_since,
        "vg": placement.vg_name,
        "lv": placement.lv_name,
    }
    return show(MissingVolumeShape, data)

"""Volumes: lists, records, figures now and over time; new volumes."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import ClassVar

from django.db import transaction
from django.db.models import Case, FloatField, Q, QuerySet, When
from django.db.models.functions import Cast
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import (
    OpenApiResponse,
    extend_schema,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.queue.submit import Busy, create_volume, discard_record, holder_of
from jobs.requester import Requester
from panel.api import request_bodies
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.api_lists import Listing
from panel.api.framework.problem import ApiProblem, flat
from panel.api.framework.resource import Resource, bad_parameter, chosen_values, truth
from panel.api.response_shapes import STATES, JobShape, Json, VolumeShape, WatchShape
from panel.api.volumes.volume_resource import (
    VolumeWork,
    volume_json,
    volumes_json,
    work_of,
)
from panel.models import Scope, User
from storage.access import Right, is_staff
from storage.database_clock import database_now
from storage.discovery.host_summary import keys_with_drift
from storage.metrics import close_watch
from storage.models import Customer, Placement, Volume
from storage.models.volume import VolumeQuerySet
from storage.planner.technologies.lookup import SETTINGS, of_layout
from storage.planner.wish import LAYOUTS, BadWish, Wish
from storage.row_locks import hold_one
from storage.volumes.ownership import refusal_to_give, refusal_to_take
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from storage.volumes.volume_groups import GroupChoice, groups_of

UNLISTED = ("destroyed", "previewed")
"""States of what is in no list unless asked for."""
INCLUDE = described.query(
    "include", "`wish`: each volume with what `GET …/wish` answers.", enum=["wish"]
)
MEASURED = ("figures", "job", "wish", "updated_at")
"""Of a volume: what no change of its record says."""
OF_STAFF = ("guest", "has_drift", "host", "state", "technology")
FILTERS = ("external_id", "customer", *OF_STAFF)
WAITING = Case(
    When(
        latest_sample__gap="",
        latest_sample__dt_ms__gt=0,
        then=Cast("latest_sample__read_ms", FloatField())
        / Cast("latest_sample__dt_ms", FloatField()),
    ),
    default=-1.0,
    output_field=FloatField(),
)
"""What `Figures.waiting_reads` says of the last sample; what nobody measures comes last."""
TECHNOLOGIES = tuple(SETTINGS)


def _changed_since(at: datetime) -> Q:
    """Its record, or what its host has of it."""
    lately = Placement.objects.filter(updated_at__gte=at)
    return Q(updated_at__gte=at) | Q(pk__in=lately.values("volume"))


class Volumes(Resource):
    """The volumes that the person may see."""

    read_scope = Scope.VOLUMES_READ
    write_scope = Scope.VOLUMES
    preview_scope = Scope.PREVIEW
    listing: ClassVar = Listing(
        "volumes",
        VolumeShape,
        sorts={"label": "label_order", "size_bytes": "size_bytes", "waiting_reads": WAITING},
        searched=("label", "external_id"),
        search_text="Part of the label or the external id.",
        updated=_changed_since,
        by_keys=True,
    )
    parameters: ClassVar = {
        "GET": (*listing.parameters, *FILTERS, "include"),
        "POST": ("dry_run", "wait"),
    }
    keeps_key = True
    repeatable: ClassVar = ("state",)

    @extend_schema(
        operation_id="volumes_list",
        summary="List volumes",
        parameters=[
            *listing.described,
            described.query("external_id", "Exact match."),
            described.query("customer", "Key of a customer."),
            described.query("guest", "Part of the guest's name. Staff only."),
            described.query("host", "Key or name of a host. Staff only."),
            described.choice("state", "Staff only.", STATES),
            described.query("technology", "Staff only.", enum=list(TECHNOLOGIES)),
            described.query(
                "has_drift",
                "Whether the last inventory shows it other than recorded. Staff only.",
                enum=["true", "false"],
            ),
            INCLUDE,
        ],
        responses={
            200: listing.page_shape("VolumePage"),
            **described.problems(400, 403),
        },
    )
    def get(self, request: Request) -> Response:
        """`sort=-waiting_reads`: first those whose guests wait most for their reads now. Their
        places change while you read on: ask for as many as you need."""
        rows = _visible(self)
        if not set(request.query_params.getlist("state")) & set(UNLISTED):
            rows = rows.existing()
        with_wish = includes_wish(request)
        return self.listing.answer(
            request,
            self._filtered(request, rows),
            lambda page: volumes_json(page, self.user, with_wish=with_wish),
        )

    @extend_schema(
        operation_id="volume_make",
        summary="Create a volume",
        request=request_bodies.NewVolumeBody,
        parameters=[described.DRY_RUN, described.WAIT, described.REQUIRED_KEY],
        responses={
            200: OpenApiResponse(JobShape, "With `wait`: the job once it is over."),
            202: OpenApiResponse(JobShape, "A job creates the volume. Location names the job."),
            **described.problems(400, 403, 409, 422),
        },
    )
    def post(self, request: Request) -> Response:
        """For operators. A dry run already creates the record, because its commands contain the
        name. `POST /jobs/{key}/apply` creates the volume, `DELETE` on the volume removes the
        record."""
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, request_bodies.NewVolumeBody)
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)

        def act() -> Response:
            made = make_volume(values, self.user, self.requester, dry_run=dry_run)
            return wait_for_job.accepted(made, self.user)

        return wait_for_job.out(idempotent_requests.once(request, self.user, act), self, within)

    def _filtered(self, request: Request, rows: QuerySet[Volume]) -> QuerySet[Volume]:
        for name in FILTERS:
            if name not in request.query_params:
                continue
            if name in OF_STAFF and not is_staff(self.user):
                # Whether a filter matched would tell where a volume lies.
                known = [each for each in self.parameters["GET"] if each not in OF_STAFF]
                raise bad_parameter(name, "unknown", f"Known here: {', '.join(known)}.")
            if name == "state":
                states = chosen_values(request, "state", STATES)
                rows = rows.filter(reduce(or_, map(_in_state, states)))
            elif name == "has_drift":
                drifted = Q(key__in=keys_with_drift())
                rows = rows.filter(drifted if truth(request, name) else ~drifted)
            else:
                rows = rows.filter(_filter(name, request.query_params[name]))
        return rows


class OneVolume(Resource):
    """One volume."""

    read_scope = Scope.VOLUMES_READ
    write_scope = Scope.VOLUMES
    measured = MEASURED
    parameters: ClassVar = {"GET": ("include",)}

    @extend_schema(
        operation_id="volume",
        summary="Show a volume",
        parameters=[INCLUDE],
        responses={200: VolumeShape, **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """The volume as of the last inventory and sample."""
        return Response(_shown(self, request, key))

    @extend_schema(
        operation_id="volume_change",
        summary="Change a volume's record",
        request=request_bodies.VolumeBody,
        responses={200: VolumeShape, **described.problems(403, 404, 409, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """Changes label, customer and external ID in the panel only. To give a volume to another
        customer, set the customer to null first. Not possible while a job changes the volume."""
        unlocked = visible_row(self, key).volume
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, request_bodies.VolumeBody, partial=True)
        with transaction.atomic():
            volume = hold_one(unlocked, against_jobs=True)
            if "customer" in values:
                values["customer"] = request_bodies.customer_of(values["customer"], self.user)
                _demand_movable(volume, values["customer"])
            request_bodies.save(volume, values, fields=tuple(values))
        return Response(_shown(self, request, key))

    @extend_schema(
        operation_id="volume_discard",
        summary="Remove the record of a volume that was only previewed",
        responses={204: None, **described.problems(403, 404, 409, 422)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Removes the record of a dry run. To destroy a volume, see `life` of its
        wish."""
        volume = visible_row(self, key).volume
        self.demand(Right.OPERATE)
        discard_record(volume)
        return Response(status=204)


class VolumeWatch(Resource):
    """Watching a volume closely."""

    write_scope = Scope.VOLUMES

    @extend_schema(
        operation_id="volume_watch",
        summary="Watch a volume closely",
        request=request_bodies.WatchBody,
        responses={200: WatchShape, **described.problems(403, 404, 409, 422)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. For as many minutes the panel has an interval of the volume every ten
        seconds instead of every minute. A host has at most 16 such volumes."""
        volume = visible_row(self, key).volume
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, request_bodies.WatchBody)
        now = database_now()
        until = now + timedelta(minutes=values["minutes"])
        close_watch.begin_close_watch(volume, until, now)
        return Response({"watched_until": until})

    @extend_schema(
        operation_id="volume_watch_end",
        summary="End the close watch of a volume",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Also where nobody watches the volume."""
        volume = visible_row(self, key).volume
        self.demand(Right.OPERATE)
        close_watch.end_close_watch(volume)
        return Response(status=204)


def _shown(view: Resource, request: Request, key: str) -> Json:
    row = visible_row(view, key)
    with_wish = includes_wish(request)
    work = work_of([row.volume], with_last=with_wish).get(row.volume.pk, VolumeWork())
    return volume_json(row, view.user, work, with_wish=with_wish)


def includes_wish(request: Request) -> bool:
    """Whether each volume is asked for with its wish."""
    given = request.query_params.get("include")
    if given not in (None, "wish"):
        raise bad_parameter("include", "invalid", "wish, or leave it out.")
    return given == "wish"


def visible_row(view: Resource, key: str) -> VolumeSnapshot:
    """The volume, where the person may see it; 404 else."""
    return snapshots_of([visible_volume(view, key)])[0]


def visible_volume(view: Resource, key: str) -> Volume:
    """The same, without what its host says of it."""
    return get_object_or_404(_visible(view), key=key)


def _visible(view: Resource) -> VolumeQuerySet:
    """What the person may see; customers have nothing that is switched off."""
    volumes = Volume.objects.visible_to(view.user).select_related("customer", "cache_plan")
    return volumes if is_staff(view.user) else volumes.in_service()


def _demand_movable(volume: Volume, customer: Customer | None) -> None:
    """Raise `Busy` or `Refused` where the volume cannot become the customer's, or nobody's."""
    if volume.customer_id == (customer.pk if customer is not None else None):
        return
    if holder := holder_of(volume):
        raise Busy(holder)
    if customer is None:
        refused = refusal_to_take(volume, is_busy=False)
    else:
        refused = refusal_to_give(volume, customer, is_busy=False)
    if refused is not None:
        raise refused


def _filter(name: str, value: str) -> Q:
    if name == "external_id":
        return Q(external_id=value)
    if name == "customer":
        return Q(customer__key=value)
    if name == "guest":
        return Q(guest__icontains=value)
    if name == "technology":
        if value not in TECHNOLOGIES:
            raise bad_parameter(name, "invalid", f"One of {', '.join(TECHNOLOGIES)}.")
        layouts = [each for each in LAYOUTS if of_layout(each).name == value]
        return Q(layout__in=layouts)
    here = Placement.objects.filter(Q(host__key=value) | Q(host__name=value), until=None)
    return Q(pk__in=here.values("volume"))


def _in_state(value: str) -> Q:
    here = Placement.objects.filter(until=None)
    if value == "destroyed":
        return Q(destroyed_at__isnull=False)
    if value == "previewed":
        return Q(previewed_at__isnull=False)
    if value == "planned":
        return Q(pk__in=here.filter(missing_since=None, lv_uuid=None).values("volume"))
    if value == "missing":
        return ~Q(pk__in=here.filter(missing_since=None).values("volume")) & Q(destroyed_at=None)
    present = Q(pk__in=here.filter(missing_since=None, lv_uuid__isnull=False).values("volume"))
    if value == "retired":
        return present & Q(retired_at__isnull=False)
    return present & Q(managed=value == "managed", retired_at=None)


def make_volume(values: Json, user: User, requester: Requester, *, dry_run: bool) -> Job:
    """The job that makes a volume of the `values` of `NewVolumeBody`; raises `Refused`, and
    `ApiProblem` for bad values."""
    group = _group(values["host"], values["vg"], user)
    try:
        wish = Wish(values["size_bytes"], values["tier"], values["layout"])
    except BadWish as error:
        raise _bad("/size_bytes", "invalid", str(error)) from None
    volume = Volume(
        label=values["label"],
        customer=request_bodies.customer_of(values["customer"], user),
        external_id=values["external_id"],
        layout=wish.layout,
        size_bytes=wish.size_bytes,
    )
    request_bodies.check_instance(volume)
    return create_volume(volume, group, wish, requester, dry_run=dry_run)


def _group(host: str, vg: str, user: User) -> GroupChoice:
    groups = [each for each in groups_of(user).values() if each.host.key == host]
    if not groups:
        raise _bad("/host", "unknown", "No host of this key lets Tiercel make volumes.")
    group = next((each for each in groups if each.vg_name == vg), None)
    if group is None:
        names = ", ".join(each.vg_name for each in groups)
        raise _bad("/vg", "unknown", f"This host lets Tiercel make volumes in {names}.")
    return group


def _bad(pointer: str, code: str, message: str) -> ApiProblem:
    errors = list(flat([serializers.ErrorDetail(message, code)], pointer))
    return ApiProblem(422, "invalid", "The request has errors.", errors=errors)

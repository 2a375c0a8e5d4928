"""Volumes: lists, books, figures, and the wish for a cache."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
)
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.address import address_of
from jobs.models import Door, Job
from jobs.queue import Busy, submit
from panel.api import bodies, cursor, described, growth, idempotency, life, waiting
from panel.api import wish as wishes
from panel.api.nouns import job_json, job_url, volume_json, wish_json
from panel.api.resource import Resource, bad_parameter, truth
from panel.api.shapes import STATES, JobShape, Json, VolumeShape, WishNow
from storage.access import Right, is_staff
from storage.locks import hold
from storage.models import Customer, Placement, Volume
from storage.models.volume import VolumeQuerySet
from storage.ownership import refusal_to_give, refusal_to_take
from storage.rows import VolumeRow, rows_of
from storage.wish import Wish

PUT_ANSWER = PolymorphicProxySerializer(
    component_name="WishAnswer", serializers=[WishNow, JobShape], resource_type_field_name=None
)
FOR_ALL = (*cursor.PARAMETERS, "external_id", "customer")
FOR_STAFF = (*FOR_ALL, "guest", "host", "state")


class Volumes(Resource):
    """The volumes that the person may see."""

    parameters: ClassVar = {"GET": FOR_STAFF}

    @extend_schema(
        operation_id="volumes_list",
        summary="List volumes",
        parameters=[
            *described.PAGE,
            described.query("external_id", "exactly this one"),
            described.query("customer", "key of a customer"),
            described.query("guest", "part of the guest's name; staff only"),
            described.query("host", "key or name of a host; staff only"),
            described.query("state", "staff only", enum=STATES),
        ],
        responses={
            200: described.page_of(VolumeShape, "VolumePage"),
            **described.problems(400, 403),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first. `host`, `guest` and `state` are for staff."""
        rows = _visible(self)
        if request.query_params.get("state") != "destroyed":
            rows = rows.existing()
        found, after = cursor.page(request, self._filtered(request, rows), "volumes")
        return Response(cursor.body((volume_json(r, self.user) for r in rows_of(found)), after))

    def _filtered(self, request: Request, rows: QuerySet[Volume]) -> QuerySet[Volume]:
        for name in request.query_params:
            if name in cursor.PARAMETERS:
                continue
            if name not in FOR_ALL and not is_staff(self.user):
                # Whether a filter matched would tell where a volume lies.
                raise bad_parameter(name, "unknown", f"Known here: {', '.join(FOR_ALL)}.")
            rows = rows.filter(_filter(name, request.query_params[name]))
        return rows


class OneVolume(Resource):
    """One volume."""

    @extend_schema(
        operation_id="volume",
        summary="Show a volume",
        responses={200: VolumeShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """As the last inventory and sample have it."""
        return Response(volume_json(_row(self, key), self.user))

    @extend_schema(
        operation_id="volume_change",
        summary="Change a volume's books",
        request=bodies.VolumeBody,
        responses={200: VolumeShape, **described.problems(403, 404, 409, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """Label, customer and external id. Nothing of it reaches the host. A volume goes from one
        customer to another by way of null, and only while no job changes it."""
        found = _row(self, key).volume
        self.demand(Right.OPERATE)
        values = bodies.read(request, bodies.VolumeBody, partial=True)
        with transaction.atomic():
            [volume] = hold(found, against_jobs=True)
            if "customer" in values:
                values["customer"] = bodies.customer_of(values["customer"], self.user)
                _demand_movable(volume, values["customer"])
            bodies.save(volume, values, fields=tuple(values))
        return Response(volume_json(_row(self, key), self.user))


class VolumeWish(Resource):
    """What a volume should be."""

    parameters: ClassVar = {"PUT": ("dry_run", "wait")}

    @extend_schema(
        operation_id="wish",
        summary="Show the wish of a volume",
        responses={200: WishNow, **described.problems(403, 404, 409)},
    )
    def get(self, request: Request, key: str) -> Response:
        """What the volume is or, while a job holds it, becomes."""
        row = _row(self, key)
        return Response(_wish_now(row, _holder(row.volume), is_staff(self.user)))

    @extend_schema(
        operation_id="wish_put",
        summary="Wish for what a volume should be",
        request=bodies.WishBody,
        parameters=[
            OpenApiParameter(
                "dry_run",
                OpenApiTypes.BOOL,
                description="Only say what would be done: a job whose steps have the commands.",
            ),
            described.WAIT,
            described.IDEMPOTENCY_KEY,
        ],
        responses={
            200: OpenApiResponse(PUT_ANSWER, "Already so; or, with `wait`, the job (JobShape) once "
                                 "it is over, however it ended: look at its `state`."),
            202: OpenApiResponse(JobShape, "A job makes it so; Location names it."),
            **described.problems(400, 403, 404, 409, 422),
        },
    )  # fmt: skip
    def put(self, request: Request, key: str) -> Response:
        """For operators. `{"cache": {"size_bytes": …, "mode": …}}`, or `{"cache": null}` for none;
        `{"size_bytes": …}` for a larger volume and `{"tier": "ssd"}` to move it, while it is used;
        `{"life": "retired"}` to switch the volume off, `{"life": "live"}` to restore it, and for
        admins `{"life": "gone", "confirm_label": …}` to destroy it.
        While a job already makes it so, that job is the answer."""
        volume = _row(self, key).volume
        self.demand(Right.OPERATE)
        wanted = bodies.read(request, bodies.WishBody)
        if wanted.get("life") == "gone":
            self.demand(Right.ADMINISTER)
        dry_run, within = truth(request, "dry_run"), waiting.seconds(request)
        if dry_run:
            answer = self._put(volume, wanted, dry_run=True)
        else:
            answer = idempotency.once(
                request, self.user, lambda: self._put(volume, wanted, dry_run=False)
            )
        if answer.status_code == 202 and within:
            final = waiting.answer(answer.data["key"], self.user, within)
            if "Idempotency-Replayed" in answer:
                final["Idempotency-Replayed"] = answer["Idempotency-Replayed"]
            return final
        return answer

    @transaction.atomic
    def _put(self, volume: Volume, wanted: Json, *, dry_run: bool) -> Response:
        # One wish at a time, so that the second one meets the job of the first.
        row = rows_of(hold(volume))[0]
        holder = None if dry_run else _holder(volume)
        if holder is not None:
            wish = Wish.from_json(holder.wish)
            goes_back = holder.falls_back or holder.cancel_requested
            if goes_back or not _meets(row, wish, wanted):
                raise Busy(holder)
            return self._accepted(holder)
        change = _change(row, wanted)
        if change is None:
            return Response(_wish_now(row, None, True))
        job = submit(
            kind=change.kind,
            volume=volume,
            wish=change.wish,
            actor=self.user,
            dry_run=dry_run,
            door=Door.API,
            token=self.token.key if self.token is not None else "",
            address=address_of(self.request._request),
        )
        return self._accepted(job)

    def _accepted(self, job: Job) -> Response:
        job = Job.objects.with_names().get(pk=job.pk)
        body = job_json(job, self.user, steps=True)
        return Response(body, status=202, headers={"Location": job_url(job)})


def _row(view: Resource, key: str) -> VolumeRow:
    return rows_of([get_object_or_404(_visible(view), key=key)])[0]


def _visible(view: Resource) -> VolumeQuerySet:
    """What the person may see; customers have nothing that is switched off."""
    found = Volume.objects.visible_to(view.user).select_related("customer", "cache_plan")
    return found if is_staff(view.user) else found.in_service()


def _meets(row: VolumeRow, wish: Wish, wanted: Json) -> bool:
    """Whether a job with that wish makes it so."""
    if "life" in wanted:
        return life.meets(wish, wanted)
    if wish.life != "live" or (wanted["flushed"] and not wish.flushed):
        return False
    same_cache = "cache" not in wanted or wishes.is_same(row, wish, wanted["cache"])
    return same_cache and growth.meets(row, wish, wanted)


def _change(row: VolumeRow, wanted: Json) -> wishes.Change | None:
    if "life" in wanted:
        return life.change(row, wanted)
    change = wishes.change(row, wanted["cache"]) if "cache" in wanted else None
    if wanted["flushed"]:
        change = wishes.flushing(row, change)
    return growth.change(row, wanted, change)


def _holder(volume: Volume) -> Job | None:
    return Job.objects.unfinished().filter(volume=volume, dry_run=False).first()


def _demand_movable(volume: Volume, customer: Customer | None) -> None:
    """Raise `Busy` or `Refused` where the volume cannot become the customer's, or nobody's."""
    if volume.customer_id == (customer.pk if customer is not None else None):
        return
    if holder := _holder(volume):
        raise Busy(holder)
    if customer is None:
        refused = refusal_to_take(volume, is_busy=False)
    else:
        refused = refusal_to_give(volume, customer, is_busy=False)
    if refused is not None:
        raise refused


def _wish_now(row: VolumeRow, holder: Job | None, is_for_staff: bool) -> Json:
    if holder is not None:
        said = wish_json(Wish.from_json(holder.wish), settings=is_for_staff)
        return {**said, "is_met": False, "job": job_url(holder) if is_for_staff else None}
    now: Json = {"cache": None}
    if row.wish is not None:
        now = wish_json(row.wish, settings=is_for_staff)
    elif row.cache is not None:
        now["cache"] = {"size_bytes": row.cache.size_bytes, "mode": row.cache.mode}
    return {**now, "life": life.life_of(row), "is_met": True, "job": None}


def _filter(name: str, value: str) -> Q:
    if name == "external_id":
        return Q(external_id=value)
    if name == "customer":
        return Q(customer__key=value)
    if name == "guest":
        return Q(guest__icontains=value)
    here = Placement.objects.filter(until=None)
    if name == "host":
        here = here.filter(Q(host__key=value) | Q(host__name=value))
        return Q(pk__in=here.values("volume"))
    if value not in STATES:
        raise bad_parameter("state", "invalid", f"One of {', '.join(STATES)}.")
    if value == "destroyed":
        return Q(destroyed_at__isnull=False)
    present = Q(pk__in=here.filter(missing_since=None).values("volume"))
    if value == "missing":
        return ~present & Q(destroyed_at=None)
    if value == "retired":
        return present & Q(retired_at__isnull=False)
    return present & Q(managed=value == "managed", retired_at=None)

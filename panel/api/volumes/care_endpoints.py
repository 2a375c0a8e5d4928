"""What differs from the record of a volume, and what becomes of it: accepted, repaired, or a lost
cache given up. Adoption, and its undoing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job, Kind
from jobs.queue.adoption import accept_drift, adopt_and_tag, release_adopted
from jobs.queue.submit import ChangeRequest, holder_of, submit
from panel.api import request_bodies
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource, truth
from panel.api.framework.shape import Shape
from panel.api.resource_json import job_ref, ref
from panel.api.response_shapes import DifferenceShape, JobShape, Json, Ref
from panel.api.volumes.volume_endpoints import visible_row
from panel.models import Scope
from storage.access import Right
from storage.adoption import AdoptionQuestion, Judgement, buyers_of, candidates_of, judge_rows
from storage.adoption.adopt import taken_ids
from storage.health.drift import accept_refusal, allowed_repair, drift_of, repair_refusal, repaired
from storage.health.lost_cache import dropped, loss_of_row
from storage.models import Volume
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot

MOST_ROWS = 200


class DriftShape(Shape):
    """How a volume differs from its record; no differences: it is as recorded."""

    differences = DifferenceShape(many=True, help_text="What differs; empty: it is as recorded.")
    accepts = serializers.BooleanField(help_text="The record can be made what the host has.")
    repairs = serializers.BooleanField(help_text="The host can be made what the record says.")


class VolumeDriftView(Resource):
    """How a volume differs from its record."""

    read_scope = Scope.VOLUMES_READ
    staff_only = True

    @extend_schema(
        operation_id="volume_drift",
        summary="Show how a volume differs from its record",
        responses={200: DriftShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Nothing while a job changes the volume."""
        row = visible_row(self, key)
        drift = None if holder_of(row.volume) is not None else drift_of(row)
        data: Json = {"differences": [], "accepts": False, "repairs": False}
        if drift is not None:
            data = {
                "differences": drift.differences,
                "accepts": accept_refusal(row, drift) is None,
                "repairs": repair_refusal(row) is None and repaired(row) is not None,
            }
        return Response(DriftShape(data).data)


class DriftAcceptance(Resource):
    """The record becomes what the host has."""

    write_scope = Scope.VOLUMES
    staff_only = True
    takes_no_body = True

    @extend_schema(
        operation_id="volume_drift_accept",
        summary="Record what the host has of a volume",
        request=None,
        responses={204: None, **described.problems(403, 404, 409, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Nothing on the host changes."""
        volume = visible_row(self, key).volume
        self.demand(Right.OPERATE)
        accept_drift(volume)
        return Response(status=204)


class _VolumeWork(Resource):
    """A job for a volume that no wish asks for."""

    staff_only = True
    preview_scope = Scope.PREVIEW
    parameters: ClassVar = {"POST": ("dry_run", "wait")}
    takes_no_body = True
    keeps_key = True

    def asked(
        self, request: Request, key: str, kind: Kind, wish_of: Callable[[VolumeSnapshot], Wish]
    ) -> Response:
        """The job, or its preview."""
        row = visible_row(self, key)
        self.demand(Right.OPERATE)
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)

        def act() -> Response:
            change = ChangeRequest(kind, row.volume, wish_of(row), dry_run=dry_run)
            job = submit(change, self.requester)
            return wait_for_job.accepted(job, self.user)

        once = idempotent_requests.once_if_named if dry_run else idempotent_requests.once
        return wait_for_job.out(once(request, self.user, act), self, within)


def _work(operation_id: str, summary: str) -> Callable[..., Callable[..., Response]]:
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        request=None,
        parameters=[described.DRY_RUN, described.WAIT, described.IDEMPOTENCY_KEY],
        responses={
            200: OpenApiResponse(JobShape, "With `wait`: the job once it is over."),
            202: OpenApiResponse(JobShape, "A job does it. Location names the job."),
            **described.problems(400, 403, 404, 409, 422),
        },
    )


class DriftRepair(_VolumeWork):
    """The host becomes what the record says."""

    write_scope = Scope.VOLUMES

    @_work("volume_drift_repair", "Bring a volume back to its record")
    def post(self, request: Request, key: str) -> Response:
        """For operators."""
        return self.asked(request, key, Kind.REPAIR_VOLUME, allowed_repair)


class LostCacheDrop(_VolumeWork):
    """A cache whose SSD is gone."""

    write_scope = Scope.DESTROY

    @_work("volume_cache_drop", "Give up a lost cache")
    def post(self, request: Request, key: str) -> Response:
        """For operators. Only a cache that held nothing but copies; else it is refused."""
        return self.asked(request, key, Kind.DROP_CACHE, lambda row: dropped(row, loss_of_row(row)))


class AdoptionRowBody(request_bodies.Body):
    """One volume, and whose it is to be."""

    volume = serializers.CharField(
        max_length=320, help_text="UUID or name of the logical volume, `host/group/name` where two "
        "have the name."
    )  # fmt: skip
    customer = serializers.CharField(max_length=200, help_text="Key, external id or name.")
    external_id = serializers.CharField(max_length=64, required=False, default="")
    label = serializers.CharField(  # type: ignore[assignment]  # a field, no attribute
        max_length=200, required=False, default=""
    )


class AdoptionBody(request_bodies.Body):
    """Which found volumes belong to whom."""

    items = AdoptionRowBody(many=True, help_text="The volumes, each with its customer.")
    make_customers = serializers.BooleanField(
        default=False, help_text="Customers that are not known are made."
    )

    def validate_items(self, items: list[Json]) -> list[Json]:
        """Some, and not too many for one answer."""
        if not 1 <= len(items) <= MOST_ROWS:
            raise serializers.ValidationError(f"1 to {MOST_ROWS} rows at once.", "invalid")
        return items


class AdoptedShape(Shape):
    """What becomes of one row."""

    n = serializers.IntegerField(help_text="The row, from 1.")
    verdict = serializers.CharField(
        help_text="What was decided; adopt and already: it is recorded."
    )
    message = serializers.CharField(
        allow_blank=True, help_text="What became of it, in a sentence for people."
    )
    volume = Ref(allow_null=True, help_text="Null: no volume was found.")
    job = Ref(allow_null=True, help_text="The job that tags the volume; null: none is needed.")


class AdoptionShape(Shape):
    """In the order of the rows."""

    items = AdoptedShape(many=True)


class Adoptions(Resource):
    """Found volumes that get a customer."""

    write_scope = Scope.VOLUMES
    staff_only = True
    preview_scope = Scope.PREVIEW
    parameters: ClassVar = {"POST": ("dry_run",)}

    @extend_schema(
        operation_id="adoption_make",
        summary="Adopt found volumes",
        request=AdoptionBody,
        parameters=[described.DRY_RUN],
        responses={200: AdoptionShape, **described.problems(400, 403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """For operators. Each row is judged for itself: one that cannot be adopted keeps no other
        back. A job tags each volume of a group that root allows Tiercel to change.
        `make_customers` needs the scope `customers:write` too."""
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, AdoptionBody)
        make_customers = values["make_customers"]
        if make_customers and not truth(request, "dry_run"):
            self.demand_scope(Scope.CUSTOMERS)
        asks = tuple(AdoptionQuestion(n, **each) for n, each in enumerate(values["items"], 1))
        if truth(request, "dry_run"):
            judged = judge_rows(
                asks,
                candidates_of(self.user),
                buyers_of(self.user),
                taken_ids(),
                make_customers=make_customers,
            )
            items = [_judged_json(each, None) for each in judged]
        else:
            done = adopt_and_tag(asks, self.user, self.requester, make_customers=make_customers)
            items = [
                _judged_json(each.judgement, each.tagging.job if each.tagging else None)
                for each in done
            ]
        return Response(AdoptionShape({"items": items}).data)


class VolumeAdoption(Resource):
    """That a volume was adopted."""

    write_scope = Scope.VOLUMES
    staff_only = True

    @extend_schema(
        operation_id="volume_adoption_undo",
        summary="Undo the adoption of a volume",
        responses={204: None, **described.problems(403, 404, 409)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators. While no job has run on the volume since, and no plan is paid for."""
        volume = get_object_or_404(Volume.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        done = release_adopted([volume], self.requester)
        for _, reason in done.kept:
            raise ApiProblem(409, "not_now", reason, "Undo first what was done since.")
        return Response(status=204)


def _judged_json(judged: Judgement, job: Job | None) -> Json:
    candidate = judged.candidate
    return {
        "n": judged.ask.line,
        "verdict": judged.verdict.value,
        "message": judged.message,
        "volume": ref("api-volume", candidate.key, candidate.lv_name) if candidate else None,
        "job": job_ref(job),
    }

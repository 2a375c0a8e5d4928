"""What differs from the record of a volume, and what becomes of it: accepted, repaired, or a lost
cache given up. Adoption, and its undoing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Kind
from jobs.queue.adoption import accept_drift, adopt_and_tag, release_adopted
from jobs.queue.submit import holder_of
from panel.api.framework.api_operations import DRY_RUN, operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Boolean, Integer, Text
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Ref, ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape, show
from panel.api.jobs.job_work import work
from panel.api.volumes.volume_resource import DifferenceShape, VolumeResource
from panel.api.volumes.volume_work import VolumeJob
from panel.models import Scope
from storage.access import Right
from storage.adoption import AdoptionQuestion, buyers_of, candidates_of, judge_rows
from storage.adoption.adopt import taken_ids
from storage.health.drift import accept_refusal, allowed_repair, drift_of, repair_refusal, repaired
from storage.health.lost_cache import dropped, loss_of_row
from storage.models import Volume

MOST_ROWS = 200


class DriftShape(Shape):
    """How a volume differs from its record; empty if it matches."""

    differences = DifferenceShape("What differs; empty: it is as recorded.", many=True)
    accepts = Boolean("Whether the record can be changed to match the host.")
    repairs = Boolean("Whether the host can be changed to match the record.")


class VolumeDriftView(VolumeResource):
    """How a volume differs from its record."""

    staff_only = True

    @operation("volume_drift", "Show how a volume differs from its record", DriftShape)
    def get(self, request: Request, key: str) -> Response:
        """Empty while a job changes the volume."""
        row = self.row(key)
        drift = None if holder_of(row.volume) is not None else drift_of(row)
        if drift is None:
            return self.shown({"differences": (), "accepts": False, "repairs": False})
        accepts = accept_refusal(row, drift) is None
        repairs = repair_refusal(row) is None and repaired(row) is not None
        return self.shown(
            {"differences": drift.differences, "accepts": accepts, "repairs": repairs}
        )


class DriftAcceptance(VolumeResource):
    """The record becomes what the host has."""

    staff_only = True

    @operation("volume_drift_accept", "Record what the host has of a volume", problems=(409, 422))
    def post(self, request: Request, key: str) -> Response:
        """For operators. Nothing on the host changes."""
        accept_drift(self.volume(key, Right.OPERATE))
        return Response(status=204)


IN_A_JOB: Final = "A job makes the change. Location names the job."


class DriftRepair(VolumeJob):
    """The host becomes what the record says."""

    staff_only = True

    @work("volume_drift_repair", "Restore a volume to its record", IN_A_JOB)
    def post(self, request: Request, key: str) -> Response:
        """For operators."""
        row = self.row(key, Right.OPERATE)
        return self.begun(self.submitted(row.volume, Kind.REPAIR_VOLUME, allowed_repair(row)))


class LostCacheDrop(VolumeJob):
    """A cache whose SSD is gone."""

    staff_only = True
    write_scope = Scope.DESTROY

    @work("volume_cache_drop", "Give up a lost cache", IN_A_JOB)
    def post(self, request: Request, key: str) -> Response:
        """For operators. Refused if the cache held data that the disk does not have."""
        row = self.row(key, Right.OPERATE)
        wish = dropped(row, loss_of_row(row))
        return self.begun(self.submitted(row.volume, Kind.DROP_CACHE, wish))


class AdoptionRowBody(Body):
    """One volume and its customer."""

    volume = Text("UUID or name of the logical volume, `host/group/name` where two "
        "have the name.", max_length=320)  # fmt: skip
    customer = Text("Key, external id or name.", max_length=200)
    external_id = Text(
        "Its name in your systems; empty if it has none.",
        max_length=64,
        required=False,
        default="",
    )
    label = Text("Display name.", max_length=200, required=False, default="")  # type: ignore[assignment]  # a field, no attribute


class AdoptionBody(Body):
    """Found volumes and their customers."""

    items = AdoptionRowBody("The volumes, each with its customer.", many=True)
    make_customers = Boolean("Creates customers that do not exist.", default=False)

    def validate_items(self, items: list[Json]) -> list[Json]:
        """Some, and not too many for one answer."""
        if not 1 <= len(items) <= MOST_ROWS:
            raise serializers.ValidationError(f"1 to {MOST_ROWS} rows at once.", "invalid")
        return items


class AdoptedShape(Shape):
    """The outcome of one row."""

    n = Integer("The row, from 1.", of="ask.line")
    verdict = Text("The decision; adopt and already: the adoption is recorded.", of="verdict.value")
    message = Text("The outcome, as a sentence for people.")
    volume = Ref(
        "Null: no volume was found.",
        of=lambda judged: (
            judged.candidate and ref("api-volume", judged.candidate.key, judged.candidate.lv_name)
        ),
        null=True,
    )
    job = Ref("The job that tags the volume; null: none is needed.", null=True, given=True)


class AdoptionShape(Shape):
    """In the order of the rows."""

    items = AdoptedShape("The rows of this answer, one each.", many=True)


class Adoptions(Resource):
    """Found volumes that get a customer."""

    write_scope = Scope.VOLUMES
    staff_only = True
    preview_scope = Scope.PREVIEW

    @operation(
        "adoption_make",
        "Adopt found volumes",
        AdoptionShape,
        body=AdoptionBody,
        parameters=(DRY_RUN,),
    )
    def post(self, request: Request) -> Response:
        """For operators. Each row is checked on its own: a row that cannot be adopted does not
        affect the others. A job tags each volume of a group that root allows Tiercel to change.
        `make_customers` needs the scope `customers:write` too."""
        self.demand(Right.OPERATE)
        values = self.read()
        asks = tuple(AdoptionQuestion(n, **each) for n, each in enumerate(values["items"], 1))
        return self.shown({"items": self._judged(asks, make_customers=values["make_customers"])})

    def _judged(
        self, asks: tuple[AdoptionQuestion, ...], *, make_customers: bool
    ) -> Iterator[Json]:
        if DRY_RUN.of(self.request):
            candidates, buyers = candidates_of(self.user), buyers_of(self.user)
            for judged in judge_rows(
                asks, candidates, buyers, taken_ids(), make_customers=make_customers
            ):
                yield show(AdoptedShape, judged, job=None)
            return
        if make_customers:
            self.demand_scope(Scope.CUSTOMERS)
        for done in adopt_and_tag(asks, self.user, self.requester, make_customers=make_customers):
            job = done.tagging.job if done.tagging else None
            yield show(AdoptedShape, done.judgement, job=job)


class VolumeAdoption(Resource):
    """That a volume was adopted."""

    write_scope = Scope.VOLUMES
    staff_only = True

    @operation("volume_adoption_undo", "Undo the adoption of a volume", problems=(409,))
    def delete(self, request: Request, key: str) -> Response:
        """For operators. While no job has run on the volume since, and no plan is paid for."""
        volume = get_object_or_404(Volume.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        done = release_adopted([volume], self.requester)
        for _, reason in done.kept:
            raise ApiProblem(409, "not_now", reason, "First undo the later changes.")
        return Response(status=204)

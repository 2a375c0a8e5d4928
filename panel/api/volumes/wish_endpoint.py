"""The wish of a volume: what it should be."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.queue.submit import Busy, ChangeRequest, holder_of, submit
from panel.api import request_bodies
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.entity_tags import demand_unchanged, entity_tag
from panel.api.framework.resource import Resource, truth
from panel.api.response_shapes import JobShape, Json, WishNow
from panel.api.volumes import wish_changes as wishes
from panel.api.volumes.volume_endpoints import visible_row
from panel.api.volumes.volume_resource import VolumeWork, wish_now_json, work_of
from panel.models import Scope
from storage.access import Right, is_staff
from storage.models import Volume
from storage.planner.wish import Wish
from storage.row_locks import hold_one
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

MEASURED = ("is_met", "last_job")
"""Of a wish: what no request says, and what changes while one is fulfilled."""
PUT_ANSWER = PolymorphicProxySerializer(
    component_name="WishAnswer",
    serializers={"wish": WishNow, "job": JobShape},
    resource_type_field_name="object",
)


class VolumeWish(Resource):
    """What a volume should be."""

    read_scope = Scope.VOLUMES_READ
    write_scope = Scope.VOLUMES
    other_scopes = (Scope.DESTROY,)
    preview_scope = Scope.PREVIEW
    parameters: ClassVar = {"PUT": ("dry_run", "wait")}
    keeps_key = True
    checks_version = True

    @extend_schema(
        operation_id="wish",
        summary="Show the wish of a volume",
        responses={200: WishNow, **described.problems(403, 404, 409)},
    )
    def get(self, request: Request, key: str) -> Response:
        """What the volume is or, while a job changes it, becomes. Send the ETag as If-Match."""
        row = visible_row(self, key)
        data = self._now(row)
        return Response(data, headers={"ETag": entity_tag(data, MEASURED)})

    @extend_schema(
        operation_id="wish_put",
        summary="Set the wish of a volume",
        request=request_bodies.WishBody,
        parameters=[
            described.DRY_RUN,
            described.WAIT,
            described.IDEMPOTENCY_KEY,
            described.IF_MATCH,
        ],
        responses={
            200: OpenApiResponse(PUT_ANSWER, "The wish is already met; or, with `wait`, the job "
                                 "(JobShape) once it is over. Its `state` says how it ended."),
            202: OpenApiResponse(JobShape, "A job fulfils the wish. Location names the job."),
            **described.problems(400, 403, 404, 409, 412, 422),
        },
    )  # fmt: skip
    def put(self, request: Request, key: str) -> Response:
        """For operators. `{"cache": {"size_bytes": …, "mode": …}}`, or `{"cache": null}` for none;
        `{"size_bytes": …}` for a larger volume and `{"tier": "ssd"}` to move it, while it is used;
        `{"life": "retired"}` to switch the volume off, `{"life": "live"}` to restore it, and for
        admins `{"life": "gone", "confirm_label": …}` to destroy it; `{"managed": true}` for a found
        volume. `POST /jobs/{key}/apply` carries out a dry run.
        If a job already fulfils the wish, the answer is that job."""
        volume = visible_row(self, key).volume
        self.demand(Right.OPERATE)
        body = request_bodies.read(request, request_bodies.WishBody)
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)
        if body.get("life") == "gone":
            self.demand(Right.ADMINISTER)
            if not dry_run:
                self.demand_scope(Scope.DESTROY)
        once = idempotent_requests.once_if_named if dry_run else idempotent_requests.once
        answer = once(request, self.user, lambda: self._put(volume, body, dry_run=dry_run))
        final = wait_for_job.out(answer, self, within)
        final["ETag"] = entity_tag(self._now(visible_row(self, key)), MEASURED)
        return final

    def _now(self, row: VolumeSnapshot) -> Json:
        work = work_of([row.volume], with_last=True).get(row.volume.pk, VolumeWork())
        return wish_now_json(row, work, is_for_staff=is_staff(self.user))

    @transaction.atomic
    def _put(self, volume: Volume, body: Json, *, dry_run: bool) -> Response:
        # One wish at a time, so that the second one meets the job of the first.
        row = snapshots_of([hold_one(volume)])[0]
        standing = holder_of(volume)
        demand_unchanged(self.request, entity_tag(self._now(row), MEASURED))
        holder = None if dry_run else standing
        if holder is not None:
            wish = Wish.from_json(holder.wish)
            goes_back = holder.falls_back or holder.cancel_requested
            if goes_back or not _meets(row, wish, body):
                raise Busy(holder)
            return wait_for_job.accepted(holder, self.user)
        change = _change(row, body)
        if change is None:
            # What is asked for now is so, whatever the last job did not reach.
            return Response({**self._now(row), "is_met": True})
        if not dry_run:
            self.demand_scope_to(change.kind)
        job = submit(
            ChangeRequest(
                change.kind,
                volume,
                change.wish,
                dry_run=dry_run,
                not_before=None if dry_run else change.not_before,
            ),
            self.requester,
        )
        return wait_for_job.accepted(job, self.user)


def _meets(row: VolumeSnapshot, wish: Wish, body: Json) -> bool:
    """Whether a job with that wish makes it so."""
    if "life" in body:
        return wishes.meets_life(wish, body)
    if "managed" in body:
        return wish.life == "live"
    if wish.life != "live" or (body["flushed"] and not wish.flushed):
        return False
    same_cache = "cache" not in body or wishes.is_same(row, wish, body["cache"])
    return same_cache and wishes.meets_shape(row, wish, body)


def _change(row: VolumeSnapshot, body: Json) -> wishes.RequestedChange | None:
    if "life" in body:
        return wishes.life_change(row, body)
    if "managed" in body:
        return wishes.management_change(row)
    change = wishes.change_of_wish(row, body["cache"]) if "cache" in body else None
    if body["flushed"]:
        change = wishes.flushing(row, change)
    return wishes.shape_change(row, body, change)

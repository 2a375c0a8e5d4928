"""The wish of a volume: what it should be."""

from __future__ import annotations

import hashlib
import json
from typing import ClassVar

from django.db import transaction
from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from jobs.models import Job, State
from jobs.queue.submit import Busy, submit
from panel.api import request_bodies
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource, truth
from panel.api.resource_json import drift_json, job_url, wish_json
from panel.api.response_shapes import JobShape, Json, WishNow
from panel.api.volumes import wish_changes as wishes
from panel.api.volumes.volume_endpoints import holder_of, row_of
from storage.access import Right, is_staff
from storage.models import Volume
from storage.planner.wish import Wish
from storage.row_locks import hold_one
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

IF_MATCH = "If-Match"
ANY_VERSION = "*"
UNDONE = (State.FAILED, State.NEEDS_ATTENTION)
"""States of a job whose wish is not met."""
PUT_ANSWER = PolymorphicProxySerializer(
    component_name="WishAnswer", serializers=[WishNow, JobShape], resource_type_field_name=None
)


class VolumeWish(Resource):
    """What a volume should be."""

    parameters: ClassVar = {"PUT": ("dry_run", "wait")}

    @extend_schema(
        operation_id="wish",
        summary="Show the wish of a volume",
        responses={200: WishNow, **described.problems(403, 404, 409)},
    )
    def get(self, request: Request, key: str) -> Response:
        """What the volume is or, while a job changes it, becomes. Send the ETag as If-Match."""
        row = row_of(self, key)
        data = _wish_now(row, holder_of(row.volume), is_staff(self.user))
        return Response(data, headers={"ETag": entity_tag(data)})

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
        volume = row_of(self, key).volume
        self.demand(Right.OPERATE)
        body = request_bodies.read(request, request_bodies.WishBody)
        if body.get("life") == "gone":
            self.demand(Right.ADMINISTER)
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)
        if dry_run:
            answer = self._put(volume, body, dry_run=True)
        else:
            answer = idempotent_requests.once(
                request, self.user, lambda: self._put(volume, body, dry_run=False)
            )
        return wait_for_job.out(answer, self, within)

    @transaction.atomic
    def _put(self, volume: Volume, body: Json, *, dry_run: bool) -> Response:
        # One wish at a time, so that the second one meets the job of the first.
        row = snapshots_of([hold_one(volume)])[0]
        standing = holder_of(volume)
        demand_unchanged(self.request, _wish_now(row, standing, True))
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
            return Response({**_wish_now(row, None, True), "is_met": True})
        job = submit(
            kind=change.kind,
            volume=volume,
            wish=change.wish,
            actor=self.user,
            dry_run=dry_run,
            door=self.requester.door,
            token=self.requester.token,
            address=self.requester.address,
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
    change = wishes.change(row, body["cache"]) if "cache" in body else None
    if body["flushed"]:
        change = wishes.flushing(row, change)
    return wishes.shape_change(row, body, change)


def _wish_now(row: VolumeSnapshot, holder: Job | None, is_for_staff: bool) -> Json:
    last = Job.objects.filter(volume=row.volume, dry_run=False).order_by("-id").first()
    jobs: Json = {
        "job": job_url(holder) if holder is not None and is_for_staff else None,
        "last_job": _last_job_json(last) if last is not None and is_for_staff else None,
    }
    if holder is not None:
        wish_data = wish_json(Wish.from_json(holder.wish), settings=is_for_staff)
        return {**wish_data, "is_met": False, **jobs}
    now: Json = {"cache": None}
    if row.wish is not None:
        now = wish_json(row.wish, settings=is_for_staff)
    elif row.cache is not None:
        now["cache"] = {"size_bytes": row.cache.size_bytes, "mode": row.cache.mode}
    is_met = _is_as_recorded(row) and (last is None or last.state not in UNDONE)
    return {**now, "life": wishes.life_of(row), "is_met": is_met, **jobs}


def _is_as_recorded(row: VolumeSnapshot) -> bool:
    """False for what is not created yet, is missing, or was changed by somebody else."""
    if row.volume.destroyed_at is not None:
        return True
    placement = row.placement
    if placement is None or placement.lv_uuid is None or placement.missing_since is not None:
        return False
    return not drift_json(row)


def _last_job_json(job: Job) -> Json:
    """For `LastJobShape`: a monitor learns here why a wish was not met."""
    code = job.error["code"] if job.state in UNDONE and job.error else ""
    return {"key": job.key, "url": job_url(job), "state": job.state, "error_code": code}


def entity_tag(data: Json) -> str:
    """The strong entity tag of what a reader is told: another one where it says another thing."""
    text = json.dumps(data, cls=JSONEncoder, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def demand_unchanged(request: Request, data: Json) -> None:
    """Raises `ApiProblem` (412) where the request was meant for another version than `said`."""
    tags = [tag.strip() for tag in request.headers.get(IF_MATCH, ANY_VERSION).split(",")]
    now = entity_tag(data)
    if ANY_VERSION not in tags and now not in tags:
        raise ApiProblem(
            412,
            "changed",
            "It has changed since you read it; nothing was done.",
            "Read it again, and wish anew if you still want to.",
            headers={"ETag": now},
        )

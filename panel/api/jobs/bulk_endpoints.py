"""One change for many volumes: judged for each, carried out by a worker, with progress."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import BulkChange, Job
from jobs.queue import bulk
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.problem import CODES, ApiProblem
from panel.api.framework.resource import Resource, truth
from panel.api.framework.shape import Shape
from panel.api.resource_json import job_ref, ref, volume_ref
from panel.api.response_shapes import ErrorShape, Json, Ref
from panel.models import Scope
from storage.access import Right
from storage.bulk_changes import (
    ACTIONS,
    MOST,
    Action,
    BulkRequest,
    PlannedChange,
    drafts,
    plan_on_offer,
)
from storage.models import Volume
from storage.volumes.snapshot import snapshots_of

ACTION_NAMES = [value for value, _ in ACTIONS]


class BulkBody(request_bodies.Body):
    """The volumes, and what is to become of all of them."""

    action = serializers.ChoiceField(choices=ACTION_NAMES)
    volumes = serializers.ListField(
        child=serializers.CharField(max_length=26),
        min_length=1,
        max_length=MOST,
        help_text="Keys of the volumes.",
    )
    customer = serializers.CharField(required=False, help_text="With customer: its key.")
    cache_plan = serializers.CharField(required=False, help_text="With add-cache: its key.")
    mode = serializers.CharField(required=False, help_text="With set-mode: the mode.")


class BulkDraftShape(Shape):
    """What would become of one volume: the steps, or the reason against them."""

    volume = Ref()
    steps = serializers.ListField(
        child=serializers.CharField(), help_text="What its job would do, in the order of the steps."
    )
    refusal = ErrorShape(allow_null=True, help_text="Why it would be refused; null: it would not.")


class BulkPreviewShape(Shape):
    """A preview of a change of many volumes, in the order that was asked for."""

    action = serializers.ChoiceField(choices=ACTION_NAMES)
    good_count = serializers.IntegerField(help_text="How many volumes would not be refused.")
    items = BulkDraftShape(many=True, help_text="What would become of each volume.")


class BulkOutcomeShape(Shape):
    """What became of one volume."""

    volume = Ref()
    job = Ref(allow_null=True, help_text="Null: none was needed, or it is not begun.")
    state = serializers.CharField(help_text="not_begun, refused, done, or the state of the job.")
    message = serializers.CharField(
        allow_blank=True, help_text="What became of it, in a sentence for people."
    )


class BulkChangeShape(Shape):
    """One change of many volumes; lists leave `items` out. It is over once nothing is `left` and
    every job has ended; `states` counts the volumes by state."""

    key = serializers.CharField()
    url = serializers.CharField()
    action = serializers.ChoiceField(choices=ACTION_NAMES)
    actor = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    total = serializers.IntegerField(help_text="How many volumes it has.")
    left = serializers.IntegerField(help_text="Not begun yet.")
    states = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="How many volumes are in each state.",
    )
    items = BulkOutcomeShape(many=True, required=False, help_text="What became of each volume.")


class BulkChanges(Resource):
    """Changes of many volumes."""

    read_scope = Scope.JOBS_READ
    write_scope = Scope.VOLUMES
    staff_only = True
    preview_scope = Scope.PREVIEW
    listing: ClassVar = Listing("bulk", BulkChangeShape, newest_first=True)
    parameters: ClassVar = {"GET": listing.parameters, "POST": ("dry_run",)}

    @extend_schema(
        operation_id="bulk_changes_list",
        summary="List changes of many volumes",
        parameters=listing.described,
        responses={
            200: listing.page_shape("BulkChangePage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Newest first; kept for 30 days."""
        return self.listing.answer(request, _changes(self), lambda page: map(change_json, page))

    @extend_schema(
        operation_id="bulk_change_make",
        summary="Change many volumes",
        request=BulkBody,
        parameters=[described.DRY_RUN],
        responses={
            200: OpenApiResponse(BulkPreviewShape, "With `dry_run`."),
            202: OpenApiResponse(BulkChangeShape, "A worker does it; Location shows how far."),
            **described.problems(400, 403, 404, 422),
        },
    )
    def post(self, request: Request) -> Response:
        """For operators. Volumes that cannot be changed are left out, each with its reason in the
        preview. Every volume gets a job of its own, which stops before its first command where the
        host has changed since."""
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, BulkBody)
        asked = self._asked(values)
        rows = snapshots_of(self._chosen(values["volumes"]))
        reserved, busy = bulk.reserved_by_group(rows), bulk.blocking_jobs(rows)
        planned = drafts(rows, asked, reserved, timezone.now(), busy)
        good = [each for each in planned if each.refused is None]
        if truth(request, "dry_run"):
            data = {
                "action": values["action"],
                "good_count": len(good),
                "items": list(map(_draft_json, planned)),
            }
            return Response(BulkPreviewShape(data).data)
        sealed = bulk.sign_drafts(asked.action, asked.option_key, good, self.user.pk)
        change = bulk.begin_bulk(bulk.signed_drafts(sealed, self.user.pk), self.requester)
        data = change_json(change, whole=True)
        return Response(data, status=202, headers={"Location": data["url"]})

    def _asked(self, values: Json) -> BulkRequest:
        customer = request_bodies.customer_of(values.get("customer"), self.user)
        cache_plan = None
        try:
            if key := values.get("cache_plan"):
                cache_plan = plan_on_offer(self.user, key)
            asked = BulkRequest(
                Action(values["action"]), customer, cache_plan, values.get("mode", "")
            )
            asked.check()
        except ValidationError as error:
            raise request_bodies.unprocessable(error) from None
        return asked

    def _chosen(self, keys: list[str]) -> list[Volume]:
        places = {key: n for n, key in enumerate(keys)}
        some = Volume.objects.visible_to(self.user).existing().filter(key__in=keys)
        volumes = list(some.select_related("customer", "cache_plan"))
        if len(volumes) != len(places):
            raise request_bodies.unfit("volumes", "Some of these volumes are not there.")
        return sorted(volumes, key=lambda volume: places[volume.key])


class OneBulkChange(Resource):
    """One change of many volumes."""

    read_scope = Scope.JOBS_READ
    staff_only = True

    @extend_schema(
        operation_id="bulk_change",
        summary="Show how far a change of many volumes is",
        responses={200: BulkChangeShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """With every volume and its job."""
        return Response(change_json(get_object_or_404(_changes(self), key=key), whole=True))


class BulkChangeCancel(Resource):
    """The end of a change before all volumes were begun."""

    write_scope = Scope.VOLUMES
    staff_only = True
    takes_no_body = True

    @extend_schema(
        operation_id="bulk_change_cancel",
        summary="Begin with no further volume",
        request=None,
        responses={200: BulkChangeShape, **described.problems(403, 404, 409)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Jobs that have begun go on; cancel each by itself."""
        change = get_object_or_404(_changes(self), key=key)
        self.demand(Right.OPERATE)
        if not bulk.cancel_bulk(change, str(self.user)):
            raise ApiProblem(409, "too_late", "Every volume was begun already.", "Cancel the jobs.")
        return Response(change_json(get_object_or_404(_changes(self), key=key), whole=True))


def change_json(change: BulkChange, *, whole: bool = False) -> Json:
    """A change, for `BulkChangeShape`; `whole` with its volumes."""
    data: Json = {
        "key": change.key,
        "url": reverse("api-bulk-change", args=[change.key]),
        "action": change.action,
        "actor": str(change.actor) if change.actor is not None else None,
        "created_at": change.created_at,
        "total": len(change.items),
        "left": change.left_count,
    }
    if whole:
        items = _outcomes(change)
        data["items"] = items
        data["states"] = dict(Counter(each["state"] for each in items))
    return BulkChangeShape(data).data


def _outcomes(change: BulkChange) -> list[Json]:
    keys = [job for _, _, job, *_ in change.outcomes if job]
    jobs = {job.key: job for job in Job.objects.filter(key__in=keys)}
    volumes = [key for key, *_ in (*change.outcomes, *change.items)]
    labels = dict(Volume.objects.filter(key__in=volumes).values_list("key", "label"))
    items: list[Json] = []
    for key, _, job_key, is_done, message in change.outcomes:
        job = jobs.get(job_key)
        state = "refused" if not is_done else job.state if job is not None else "done"
        volume = ref("api-volume", key, labels.get(key, key))
        items.append({"volume": volume, "job": job_ref(job), "state": state, "message": message})
    for key, *_ in change.items[len(change.outcomes) :]:
        volume = ref("api-volume", key, labels.get(key, key))
        items.append({"volume": volume, "job": None, "state": "not_begun", "message": ""})
    return items


def _draft_json(draft: PlannedChange) -> Json:
    refused = draft.refused
    return {
        "volume": volume_ref(draft.row.volume),
        "steps": list(draft.titles) if refused is None else [],
        "refusal": None
        if refused is None
        else {
            "code": CODES.get(refused.code, refused.code),
            "message": refused.message,
            "correction": refused.correction,
        },
    }


def _changes(view: Resource) -> QuerySet[BulkChange]:
    return BulkChange.objects.all().visible_to(view.user).select_related("actor")

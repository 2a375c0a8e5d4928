"""One change for many volumes: judged for each, carried out by a worker, with progress."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import BulkChange, Job
from jobs.queue import bulk
from panel.api.customers.customer_endpoints import customer_of
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import DRY_RUN, operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import By, Choice, DateTime, Integer, List, Map, Text, Texts
from panel.api.framework.problem import CODES, ApiProblem
from panel.api.framework.refs import Noun, Ref, ref, url_of
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape, show
from panel.api.jobs.job_shape import ErrorShape
from panel.models import Scope
from storage.access import Right
from storage.bulk_changes import (
    ACTIONS,
    MOST,
    TITLES,
    Action,
    BulkRequest,
    PlannedChange,
    drafts,
    plan_on_offer,
)
from storage.models import Volume
from storage.volumes.snapshot import snapshots_of

ACTION_NAMES = [value for value, _ in ACTIONS]
EVERY_ACTION = list(TITLES)
"""With what is proposed on a host's page alone."""


class BulkBody(Body):
    """The volumes, and the change to make to all of them."""

    action = Choice("The change to make to each volume.", ACTION_NAMES)
    volumes = List("Keys of the volumes.", Text(max_length=26), min_length=1, max_length=MOST)
    customer = Text("With customer: its key.", required=False)
    cache_plan = Text("With add-cache: its key.", required=False)
    mode = Text("With set-mode: the mode.", required=False)


def _refusal(draft: PlannedChange) -> Json | None:
    """By the code that it has everywhere in the API."""
    refused = draft.refused
    if refused is None:
        return None
    return show(ErrorShape, refused) | {"code": CODES.get(refused.code, refused.code)}


class BulkDraftShape(Shape):
    """The outcome for one volume: its steps, or the reason for a refusal."""

    volume = Ref("The volume.", of="row.volume")
    steps = Texts(
        "What its job would do, in the order of the steps.",
        of=lambda draft: draft.titles if draft.refused is None else (),
    )
    refusal = ErrorShape(
        "Why it would be refused; null: it would be accepted.", of=_refusal, null=True
    )


class BulkPreviewShape(Shape):
    """A preview of a change of many volumes, in the requested order."""

    action = Choice("The change to make to each volume.", ACTION_NAMES)
    good_count = Integer("How many volumes would be accepted.")
    items = BulkDraftShape("The outcome for each volume, if it were made.", many=True)


class BulkOutcomeShape(Shape):
    """The outcome for one volume."""

    volume = Ref("The volume.")
    job = Ref("Null: none was needed, or it has not started.", null=True)
    state = Text("not_begun, refused, done, or the state of the job.")
    message = Text("The outcome, as a sentence for people.")


class BulkChangeShape(Noun):
    """One change of many volumes; lists leave `items` out. It has ended once nothing is `left` and
    every job has ended; `states` counts the volumes by state."""

    action = Choice("The change to make to each volume.", EVERY_ACTION)
    actor = By("actor.email", null=True)
    created_at = DateTime("When it was created.")
    total = Integer("Number of volumes.", of=lambda change: len(change.items))
    left = Integer("Not started yet.", of="left_count")
    states = Map("How many volumes are in each state.", Integer(), required=False)
    items = BulkOutcomeShape("The outcome for each volume.", many=True, required=False)


class BulkResource(Resource):
    """Of changes of many volumes."""

    read_scope = Scope.JOBS_READ
    write_scope = Scope.VOLUMES
    staff_only = True

    def changes(self) -> QuerySet[BulkChange]:
        """Those that the person may see."""
        return BulkChange.objects.all().visible_to(self.user).select_related("actor")

    def change(self, key: str) -> BulkChange:
        """The one of this key."""
        return get_object_or_404(self.changes(), key=key)

    def outcome(self, change: BulkChange, status: int = 200) -> Response:
        """The change with its volumes."""
        items = _outcomes(change)
        states = Counter(each["state"] for each in items)
        return self.shown(change, status, items=items, states=states)


class BulkChanges(BulkResource):
    """Changes of many volumes."""

    preview_scope = Scope.PREVIEW
    listing: ClassVar = Listing("bulk", BulkChangeShape, newest_first=True)

    @operation("bulk_changes_list", "List changes of many volumes", listing)
    def get(self, request: Request) -> Response:
        """Newest first; kept for 30 days."""
        return self.page(self.changes())

    @operation(
        "bulk_change_make",
        "Change many volumes",
        {
            200: (BulkPreviewShape, "With `dry_run`."),
            202: (BulkChangeShape, "A worker makes the change; Location shows the progress."),
        },
        body=BulkBody,
        parameters=(DRY_RUN,),
    )
    def post(self, request: Request) -> Response:
        """For operators. Volumes that cannot be changed are left out, each with its reason in the
        preview. Every volume gets a job of its own, which stops before its first command where the
        host has changed since."""
        self.demand(Right.OPERATE)
        values = self.read()
        asked = self._asked(values)
        rows = snapshots_of(self._chosen(values["volumes"]))
        reserved, busy = bulk.reserved_by_group(rows), bulk.blocking_jobs(rows)
        planned = drafts(rows, asked, reserved, timezone.now(), busy)
        good = [each for each in planned if each.refused is None]
        if DRY_RUN.of(request):
            return self.shown(
                {"action": values["action"], "good_count": len(good), "items": planned}
            )
        sealed = bulk.sign_drafts(asked.action, asked.option_key, good, self.user.pk)
        change = bulk.begin_bulk(bulk.signed_drafts(sealed, self.user.pk), self.requester)
        answer = self.outcome(change, status=202)
        answer["Location"] = url_of(change)
        return answer

    def _asked(self, values: Json) -> BulkRequest:
        key = values.get("cache_plan")
        asked = BulkRequest(
            Action(values["action"]),
            customer_of(values.get("customer"), self.user),
            plan_on_offer(self.user, key) if key else None,
            values.get("mode", ""),
        )
        asked.check()
        return asked

    def _chosen(self, keys: list[str]) -> list[Volume]:
        places = {key: n for n, key in enumerate(keys)}
        some = Volume.objects.visible_to(self.user).existing().filter(key__in=keys)
        volumes = list(some.select_related("customer", "cache_plan"))
        if len(volumes) != len(places):
            raise unfit("volumes", "Some of these volumes do not exist.")
        return sorted(volumes, key=lambda volume: places[volume.key])


class OneBulkChange(BulkResource):
    """One change of many volumes."""

    @operation("bulk_change", "Show the progress of a change of many volumes", BulkChangeShape)
    def get(self, request: Request, key: str) -> Response:
        """With every volume and its job."""
        return self.outcome(self.change(key))


class BulkChangeCancel(BulkResource):
    """The end of a change before all volumes were begun."""

    @operation(
        "bulk_change_cancel", "Stop a change of many volumes", BulkChangeShape, problems=(409,)
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. Starts no further job. Running jobs continue; cancel them one by one."""
        change = self.change(key)
        self.demand(Right.OPERATE)
        if not bulk.cancel_bulk(change, str(self.user)):
            raise ApiProblem(
                409, "too_late", "Every volume has already been started.", "Cancel the jobs."
            )
        return self.outcome(self.change(key))


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
        items.append({"volume": volume, "job": job, "state": state, "message": message})
    for key, *_ in change.items[len(change.outcomes) :]:
        volume = ref("api-volume", key, labels.get(key, key))
        items.append({"volume": volume, "job": None, "state": "not_begun", "message": ""})
    return items

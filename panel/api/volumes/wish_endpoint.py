"""The wish of a volume: what it should be."""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.queue.job_windows import HOSTS, Chosen
from jobs.queue.submit import Busy, holder_of
from panel.api.framework.api_operations import DRY_RUN, operation
from panel.api.framework.bodies import Body
from panel.api.framework.entity_tags import IF_MATCH, demand_unchanged, entity_tag
from panel.api.framework.fields import Boolean, Choice, Integer, Text
from panel.api.framework.parameters import Header
from panel.api.framework.shape import Json, show
from panel.api.jobs.job_shape import JobShape
from panel.api.jobs.wait_for_job import WAIT
from panel.api.jobs.window_shapes import DailyWindowBody, window_of
from panel.api.volumes import wish_changes as wishes
from panel.api.volumes.volume_resource import work_of
from panel.api.volumes.volume_work import VolumeJob
from panel.api.volumes.wish_changes import WHENS
from panel.api.volumes.wish_shapes import (
    LIVES,
    MODES,
    ShownVolume,
    VolumeWork,
    WishNow,
    WithSettings,
)
from panel.models import Scope
from storage.access import Right, is_staff
from storage.models import Volume
from storage.planner.technologies.technology import Setting, Technology
from storage.planner.wish import MAX_BYTES, Wish
from storage.row_locks import hold_one
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

MEASURED: Final = ("is_met", "last_job")
"""Of a wish: what no request says, and what changes while one is fulfilled."""
PUT_ANSWER: Final = PolymorphicProxySerializer(
    component_name="WishAnswer",
    serializers={"wish": WishNow, "job": JobShape},
    resource_type_field_name="object",
)
ANSWERS: Final[dict[int, Any]] = {
    200: (
        PUT_ANSWER,
        "The wish is already met; or, with `wait`, the job (JobShape) once it has ended. Its "
        "`state` "
        "says how it ended.",
    ),
    202: (JobShape, "A job fulfils the wish. Location names the job."),
}
IF_UNCHANGED: Final = Header(
    IF_MATCH,
    "The ETag of the wish that you read. The answer is 412 if the wish has changed since.",
)


class WishCache(Body, WithSettings):
    """The desired cache."""

    size_bytes = Integer("Rounded up to whole extents of the volume group.", min_value=1)
    mode = Choice(
        "Default: the mode of the current cache, or writethrough for a first cache. "
        "writearound is available only with bcache.",
        MODES,
        required=False,
    )

    def field_of(self, technology: Technology, setting: Setting) -> Integer:
        text = f"{technology.name}: {setting.summary}"
        return Integer(text, required=False, min_value=0)


class WishBody(Body):
    """The desired state of the volume; omitted fields stay. `cache` null means none."""

    cache = WishCache("Null: no cache.", null=True, required=False)
    size_bytes = Integer(
        "The size the guest sees, rounded up to whole extents. It can only grow.",
        required=False,
        min_value=1,
        max_value=MAX_BYTES,
    )
    tier = Choice(
        "The disks that hold the volume. A volume on SSD has no cache.",
        ["hdd", "ssd"],
        required=False,
    )
    flushed = Boolean("Writes the cache's dirty data to the HDD, once.", default=False)
    life = Choice(
        "Without other fields. retired switches the volume off and keeps its data, live "
        "restores "
        "a retired volume, gone wipes and removes the volume for good.",
        LIVES,
        required=False,
    )
    confirm_label = Text("Required with life gone: the label of the volume.", required=False)
    when = Choice(
        "With life gone. as_soon_as_allowed: the job waits until the host no longer has "
        "to keep the volume; cancel it to keep the volume after all.",
        WHENS,
        default="now",
    )
    window = DailyWindowBody(
        "The job begins within this time of day, and its flush pauses outside of it. Null: at any "
        "time. "
        "Default for a job that flushes, removes or replaces a cache: the `cache_window` of its "
        "host.",
        null=True,
        required=False,
    )
    managed = Boolean(
        "Without other fields, always true: Tiercel manages a volume it has found.", required=False
    )

    def validate(self, attrs: Json) -> Json:
        """One thing at a time: the life of a volume, its management, or its shape."""
        shape = set(attrs) - {"life", "confirm_label", "flushed", "managed", "when", "window"}
        if attrs["when"] != "now" and attrs.get("life") != "gone":
            raise serializers.ValidationError({"when": "Only with life gone."}, "not_alone")
        alone = [name for name in ("life", "managed") if name in attrs]
        if alone and (shape or attrs["flushed"] or len(alone) > 1):
            raise serializers.ValidationError({alone[0]: "Send this field alone."}, "not_alone")
        if not attrs.get("managed", True):
            message = "A managed volume cannot be released; destroy it instead."
            raise serializers.ValidationError({"managed": message}, "unsupported")
        if not alone and not shape:
            error = serializers.ErrorDetail("This field is required.", "required")
            raise serializers.ValidationError({"cache": error})
        return attrs


class VolumeWish(VolumeJob):
    """The desired state of a volume."""

    other_scopes = (Scope.DESTROY,)
    checks_version = True

    @operation("wish", "Show the wish of a volume", WishNow, problems=(409,))
    def get(self, request: Request, key: str) -> Response:
        """The state of the volume or, while a job changes it, the state that the job works towards.
        Send the ETag as If-Match."""
        data = self._now(self.row(key))
        return Response(data, headers={"ETag": entity_tag(data, MEASURED)})

    @operation(
        "wish_put",
        "Set the wish of a volume",
        ANSWERS,
        body=WishBody,
        parameters=(DRY_RUN, WAIT, IF_UNCHANGED),
        problems=(409, 412),
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. `{"cache": {"size_bytes": …, "mode": …}}`, or `{"cache": null}` for none;
        `{"size_bytes": …}` for a larger volume and `{"tier": "ssd"}` to move it, while it is used;
        `{"life": "retired"}` to switch the volume off, `{"life": "live"}` to restore it, and for
        admins `{"life": "gone", "confirm_label": …}` to destroy it; `{"managed": true}` for a found
        volume. `POST /jobs/{key}/apply` carries out a dry run.
        If a job already fulfils the wish, the answer is that job."""
        volume = self.volume(key, Right.OPERATE)
        body = self.read()
        if body.get("life") == "gone":
            self.demand(Right.ADMINISTER)
            if not self.is_dry:
                self.demand_scope(Scope.DESTROY)
        return self._put(volume, body)

    def finished(self, answer: Response) -> Response:
        """With the version that the wish has then."""
        final = super().finished(answer)
        final["ETag"] = entity_tag(self._now(self.row(self.kwargs["key"])), MEASURED)
        return final

    def _now(self, row: VolumeSnapshot) -> Json:
        work = work_of([row.volume], with_last=True).get(row.volume.pk, VolumeWork())
        return show(WishNow, ShownVolume(row, work), staff=is_staff(self.user))

    @transaction.atomic
    def _put(self, volume: Volume, body: Json) -> Response:
        # One wish at a time, so that the second one meets the job of the first.
        row = snapshots_of([hold_one(volume)])[0]
        standing = holder_of(volume)
        demand_unchanged(self.request, entity_tag(self._now(row), MEASURED))
        holder = None if self.is_dry else standing
        if holder is not None:
            wish = Wish.from_json(holder.wish)
            goes_back = holder.is_rolling_back or holder.cancel_requested
            if goes_back or not _meets(row, wish, body):
                raise Busy(holder)
            return self.begun(holder)
        change = _change(row, body)
        if change is None:
            # The volume already has the requested state, even if the last job failed.
            return Response({**self._now(row), "is_met": True})
        if not self.is_dry:
            self.demand_scope_to(change.kind)
        window: Chosen = window_of(body["window"]) if "window" in body else HOSTS
        return self.begun(
            self.submitted(volume, change.kind, change.wish, change.not_before, window)
        )


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

"""Volumes: lists, records, figures now and over time; new volumes."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial, reduce
from operator import or_
from typing import Any, ClassVar, Final

from django.db import transaction
from django.db.models import Case, FloatField, Q, When
from django.db.models.functions import Cast
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.queue.submit import Busy, create_volume, discard_record, holder_of
from panel.api.customers.customer_endpoints import customer_of
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, check_instance, save, unfit
from panel.api.framework.fields import Integer
from panel.api.framework.parameters import OneOf, Parameter, SomeOf, Truth
from panel.api.framework.shape import Json
from panel.api.jobs.job_work import JobWork, work
from panel.api.volumes.volume_resource import (
    STATES,
    NewVolumeBody,
    VolumeBody,
    VolumeResource,
    VolumeShape,
    WatchShape,
    volumes_json,
    work_of,
)
from panel.api.volumes.wish_shapes import ShownVolume, VolumeWork
from panel.models import Scope
from storage.access import Right
from storage.analysis.heat_store import forget_heat
from storage.database_clock import database_now
from storage.discovery.host_summary import keys_with_drift
from storage.metrics import close_watch
from storage.metrics.close_watch import LONGEST
from storage.models import Customer, Placement, Volume
from storage.planner.technologies.lookup import SETTINGS, of_layout
from storage.planner.wish import LAYOUTS, BadWish, Wish
from storage.row_locks import hold_one
from storage.volumes.ownership import refusal_to_give, refusal_to_take
from storage.volumes.volume_groups import GroupChoice, groups_of

UNLISTED: Final = ("destroyed", "previewed")
"""States of what is in no list unless asked for."""
INCLUDE: Final = OneOf(
    "include", "`wish`: each volume with the answer of `GET …/wish`.", values=("wish",)
)
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
"""`Figures.waiting_reads` of the last sample; volumes without one come last."""


class WatchBody(Body):
    """How long to watch a volume closely."""

    minutes = Integer(
        "From now on.",
        required=False,
        default=60,
        min_value=1,
        max_value=int(LONGEST.total_seconds() // 60),
    )


def _changed_since(at: datetime) -> Q:
    """Its record, or what its host has of it."""
    lately = Placement.objects.filter(updated_at__gte=at)
    return Q(updated_at__gte=at) | Q(pk__in=lately.values("volume"))


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


def _on_host(text: str) -> Q:
    here = Placement.objects.filter(Q(host__key=text) | Q(host__name=text), until=None)
    return Q(pk__in=here.values("volume"))


def _of_technology(name: str) -> Q:
    return Q(layout__in=[each for each in LAYOUTS if of_layout(each).name == name])


def _has_drift(value: bool) -> Q:
    drifted = Q(key__in=keys_with_drift())
    return drifted if value else ~drifted


STATE: Final = SomeOf(
    "state",
    "Staff only.",
    lambda states: reduce(or_, map(_in_state, states)),
    staff=True,
    values=STATES,
)
FILTERS: Final = (
    Parameter("external_id", "Exact match.", "external_id"),
    Parameter("customer", "Key of a customer.", "customer__key"),
    Parameter("guest", "Part of the guest's name. Staff only.", "guest__icontains", staff=True),
    Truth(
        "has_drift",
        "Whether the last inventory differs from the record. Staff only.",
        _has_drift,
        staff=True,
    ),
    Parameter("host", "Key or name of a host. Staff only.", _on_host, staff=True),
    STATE,
    OneOf("technology", "Staff only.", _of_technology, staff=True, values=tuple(SETTINGS)),
    INCLUDE,
)


class Volumes(JobWork, VolumeResource):
    """The volumes that the person may see."""

    preview_scope = Scope.PREVIEW
    # A dry run already makes the record.
    needs_key_for_dry_runs = True
    listing: ClassVar = Listing(
        "volumes",
        VolumeShape,
        sorts={"label": "label_order", "size_bytes": "size_bytes", "waiting_reads": WAITING},
        searched=("label", "external_id"),
        staff_searched=("note",),
        search_text="Part of the label or the external id, for staff also of the note.",
        updated=_changed_since,
        by_keys=True,
        filters=FILTERS,
    )

    @operation("volumes_list", "List volumes", listing)
    def get(self, request: Request) -> Response:
        """`sort=-waiting_reads` lists the volumes whose guests currently wait most for reads first.
        This order changes between pages: request all that you need in one page."""
        rows = self.volumes()
        if not set(STATE.of(request) or ()) & set(UNLISTED):
            rows = rows.existing()
        with_wish = INCLUDE.of(request) is not None
        return self.page(rows, partial(volumes_json, user=self.user, with_wish=with_wish))

    @work(
        "volume_make",
        "Create a volume",
        "A job creates the volume. Location names the job.",
        body=NewVolumeBody,
    )
    def post(self, request: Request) -> Response:
        """For operators. A dry run already creates the record, because its commands contain the
        name. `POST /jobs/{key}/apply` creates the volume, `DELETE` on the volume removes the
        record."""
        self.demand(Right.OPERATE)
        return self.begun(self._made(self.read()))

    def _made(self, values: Json) -> Job:
        """The job that makes a volume of the `values` of `NewVolumeBody`."""
        group = self._group(values["host"], values["vg"])
        try:
            wish = Wish(values["size_bytes"], values["tier"], values["layout"])
        except BadWish as error:
            raise unfit("size_bytes", str(error)) from None
        volume = Volume(
            label=values["label"],
            customer=customer_of(values["customer"], self.user),
            external_id=values["external_id"],
            layout=wish.layout,
            size_bytes=wish.size_bytes,
        )
        check_instance(volume)
        return create_volume(volume, group, wish, self.requester, dry_run=self.is_dry)

    def _group(self, host: str, vg: str) -> GroupChoice:
        groups = [each for each in groups_of(self.user).values() if each.host.key == host]
        if not groups:
            raise unfit("host", "No host of this key lets Tiercel make volumes.", "unknown")
        group = next((each for each in groups if each.vg_name == vg), None)
        if group is None:
            names = ", ".join(each.vg_name for each in groups)
            raise unfit("vg", f"This host lets Tiercel make volumes in {names}.", "unknown")
        return group


class OneVolume(VolumeResource):
    """One volume."""

    # Of a volume: what no change of its record says.
    measured = ("figures", "job", "wish", "updated_at")

    @operation("volume", "Show a volume", VolumeShape, parameters=(INCLUDE,))
    def get(self, request: Request, key: str) -> Response:
        """The volume as of the last inventory and sample."""
        row, with_wish = self.row(key), INCLUDE.of(request) is not None
        work = work_of([row.volume], with_last=with_wish).get(row.volume.pk, VolumeWork())
        shown = ShownVolume(row, work)
        given: dict[str, Any] = {"wish": shown} if with_wish else {}
        return self.shown(shown, **given)

    @operation(
        "volume_change",
        "Change a volume's record",
        VolumeShape,
        body=VolumeBody,
        problems=(409,),
    )
    def patch(self, request: Request, key: str) -> Response:
        """Changes label, customer, external ID, note and whether heat is counted. Nothing of the
        volume on its host changes. To give a volume to another customer, set the customer to null
        first. Not possible while a job changes the volume."""
        unlocked = self.volume(key, Right.OPERATE)
        values = self.read()
        with transaction.atomic():
            volume = hold_one(unlocked, against_jobs=True)
            if "customer" in values:
                values["customer"] = customer_of(values["customer"], self.user)
                _demand_movable(volume, values["customer"])
            save(volume, values, fields=tuple(values))
            if not volume.counts_heat:
                forget_heat(volume)
        return self.get(request, key)

    @operation(
        "volume_discard",
        "Remove the record of a volume that was only previewed",
        problems=(409, 422),
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Removes the record of a dry run. To destroy a volume, see `life` of its
        wish."""
        discard_record(self.volume(key, Right.OPERATE))
        return Response(status=204)


class VolumeWatch(VolumeResource):
    """Watching a volume closely."""

    @operation(
        "volume_watch", "Watch a volume closely", WatchShape, body=WatchBody, problems=(409,)
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. For `minutes`, the panel samples the volume every ten seconds instead of
        every minute. At most 16 volumes of a host."""
        volume = self.volume(key, Right.OPERATE)
        values, now = self.read(), database_now()
        until = now + timedelta(minutes=values["minutes"])
        close_watch.begin_close_watch(volume, until, now)
        return self.shown({"watched_until": until})

    @operation("volume_watch_end", "End the close watch of a volume")
    def delete(self, request: Request, key: str) -> Response:
        """For operators. Also succeeds if the volume is not watched."""
        close_watch.end_close_watch(self.volume(key, Right.OPERATE))
        return Response(status=204)


def _demand_movable(volume: Volume, customer: Customer | None) -> None:
    """Raise `Busy` or `Refused` where the volume cannot move to the customer, or to none."""
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

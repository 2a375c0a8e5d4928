"""A volume as the API shows it. Fields for staff only are missing for everybody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.shortcuts import get_object_or_404

from jobs.models import Job
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Boolean, Choice, DateTime, Float, Integer, Lines, Text
from panel.api.framework.refs import Ref, url_of
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Json, Shape, show
from panel.api.volumes.wish_shapes import (
    TIERS,
    CacheNow,
    ShownVolume,
    VolumeWork,
    WishNow,
    cache_now,
)
from panel.models import Scope
from storage.access import Person, Right, is_staff
from storage.health.drift import differences_of
from storage.models import Volume
from storage.models.key_sets import any_of
from storage.models.volume import NOTE_LIMIT, VolumeQuerySet
from storage.planner.technologies.lookup import SETTINGS
from storage.planner.wish import LAYOUTS, MAX_BYTES
from storage.volumes.slow_limit import LimitOf
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

STATES = ("managed", "found", "planned", "previewed", "missing", "retired", "destroyed")


class FiguresShape(Shape):
    """The last measured interval; null where unknown."""

    at = DateTime("When it happened.")
    read_iops = Float("Reads a second.", null=True)
    write_iops = Float("Writes a second.", null=True)
    read_ms = Float("Milliseconds that a read took on average.", null=True)
    hit_rate = Float("Share of reads served by the cache, 0 to 1.", null=True)
    waiting_reads = Float("Average number of waiting reads: how much its guest waits.", null=True)


class DifferenceShape(Shape):
    """One thing that is not as recorded."""

    what = Text("What differs.")
    recorded = Text("As the panel recorded it.")
    found = Text("As the host has it.")


class SlowLimitShape(Shape):
    """From which average read time on a volume is slow: the nearest limit holds."""

    ms = Integer("Milliseconds of a read, on average.")
    of = Choice("The object that has the limit.", [each.value for each in LimitOf])
    name = Text("Name of the plan or tag that has it; otherwise empty.")


class WatchShape(Shape):
    """A volume that is watched closely: an interval every ten seconds."""

    watched_until = DateTime("When it ends.")


def _updated_at(shown: ShownVolume) -> datetime:
    volume, placement = shown.volume, shown.row.placement
    return volume.updated_at if placement is None else max(volume.updated_at, placement.updated_at)


def state_of(row: VolumeSnapshot) -> str:
    """One of `STATES`."""
    if row.volume.destroyed_at is not None:
        return "destroyed"
    if row.volume.previewed_at is not None:
        return "previewed"
    if row.placement is None or row.placement.missing_since is not None:
        return "missing"
    if row.volume.retired_at is not None:
        return "retired"
    if row.placement.lv_uuid is None:
        return "planned"
    return "managed" if row.volume.managed else "found"


class VolumeShape(Shape):
    """A volume. Fields after `updated_at` are for staff, except `wish`."""

    key = Text("Its name in the API; it never changes.", of="volume.key")
    url = Text("Where the API shows it.", of=lambda shown: url_of(shown.volume))
    label = Text("Display name.", of="volume.label")  # type: ignore[assignment]  # a field, no attribute
    size_bytes = Integer("Bytes.", of="volume.size_bytes")
    customer = Ref("Its customer; null: none.", of="volume.customer", null=True)
    external_id = Text("Its name in your systems; empty if it has none.", of="volume.external_id")
    cache = CacheNow(
        "For staff, with the settings of its technology as it has them.", of=cache_now, null=True
    )
    cache_plan = Ref(
        "The plan that its owner pays for; null: none.", of="volume.cache_plan", null=True
    )
    figures = FiguresShape("Null where nothing was measured yet.", of="row.latest", null=True)
    created_at = DateTime("When it was created.", of="volume.created_at")
    updated_at = DateTime(
        "When its record or its state on the host last changed.", of=_updated_at, required=False
    )
    host = Ref("Null: it is on no host.", of="row.host", null=True, staff=True)
    vg = Text("Its volume group on the host.", of="row.placement.vg_name", staff=True)
    lv = Text("Its logical volume on the host.", of="row.placement.lv_name", staff=True)
    technology = Choice(
        "Technology of its cache, or of the cache that it can have.",
        SETTINGS,
        of="row.technology.name",
        staff=True,
    )
    layout = Choice(
        "Layout of its data on the host; it never changes.",
        LAYOUTS,
        of="volume.layout",
        staff=True,
    )
    tier = Choice("null: it is not on its host.", TIERS, of="row.wish.tier", null=True, staff=True)
    state = Choice("Its current state.", STATES, of=lambda shown: state_of(shown.row), staff=True)
    guest = Text(
        "The virtual machine and the disk in it, as the host names them.",
        of="volume.guest",
        staff=True,
    )
    note = Lines("Note by staff.", of="volume.note", staff=True)
    adopted_at = DateTime(
        "When it was adopted; null if Tiercel created it or it is unmanaged.",
        of="volume.adopted_at",
        null=True,
        staff=True,
    )
    retired_at = DateTime(
        "When it was switched off; null: it is in use.",
        of="volume.retired_at",
        null=True,
        staff=True,
    )
    undo_until = DateTime(
        "Until then a retired volume cannot be destroyed, only restored.",
        of="row.undo_until",
        null=True,
        staff=True,
    )
    slow_limit = SlowLimitShape(
        "Average read time from which it is slow.", of="row.slow_limit", staff=True
    )
    watched_until = DateTime(
        "End of its close watch.", of="volume.watched_until", null=True, staff=True
    )
    counts_heat = Boolean(
        "Whether its host may count how soon its data is used again.", of="volume.counts_heat"
    )
    job = Ref("The job that currently changes it.", of="work.holder", null=True, staff=True)
    wish = WishNow("With `include=wish`.", required=False)
    drift = DifferenceShape(
        "Differences between the host and the record, also while a job changes the volume.",
        of=lambda shown: differences_of(shown.row),
        many=True,
        staff=True,
    )


class NewVolumeBody(Body):
    """A volume that does not exist yet."""

    shows = VolumeShape
    label = Text(max_length=200)  # type: ignore[assignment]  # a field, no attribute
    host = Text("Key of the host.")
    vg = Text("A volume group of the host that root allows Tiercel to change.")
    size_bytes = Integer("Rounded up to whole extents.", min_value=1, max_value=MAX_BYTES)
    tier = Choice("The disks that hold it.", TIERS, default="hdd")
    layout = Choice(
        "Cannot be changed later. plain can have an lvmcache; bcache is formatted for a bcache.",
        LAYOUTS,
        default="plain",
    )
    customer = Text("Key of the customer. Null: no customer.", null=True, default=None)
    external_id = Text(allow_blank=True, default="", max_length=64)


class VolumeBody(Body):
    """The record of a volume; the host is not changed."""

    shows = VolumeShape
    label = Text(required=False, max_length=200)  # type: ignore[assignment]  # a field, no attribute
    customer = Text("Key of the customer. Null: no customer.", required=False, null=True)
    external_id = Text(required=False, allow_blank=True, max_length=64)
    counts_heat = Boolean("False also deletes the counts.", required=False)
    note = Lines(required=False, allow_blank=True, max_length=NOTE_LIMIT)


def work_of(volumes: Iterable[Volume], *, with_last: bool) -> dict[int, VolumeWork]:
    """By primary key of the volume; one query for all of them, or two."""
    jobs = Job.objects.filter(volume__in=any_of(each.pk for each in volumes), dry_run=False)
    holders = {job.volume_id: job for job in jobs.unfinished()}
    ended = jobs.order_by("volume_id", "-id").distinct("volume_id") if with_last else ()
    last = {job.volume_id: job for job in ended}
    return {
        pk: VolumeWork(holders.get(pk), last.get(pk)) for pk in {*holders, *last} if pk is not None
    }


def volumes_json(
    volumes: Iterable[Volume], user: Person, *, with_wish: bool = False
) -> Iterator[Json]:
    """Each volume as the person sees it."""
    listed, staff = list(volumes), is_staff(user)
    work = work_of(listed, with_last=with_wish) if staff or with_wish else {}
    for row in snapshots_of(listed):
        shown = ShownVolume(row, work.get(row.volume.pk, VolumeWork()))
        given: Json = {"wish": shown} if with_wish else {}
        yield show(VolumeShape, shown, staff=staff, **given)


class VolumeResource(Resource):
    """Of volumes."""

    read_scope = Scope.VOLUMES_READ
    write_scope = Scope.VOLUMES

    def volumes(self) -> VolumeQuerySet:
        """What the person may see; customers have nothing that is switched off."""
        volumes = Volume.objects.visible_to(self.user).select_related("customer", "cache_plan")
        return volumes if is_staff(self.user) else volumes.in_service()

    def volume(self, key: str, right: Right | None = None) -> Volume:
        """The volume with this key; demands the right, if one is given."""
        volume = get_object_or_404(self.volumes(), key=key)
        if right is not None:
            self.demand(right)
        return volume

    def row(self, key: str, right: Right | None = None) -> VolumeSnapshot:
        """The same, with what its host says of it."""
        return snapshots_of([self.volume(key, right)])[0]

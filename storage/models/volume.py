"""A customer's volume, and its placements. Samples and jobs belong to the volume, so that a volume
that moves keeps its history."""

from __future__ import annotations

from typing import Final, Self

import pghistory
from django.db import models
from django.db.models.functions import Now

from storage.access import ORDERING_ROLES, Person, is_staff, member
from storage.compiled_query import CompiledQuery
from storage.database_clock import touched
from storage.models.cacheplan import CachePlan
from storage.models.customer import Customer
from storage.models.host import Host
from storage.name_validators import demand_lines, demand_name
from storage.naming import new_key
from storage.natural_order import natural_order
from storage.planner.draft import Target
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.planner.wish import Wish

NOTE_LIMIT: Final = 2000


class VolumeQuerySet(models.QuerySet["Volume"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to volumes: staff see all, members their customer's."""
        return self if is_staff(user) else self.filter(member(user, "customer__members"))

    def orderable_by(self, user: Person) -> Self:
        """Volumes whose cache plan the person may change as a member of their customer."""
        return self.filter(member(user, "customer__members", role__in=ORDERING_ROLES))

    def existing(self) -> Self:
        """Without those that were destroyed, or only ever previewed."""
        return self.filter(destroyed_at=None, previewed_at=None)

    def in_service(self) -> Self:
        """Those a customer has: neither retired nor destroyed."""
        return self.existing().filter(retired_at=None)

    def placed_on(self, host: Host) -> Self:
        return self.filter(placement__host=host, placement__until=None)


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    # Who uses it changes with every guest that starts or stops; of a preview no history is kept.
    exclude=["guest", "previewed_at", "label_order", "updated_at"],
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class Volume(models.Model):
    """`managed` is True once the LV carries our tag; every public LV found on a host has a row,
    managed or not. `wish` is what it should be (`storage.planner.wish`), empty before any request.
    `adopted_at` is when a person adopted a found volume (null for one that Tiercel created);
    `external_id` is the billing system's name for it, "" where it has none; `guest` is who the
    host said uses it (`web12 · vdb`); `cache_plan` is what the customer pays for, null for none.
    `retired_at` is since when the host has it switched off under another name, ready to be
    restored; `destroyed_at` when it was wiped and removed. The row stays, for the history.
    `previewed_at` is set while there is but a preview of its creation, whose commands have its
    name: no one requested it yet, it holds no external id, and it is deleted with the preview.
    `watched_until` is how long staff watch it closely (`storage.metrics.close_watch`), null or past
    for one they do not. `counts_heat`: its host may count how soon its data are used again
    (`storage.analysis.heat_store`); its customer may forbid it.
    for one they do not.
    `note` is what staff write down about it; customers never see it.
    `updated_at` is kept by the database.
    """

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    customer = models.ForeignKey(
        Customer,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="volumes",
    )
    label = models.CharField(max_length=200, validators=[demand_name])
    label_order = natural_order("label")
    layout = models.CharField(
        max_length=8,
        choices=tuple((each.layout, each.layout_label) for each in TECHNOLOGIES),
        default=TECHNOLOGIES[0].layout,
    )
    managed = models.BooleanField(default=False)
    size_bytes = models.BigIntegerField()
    wish = models.JSONField(default=dict, blank=True)
    adopted_at = models.DateTimeField(null=True, blank=True)
    external_id = models.CharField(max_length=64, blank=True, validators=[demand_name])
    note = models.CharField(max_length=NOTE_LIMIT, blank=True, validators=[demand_lines])
    guest = models.CharField(max_length=200, blank=True)
    cache_plan = models.ForeignKey(
        CachePlan, null=True, blank=True, on_delete=models.PROTECT, related_name="volumes"
    )
    retired_at = models.DateTimeField(null=True, blank=True)
    destroyed_at = models.DateTimeField(null=True, blank=True)
    previewed_at = models.DateTimeField(null=True, blank=True)
    watched_until = models.DateTimeField(null=True, blank=True)
    counts_heat = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = VolumeQuerySet.as_manager()

    class Meta:
        ordering = ("label_order", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(size_bytes__gt=0), name="volume_size_positive"
            ),
            models.UniqueConstraint(
                fields=("external_id",),
                condition=~models.Q(external_id="") & models.Q(previewed_at=None),
                name="volume_external_id_once",
                violation_error_message="Another volume has this external id.",
                violation_error_code="external_id_taken",
            ),
        )
        indexes = (
            models.Index(fields=("label_order", "id"), name="volume_natural_order"),
            models.Index(
                fields=("watched_until",),
                condition=~models.Q(watched_until=None),
                name="volume_watched_until",
            ),
            models.Index(fields=("updated_at",), name="volume_updated"),
            models.Index(fields=("created_at", "key"), name="volume_oldest"),
        )
        # The database knows the order of labels only once the row is written.
        triggers = (touched("volume_touched", "label_order", "watched_until"),)

    def __str__(self) -> str:
        return self.label

    @property
    def current_wish(self) -> Wish | None:
        return Wish.from_json(self.wish) if self.wish else None

    @property
    def placed(self) -> Placement | None:
        """Where it lies now. Its host comes without its reports."""
        placement = _PLACED.first(self.pk)
        if placement is not None:
            placement.volume = self
        return placement


class Placement(models.Model):
    """Where a volume lies, from `since` to `until` (null = now). `lv_uuid` is null until the LV
    exists. The uuids are the identity; the names are what commands need. `missing_since` is when
    an inventory first came without the LV (drift), null while it is there; `retired_seen_at` when
    one first showed it retired, by the database's clock, null while it is in service. `cache_*` is
    what the last inventory said of its cache, for lists that cannot read every inventory:
    technology and mode are "" and the size null without one; `cache_trouble` is "" or one
    sentence."""

    volume = models.ForeignKey(Volume, on_delete=models.CASCADE)
    host = models.ForeignKey(Host, on_delete=models.PROTECT)
    vg_name = models.CharField(max_length=127)
    vg_uuid = models.CharField(max_length=38)
    lv_name = models.CharField(max_length=127)
    lv_uuid = models.CharField(max_length=38, null=True, blank=True)  # noqa: DJ001 - unique when set
    since = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField(null=True, blank=True)
    missing_since = models.DateTimeField(null=True, blank=True)
    retired_seen_at = models.DateTimeField(null=True, blank=True)
    cache_technology = models.CharField(max_length=8, blank=True, default="", db_default="")
    cache_mode = models.CharField(max_length=32, blank=True, default="", db_default="")
    cache_bytes = models.BigIntegerField(null=True, blank=True)
    cache_trouble = models.CharField(max_length=200, blank=True, default="", db_default="")
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("volume",),
                condition=models.Q(until=None),
                name="placement_one_now",
            ),
            models.UniqueConstraint(
                fields=("host", "lv_uuid"),
                condition=models.Q(until=None),
                name="placement_lv_once",
            ),
        )
        indexes = (
            models.Index(
                fields=("host",),
                condition=models.Q(until=None, missing_since__isnull=False),
                name="placement_missing",
            ),
            models.Index(fields=("updated_at",), name="placement_updated"),
        )
        triggers = (touched("placement_touched"),)

    def __str__(self) -> str:
        return f"{self.vg_name}/{self.lv_name} on {self.host}"

    @property
    def target(self) -> Target:
        """What a plan for the volume aims at."""
        return Target(self.volume.key, self.vg_uuid, self.vg_name, self.lv_name, self.lv_uuid)


def _placed(volume_id: int) -> models.QuerySet[Placement]:
    placements = Placement.objects.select_related("host").defer("host__facts", "host__hello")
    return placements.filter(volume=volume_id, until=None)


_PLACED = CompiledQuery(Placement, _placed)

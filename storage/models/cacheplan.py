"""Cache plans for sale: a cache of some size and mode, for a price."""

from __future__ import annotations

from typing import Self

import pghistory
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from storage.access import Person, is_staff
from storage.byte_sizes import MIB
from storage.currency import not_iso
from storage.models.host import MOST_SLOW_MS
from storage.name_validators import demand_name, demand_plain
from storage.naming import new_key
from storage.planner.wish import LVMCACHE_MIN_BYTES, MAX_BYTES


class CachePlanQuerySet(models.QuerySet["CachePlan"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to cache plans: customers see those on offer."""
        if is_staff(user):
            return self
        return self.filter(on_offer=True) if user.is_authenticated else self.none()


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class CachePlan(models.Model):
    """Either `size_bytes`, or `ratio_percent` of the volume. `tier` is that of the volumes it is
    for. Reads of them that take `slow_read_ms` on average are slow (null: another limit holds,
    `storage.volumes.slow_limit`). The price is per month, in minor units (cents) of `currency`
    (ISO 4217). `hosts` offer it; none = every host does. `descriptions` has the description in
    other languages, by their codes.
    """

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=64, unique=True, validators=[demand_name])
    description = models.CharField(max_length=200, blank=True, validators=[demand_plain])
    descriptions = models.JSONField(default=dict, blank=True)
    size_bytes = models.BigIntegerField(null=True, blank=True)
    ratio_percent = models.PositiveIntegerField(null=True, blank=True)
    mode = models.CharField(
        max_length=12,
        choices=[(mode, mode) for mode in ("writethrough", "writeback")],
        default="writethrough",
    )
    tier = models.CharField(max_length=4, choices=[("hdd", "slow disks")], default="hdd")
    price_minor = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    slow_read_ms = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_SLOW_MS)],
    )
    on_offer = models.BooleanField(default=True)
    hosts = models.ManyToManyField("storage.Host", blank=True, related_name="cache_plans")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CachePlanQuerySet.as_manager()

    class Meta:
        ordering = ("price_minor", "name")
        constraints = (
            models.CheckConstraint(
                # Where both are null a comparison is null too, and that passes a CHECK.
                condition=models.Q(
                    size_bytes__isnull=False, size_bytes__gt=0, ratio_percent__isnull=True
                )
                | models.Q(
                    size_bytes__isnull=True,
                    ratio_percent__isnull=False,
                    ratio_percent__gt=0,
                    ratio_percent__lte=100,
                ),
                name="cache_plan_size_or_ratio",
                violation_error_message="Enter a size or a ratio of the volume, not both.",
            ),
            models.CheckConstraint(
                condition=models.Q(price_minor__gte=0),
                name="cache_plan_price_not_negative",
                violation_error_message="Enter a price of 0 or more.",
            ),
            models.CheckConstraint(
                condition=models.Q(currency__regex="^[A-Z]{3}$"),
                name="cache_plan_currency_iso",
                violation_error_message="Enter a currency as three capital letters.",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def description_in(self, language: str | None) -> str:
        """The description in that language; where there is none, the one that every plan has."""
        return str(self.descriptions.get(language or "") or self.description)

    def clean(self) -> None:
        """What customers bought stays what it is, and a cache is never too small for LVM."""
        # A plan that is older than this rule can still be retired.
        is_as_before = CachePlan.objects.filter(pk=self.pk, currency=self.currency).exists()
        if self.currency and not is_as_before and (why := not_iso(self.currency)):
            raise ValidationError({"currency": ValidationError(why, code="not_iso")})
        before = CachePlan.objects.filter(pk=self.pk, volumes__isnull=False).first()
        bought = ("size_bytes", "ratio_percent", "mode")
        if before and any(getattr(before, name) != getattr(self, name) for name in bought):
            raise ValidationError(
                "Volumes use this plan. Create a new plan for another size or mode.", code="in_use"
            )
        if self.size_bytes and not LVMCACHE_MIN_BYTES <= self.size_bytes <= MAX_BYTES:
            raise ValidationError(
                f"A cache needs at least {LVMCACHE_MIN_BYTES // MIB} MiB.", code="out_of_range"
            )

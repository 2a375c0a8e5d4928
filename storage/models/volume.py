"""A customer's volume, and where it lies. Samples and jobs hang on the volume, so that a volume
that moves keeps its history."""

from __future__ import annotations

from typing import Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import models

from storage.access import is_staff
from storage.models.customer import Customer
from storage.models.host import Host
from storage.naming import new_key
from storage.wish import Wish


class VolumeQuerySet(models.QuerySet["Volume"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """The only way from a request to volumes."""
        return self if is_staff(user) else self.none()

    def placed_on(self, host: Host) -> Self:
        return self.filter(placement__host=host, placement__until=None)


class Volume(models.Model):
    """`managed` is True once the LV carries our tag; every public LV found on a host has a row,
    managed or not. `wish` is what it should be (`storage.wish`), empty while nobody asked."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    customer = models.ForeignKey(
        Customer,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="volumes",
    )
    label = models.CharField(max_length=200)
    layout = models.CharField(
        max_length=8,
        choices=(("plain", "plain"), ("bcache", "bcache-ready")),
        default="plain",
    )
    managed = models.BooleanField(default=False)
    size_bytes = models.BigIntegerField()
    wish = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = VolumeQuerySet.as_manager()

    class Meta:
        ordering = ("label", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(size_bytes__gt=0), name="volume_size_positive"
            ),
        )

    def __str__(self) -> str:
        return self.label

    @property
    def current_wish(self) -> Wish | None:
        return Wish.from_json(self.wish) if self.wish else None

    @property
    def placed(self) -> Placement | None:
        """Where it lies now."""
        return self.placement_set.filter(until=None).select_related("host").first()


class Placement(models.Model):
    """Where a volume lies, from `since` to `until` (null = now). `lv_uuid` is null until the LV
    exists. The uuids are the identity; the names are what commands need."""

    volume = models.ForeignKey(Volume, on_delete=models.CASCADE)
    host = models.ForeignKey(Host, on_delete=models.PROTECT)
    vg_name = models.CharField(max_length=127)
    vg_uuid = models.CharField(max_length=38)
    lv_name = models.CharField(max_length=127)
    lv_uuid = models.CharField(max_length=38, null=True, blank=True)  # noqa: DJ001 - unique when set
    since = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField(null=True, blank=True)

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

    def __str__(self) -> str:
        return f"{self.vg_name}/{self.lv_name} on {self.host}"

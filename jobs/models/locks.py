"""This panel's identity, the fencing tokens of volume groups, and the global stop."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


def new_panel() -> uuid.UUID:
    return uuid.uuid4()


class Installation(models.Model):
    """This panel, in one row: its id and, newest first, the ids of those it was restored from."""

    id = models.BooleanField(primary_key=True, default=True)
    panel = models.UUIDField(default=new_panel)
    ancestors = models.JSONField(default=list, blank=True)
    since = models.DateTimeField(db_default=Now())
    restored_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(id=True), name="installation_once"),
        )

    def __str__(self) -> str:
        return str(self.panel)


class VgFence(models.Model):
    """Whose turn it is in a volume group: every step that is sent gets the next number, and the
    host refuses a number below the highest it has seen. `ahead` is a number that the host has seen
    and this database never gave, null for none: no step is sent until a person has looked."""

    vg_uuid = models.CharField(max_length=38, primary_key=True)
    fence = models.BigIntegerField(default=0)
    ahead = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.vg_uuid}: {self.fence}"


class HaltQuerySet(models.QuerySet["Halt"]):
    def active(self) -> Halt | None:
        """The global stop with who ordered it; None while there is none. One query."""
        return self.select_related("actor").only("since", "reason", "actor__email").first()


class Halt(models.Model):
    """The global stop: while its one row is there, no worker begins a step on any host."""

    id = models.BooleanField(primary_key=True, default=True)
    since = models.DateTimeField(db_default=Now())
    reason = models.CharField(max_length=200, blank=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    objects = HaltQuerySet.as_manager()

    class Meta:
        constraints = (models.CheckConstraint(condition=models.Q(id=True), name="halt_once"),)

    def __str__(self) -> str:
        return f"paused since {self.since}"

    @property
    def cause(self) -> str:
        """Who paused the jobs and why, to follow "All jobs are paused"; "" where neither is
        known."""
        by = f" by {self.actor}" if self.actor is not None else ""
        return f"{by}: {self.reason}" if self.reason else by

"""One change for many volumes as a person confirmed it, and how far it is."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from storage.access import Person, is_staff
from storage.naming import new_key


class BulkChangeQuerySet(models.QuerySet["BulkChange"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to bulk changes: they are the staff's."""
        return self if is_staff(user) else self.none()


class BulkChange(models.Model):
    """`items` are the volumes that were confirmed (`jobs.queue.bulk.ConfirmedVolume`), `outcomes`
    what came of the first of them, in the same order: key and label of the volume, key of the job
    or "", whether it was done, one sentence. What has no outcome yet was not begun."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    action = models.CharField(max_length=16)
    option = models.CharField(max_length=26, blank=True)
    back = models.TextField(blank=True)
    items = models.JSONField(default=list)
    outcomes = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = BulkChangeQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.action} of {len(self.items)} volumes"

    @property
    def left_count(self) -> int:
        """How many volumes were not begun."""
        return len(self.items) - len(self.outcomes)

"""One change for many volumes as a person confirmed it, and how far it is."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Func, IntegerField
from django.db.models.functions import Now

from jobs.models.job import Origin
from storage.access import Person, is_staff
from storage.models import Volume
from storage.naming import new_key
from storage.request_id import LIMIT as REQUEST_ID_LIMIT


class BulkChangeQuerySet(models.QuerySet["BulkChange"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to bulk changes: they are the staff's."""
        return self if is_staff(user) else self.none()

    def unfinished(self) -> Self:
        """Those with volumes that were not begun."""
        return self.annotate(
            item_count=Func("items", function="jsonb_array_length", output_field=IntegerField()),
            outcome_count=Func(
                "outcomes", function="jsonb_array_length", output_field=IntegerField()
            ),
        ).filter(item_count__gt=models.F("outcome_count"))


class BulkChange(models.Model):
    """`items` are the volumes that were confirmed (`jobs.queue.bulk.ConfirmedVolume`), `outcomes`
    the results of the first of them, in the same order: key and label of the volume, key of the job
    or "", whether it was done, one sentence. What has no outcome yet was not begun. `origin`,
    `token`, `address` and `request_id` record the request as those of jobs do."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    origin = models.CharField(
        max_length=8, choices=Origin.choices, default=Origin.PAGE, db_default=Origin.PAGE
    )
    token = models.CharField(max_length=64, blank=True, db_default="")
    address = models.GenericIPAddressField(null=True, blank=True)
    request_id = models.CharField(max_length=REQUEST_ID_LIMIT, blank=True, db_default="")
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

    def end(self, sentence: str) -> int:
        """Begin no further volume, each for this reason; how many they are."""
        keys = [key for key, *_ in self.items[len(self.outcomes) :]]
        labels = dict(Volume.objects.filter(key__in=keys).values_list("key", "label"))
        self.outcomes += [[key, labels.get(key, key), "", False, sentence] for key in keys]
        self.save(update_fields=["outcomes"])
        return len(keys)

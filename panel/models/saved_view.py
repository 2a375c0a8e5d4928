"""Views of lists that a person keeps: filters and order under a name."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from storage.access import Person
from storage.name_validators import demand_name

MOST_VIEWS = 30
"""Of one list and one person."""


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to views: everybody sees their own."""
        return self.filter(user=user.pk) if user.pk is not None else self.none()


class SavedView(models.Model):
    """`listing` names the list (`panel.lists.listing.ListDefinition`), `query` is the address's
    part behind the question mark."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    listing = models.CharField(max_length=16)
    name = models.CharField(max_length=60, validators=[demand_name])
    query = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("user", "listing", "name"), name="view_once_by_name"),
        )

    def __str__(self) -> str:
        return self.name

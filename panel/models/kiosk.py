"""Links to the fleet on a screen: what each shows, and to whom nothing else opens."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from storage.access import Person, Right, may
from storage.models.host import SITE_LIMIT
from storage.name_validators import demand_name
from storage.naming import new_key


class KioskLinkQuerySet(models.QuerySet["KioskLink"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request of a person to links: they are for admins."""
        return self if may(user, Right.ADMINISTER) else self.none()

    def in_force(self) -> Self:
        """Those that have not ended, by the database's clock."""
        return self.filter(models.Q(expires_at=None) | models.Q(expires_at__gt=Now()))


class KioskLink(models.Model):
    """An address that shows the fleet to everyone who has it, until `expires_at` (null: until it is
    deleted, which revokes it). Only the `digest` of its secret is kept. It shows the hosts of one
    `site` ("": all hosts), and volumes by their names only where it `shows_names`.
    `last_seen_at` is when a screen last asked, to the minute."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=60, validators=[demand_name])
    digest = models.CharField(max_length=64, unique=True, editable=False)
    site = models.CharField(max_length=SITE_LIMIT, blank=True)
    shows_names = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = KioskLinkQuerySet.as_manager()

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

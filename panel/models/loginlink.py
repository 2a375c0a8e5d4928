"""One-time links with which a billing panel signs its customer in."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class LoginLinkQuerySet(models.QuerySet["LoginLink"]):
    def open(self) -> Self:
        """Those that still let somebody in, by the database's clock."""
        customers = self.filter(user__is_active=True, user__staff_role="")
        return customers.filter(used_at=None, expires_at__gt=Now())


class LoginLink(models.Model):
    """Signs `user` in once and leads to `next_path`. Only the digest of its token is kept."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    next_path = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    objects = LoginLinkQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"login link for {self.user}"

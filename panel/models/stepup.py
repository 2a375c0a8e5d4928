"""Codes that are mailed to a person without a password, to prove again who sits at the screen."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

TRIES = 5


class StepUpCodeQuerySet(models.QuerySet["StepUpCode"]):
    def open(self) -> Self:
        """Those that still prove something, by the database's clock."""
        return self.filter(used_at=None, tries__lt=TRIES, expires_at__gt=Now())


class StepUpCode(models.Model):
    """Only a keyed digest is kept: six digits are soon guessed from a plain one. `tries` counts
    what was typed, right or wrong."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, editable=False)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    objects = StepUpCodeQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"code for {self.user}"

"""Requests that name themselves with an Idempotency-Key, and what was answered."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class IdempotentRequest(models.Model):
    """The same key of the same person on the same route is the same request: it is answered as the
    first time. `request_digest` tells another request under an old key; `status` is null while
    the first one is still being answered."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    route = models.CharField(max_length=200)
    key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.JSONField(default=dict)
    body = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "route", "key"), name="idempotency_key_once"),
        )

    def __str__(self) -> str:
        return f"{self.route} {self.key}"

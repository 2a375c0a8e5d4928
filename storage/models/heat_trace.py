"""Traces of all that a volume reads and writes for some minutes, which a person asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from storage.access import Person, is_staff
from storage.models.host import Host
from storage.models.volume import Volume
from storage.naming import new_key

MOST_MINUTES: Final = 30
"""The agent's own limit (`storage.agent.heat.requests`)."""


class TraceState(models.TextChoices):
    """wanted -> running -> done | failed | cancelled; wanted -> failed | cancelled."""

    WANTED = "wanted", "waiting for the host"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


UNFINISHED: Final = (TraceState.WANTED, TraceState.RUNNING)
TO_FOLLOW: Final = models.Q(ended_at=None) | models.Q(is_on_host=True)
"""Traces of which a worker has something to do, now or later."""


class HeatTraceQuerySet(models.QuerySet["HeatTrace"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()

    def unfinished(self) -> Self:
        return self.filter(state__in=UNFINISHED)


class HeatTrace(models.Model):
    """One trace of a `volume` on its `host`, with chunks of 4 KiB, `chunk_bytes` and 1 MiB. What
    was counted stands among the records of the day (`storage.analysis.heat_store.trace_records`).
    `until_ns` is when it ends, by the host's clock; `ends_at` by the panel's. A worker has
    something to do at `not_before`. `is_on_host`: the host may be tracing. `message` with
    `correction` is why it failed, or what is to be known of it."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    volume = models.ForeignKey(Volume, on_delete=models.CASCADE, related_name="heat_traces")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="heat_traces")
    minutes = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MOST_MINUTES)]
    )
    chunk_bytes = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=TraceState.choices, default=TraceState.WANTED)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    address = models.GenericIPAddressField(null=True, blank=True)
    origin = models.CharField(max_length=8)
    token = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    not_before = models.DateTimeField(db_default=Now())
    begun_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    until_ns = models.BigIntegerField(null=True, blank=True)
    is_on_host = models.BooleanField(default=False)
    message = models.CharField(max_length=512, blank=True)
    correction = models.CharField(max_length=512, blank=True)

    objects = HeatTraceQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(minutes__gte=1, minutes__lte=MOST_MINUTES),
                name="heat_trace_minutes",
            ),
            models.UniqueConstraint(
                fields=("volume",),
                condition=models.Q(ended_at=None),
                name="heat_trace_one_per_volume",
            ),
        )
        indexes = (
            models.Index(fields=("not_before",), condition=TO_FOLLOW, name="heat_trace_to_follow"),
        )

    def __str__(self) -> str:
        return f"trace of {self.volume}"

    @property
    def is_over(self) -> bool:
        return self.state not in UNFINISHED

    def seconds_left(self, now: datetime) -> int | None:
        """Until a running one ends, at least 0; None of others."""
        if self.state != TraceState.RUNNING or self.ends_at is None:
            return None
        return max(0, round((self.ends_at - now).total_seconds()))

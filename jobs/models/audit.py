"""The audit trail: what was requested of the hosts, by whom, and the outcome."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Origin
from storage.access import Person, is_staff
from storage.request_id import LIMIT as REQUEST_ID_LIMIT


class Phase(models.TextChoices):
    """Before an operation is sent, and after it ended."""

    INTENT = "intent", "intent"
    OUTCOME = "outcome", "outcome"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to the trail: it names hosts, so it is for staff."""
        return self if is_staff(user) else self.none()

    def about(
        self,
        *,
        host: str = "",
        volume: str = "",
        job: str = "",
        actor: str = "",
        request_id: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Self:
        """Entries that match all that is given: host and volume by key or name, the job by key,
        the actor by a part of the address of their account; before `until`."""
        entries = self
        if host:
            entries = entries.filter(models.Q(host_key=host) | models.Q(host__iexact=host))
        if volume:
            entries = entries.filter(
                models.Q(volume_key=volume) | models.Q(volume_label__iexact=volume)
            )
        if job:
            entries = entries.filter(job_key=job)
        if actor:
            entries = entries.filter(actor__icontains=actor)
        if request_id:
            entries = entries.filter(request_id=request_id)
        if since is not None:
            entries = entries.filter(at__gte=since)
        if until is not None:
            entries = entries.filter(at__lt=until)
        return entries

    def newest_first(self) -> Self:
        return self.order_by("-at", "-id")


class AuditEntry(models.Model):
    """One half of what happened to one operation: each has one intent, committed before it is
    sent, and one outcome. The database refuses to change or delete entries.

    Everything is text, so that an entry outlives the job, the account and the volume. `token` is
    the public part of an API token's name, `address` where the request came from, `request_id` the
    name of that request. `commands` is
    the agent's list `{argv, shell, rc}` of what was run (an intent has none yet); `result` is
    `{state, code?, message?}` with state done | failed | interrupted | not_started (it never
    reached the host, or the host refused it) | unknown (the host could no longer be asked), `{}`
    for an intent.
    """

    at = models.DateTimeField(db_default=Now(), editable=False)
    phase = models.CharField(max_length=8, choices=Phase.choices)
    op_id = models.UUIDField()
    job_key = models.CharField(max_length=26)
    kind = models.CharField(max_length=16)
    actor = models.CharField(max_length=254, blank=True)
    token = models.CharField(max_length=64, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    origin = models.CharField(max_length=8, choices=Origin.choices)
    request_id = models.CharField(max_length=REQUEST_ID_LIMIT, blank=True)
    host = models.CharField(max_length=64)
    host_key = models.CharField(max_length=26)
    machine_id = models.CharField(max_length=64, blank=True)
    volume_key = models.CharField(max_length=26)
    volume_label = models.CharField(max_length=200)
    vg = models.CharField(max_length=127, blank=True)
    verb = models.CharField(max_length=32)
    args = models.JSONField()
    commands = models.JSONField(default=list, blank=True)
    result = models.JSONField(default=dict, blank=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("op_id", "phase"), name="audit_phase_once"),
            models.CheckConstraint(
                condition=models.Q(phase__in=Phase.values), name="audit_phase_known"
            ),
        )
        indexes = (
            models.Index(fields=("-at", "-id"), name="audit_newest"),
            models.Index(fields=("job_key",), name="audit_job"),
            models.Index(fields=("volume_key", "-at"), name="audit_volume"),
            models.Index(fields=("host_key", "-at"), name="audit_host"),
        )

    def __str__(self) -> str:
        return f"{self.phase} of {self.verb} on {self.host}"

"""Signs of life of what works in the background: each slot of Celery's workers, and beat."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class PartKind(models.TextChoices):
    """The part of the panel that signs."""

    WORKER = "worker", "worker"
    HOUSEKEEPING = "housekeeping", "housekeeping"
    COLLECTOR = "collector", "collector"
    BEAT = "beat", "beat"


class LifeSign(models.Model):
    """The last sign of one slot: a thread that executes tasks, of the process that `process` names
    (`jobs.worker_identity`) and Celery calls `node`; beat is one slot. The process signs for its
    slots at `seen_at`, for an idle one only while messages still reach it.

    `doing` is the key of the job or the name of the task that it executes since `busy_since`, ""
    while it is idle. A busy slot proves itself otherwise: that of a job by the job's lease.
    `took_at` is when the process last took a job. `is_stopped`: it ended as it was asked to."""

    kind = models.CharField(max_length=16, choices=PartKind.choices)
    node = models.CharField(max_length=255)
    process = models.CharField(max_length=64)
    slot = models.PositiveIntegerField()
    queues = models.CharField(max_length=1000, blank=True)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField()
    doing = models.CharField(max_length=100, blank=True)
    busy_since = models.DateTimeField(null=True, blank=True)
    took_at = models.DateTimeField(null=True, blank=True)
    is_stopped = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("process", "slot"), name="life_sign_one_per_slot"),
        )

    def __str__(self) -> str:
        return f"slot {self.slot} of {self.node}"

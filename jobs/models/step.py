"""The steps of a job with the output of their commands."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Job


class StepState(models.TextChoices):
    PLANNED = "planned", "planned"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class Step(models.Model):
    """One operation of the agent. `op_id` is committed before the request is sent, so that after
    any accident the host can be asked what became of it.

    `commands` is the agent's list `{argv, shell, rc?}`; `deferred` are the checks of a preview that
    only an earlier step can satisfy, `{code, message}`; `progress` is
    `{label, done_bytes, total_bytes}` or `{}`; `output_seen` the last stored output line.
    `holds_vg`: while it runs, no other job changes the group `vg_uuid`; `fence` is the number of
    its turn there (`VgFence`). `makes_irrevocable`: the point of no return. `blocked_by` is the
    agent's code of the last blocker, `blocked_since` when the host first reported it without
    another code in between.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE)
    n = models.PositiveIntegerField()
    verb = models.CharField(max_length=32)
    args = models.JSONField()
    expect = models.JSONField()
    title = models.CharField(max_length=300)
    op_id = models.UUIDField(null=True, blank=True, unique=True)
    state = models.CharField(max_length=8, choices=StepState.choices, default=StepState.PLANNED)
    commands = models.JSONField(default=list, blank=True)
    deferred = models.JSONField(default=list, blank=True)
    progress = models.JSONField(default=dict, blank=True)
    error = models.JSONField(default=dict, blank=True)
    output_seen = models.PositiveIntegerField(default=0)
    vg_uuid = models.CharField(max_length=38, blank=True)
    holds_vg = models.BooleanField(default=False)
    fence = models.BigIntegerField(null=True, blank=True)
    makes_irrevocable = models.BooleanField(default=False)
    blocked_by = models.CharField(max_length=32, blank=True)
    blocked_since = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("job", "n")
        constraints = (
            models.UniqueConstraint(fields=("job", "n"), name="step_n_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=StepState.values), name="step_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(state=StepState.PLANNED) | models.Q(op_id__isnull=False),
                name="step_sent_has_op_id",
            ),
            models.UniqueConstraint(
                fields=("job",),
                condition=models.Q(state=StepState.RUNNING),
                name="step_one_running",
            ),
            models.UniqueConstraint(
                fields=("vg_uuid",),
                condition=models.Q(state=StepState.RUNNING, holds_vg=True),
                name="step_one_per_vg",
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def request(self) -> dict[str, Any]:
        """The step as the agent's protocol has it."""
        return {"verb": self.verb, "args": self.args, "expect": self.expect}


class Line(models.Model):
    """One line of output; `n` counts from 1 within the job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE)
    n = models.PositiveIntegerField()
    at = models.DateTimeField(db_default=Now())
    text = models.TextField()

    class Meta:
        ordering = ("job", "n")
        constraints = (models.UniqueConstraint(fields=("job", "n"), name="line_n_once"),)

    def __str__(self) -> str:
        return self.text

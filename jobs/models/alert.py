"""Alerts, what happened to each of them, and silences."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Job
from storage.access import Person, is_staff
from storage.models import Host, Volume
from storage.naming import new_key

ALL_HOSTS = "all hosts"
UNKNOWN_RANK = 3
"""Less grave than every other rank."""


class AlertEventKind(models.TextChoices):
    """What happened to an alert."""

    OPENED = "opened", "opened"
    REMAINS = "remains", "still there"
    WORSENED = "worsened", "became worse"
    FLAPPING = "flapping", "flaps"
    ESCALATED = "escalated", "escalated"
    ACKNOWLEDGED = "acknowledged", "acknowledged"
    UNACKNOWLEDGED = "unacknowledged", "acknowledgement ended"
    SILENCED = "silenced", "silenced"
    RESOLVED = "resolved", "resolved"


class AlertQuerySet(models.QuerySet["Alert"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to alerts: they are the staff's."""
        return self.filter(opened_at__isnull=False) if is_staff(user) else self.none()

    def unresolved(self) -> Self:
        """Unresolved ones, including pending ones."""
        return self.filter(resolved_at=None)

    def lasting_after(self, at: datetime) -> Self:
        """Those unresolved at that time: their messages are not deleted."""
        return self.exclude(resolved_at__lt=at)

    def open(self) -> Self:
        """Those that are open."""
        return self.filter(resolved_at=None, opened_at__isnull=False)

    def waiting(self) -> Self:
        """Open ones that are neither acknowledged nor muted: a person should look at them now."""
        return self.open().filter(acknowledged_at=None, muted_by="", cause=None)

    def of_state(self, state: str) -> Self:
        """Resolved, all, or open ones: every open one (""), or waiting, acknowledged, hushed
        (muted)."""
        if state == "all":
            return self
        if state == "resolved":
            return self.filter(resolved_at__isnull=False)
        alerts = self.open()
        if state == "waiting":
            return alerts.filter(acknowledged_at=None, muted_by="")
        if state == "acknowledged":
            return alerts.filter(acknowledged_at__isnull=False)
        return alerts.exclude(muted_by="") if state == "hushed" else alerts

    def with_names(self) -> Self:
        """With everything that a row names."""
        return self.select_related(
            "host",
            "volume",
            "job",
            "cause__host",
            "acknowledged_by",
        ).defer("host__facts", "cause__host__facts")


class Alert(models.Model):
    """A problem from its first sight to its end; `jobs.alerts.alert_transition` defines the times.
    Unresolved alerts have unique fingerprints. `message` and `correction` describe the problem as
    last seen, `rank` is 0 for data at risk, 1 for other errors, 2 for warnings; the `gravest_`
    fields are of its gravest moment. `notified_at` is the first notification, `muted_by` why it is
    muted. `host` is null where it concerns all hosts."""

    class MuteReason(models.TextChoices):
        """Why an alert sends no messages."""

        NOTHING = "", "-"
        SILENCE = "silence", "silenced"
        MAINTENANCE = "maintenance", "maintenance"

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    fingerprint = models.CharField(max_length=32)
    family = models.CharField(max_length=64)
    code = models.CharField(max_length=64, blank=True)
    severity = models.CharField(max_length=8)
    rank = models.PositiveSmallIntegerField()
    worst_rank = models.PositiveSmallIntegerField()
    host = models.ForeignKey(
        Host, null=True, blank=True, on_delete=models.CASCADE, related_name="alerts"
    )
    volume = models.ForeignKey(
        Volume, null=True, blank=True, on_delete=models.SET_NULL, related_name="alerts"
    )
    job = models.ForeignKey(
        Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="alerts"
    )
    job_error = models.CharField(max_length=64, blank=True)
    subject = models.CharField(max_length=255, blank=True)
    message = models.TextField(blank=True)
    correction = models.TextField(blank=True)
    since = models.DateTimeField(null=True, blank=True)
    count = models.PositiveIntegerField(default=1)
    gravest_rank = models.PositiveSmallIntegerField(default=UNKNOWN_RANK, db_default=UNKNOWN_RANK)
    gravest_code = models.CharField(max_length=64, blank=True, default="", db_default="")
    gravest_message = models.TextField(blank=True, default="", db_default="")
    cause = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="effects"
    )
    first_seen_at = models.DateTimeField()
    present_since = models.DateTimeField()
    absent_since = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    notified_at = models.DateTimeField(null=True, blank=True)
    last_notified_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    muted_by = models.CharField(max_length=11, blank=True, choices=MuteReason.choices)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    acknowledged_reason = models.CharField(max_length=200, blank=True)
    acknowledged_until = models.DateTimeField(null=True, blank=True)
    acknowledged_count = models.PositiveIntegerField(default=0)
    tier = models.PositiveSmallIntegerField(default=1)
    tier_at = models.DateTimeField(null=True, blank=True)
    openings = models.PositiveIntegerField(default=1)
    is_flapping = models.BooleanField(default=False)
    longest_absence = models.DurationField(default=timedelta)
    longest_presence = models.DurationField(default=timedelta)

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("fingerprint",),
                condition=models.Q(resolved_at=None),
                name="alert_once_while_it_lasts",
            ),
            models.CheckConstraint(
                condition=models.Q(muted_by__in=("", "silence", "maintenance")),
                name="alert_mute_known",
            ),
        )
        indexes = (
            models.Index(fields=("fingerprint", "-resolved_at"), name="alert_past"),
            models.Index(
                fields=("rank", "opened_at"),
                condition=models.Q(resolved_at=None),
                name="alert_unresolved",
            ),
        )

    def __str__(self) -> str:
        return f"{self.code} on {self.place}"

    @property
    def title_code(self) -> str:
        """The kind that names the alert: the gravest one, where it is known."""
        return self.gravest_code or self.code

    @property
    def shown_message(self) -> str:
        """The current problem; of a resolved alert, the problem at its gravest."""
        return (self.gravest_message if self.resolved_at is not None else "") or self.message

    @property
    def place(self) -> str:
        """The place of the problem, for people."""
        return self.host.name if self.host is not None else ALL_HOSTS


class AlertEventQuerySet(models.QuerySet["AlertEvent"]):
    def unrouted(self) -> Self:
        """Notifying events whose messages are not written yet, oldest first."""
        return self.filter(is_notified=True, routed_at=None).order_by("id")


class AlertEvent(models.Model):
    """One event of an alert; never changed, but for `routed_at`, the time when its messages were
    written. `is_notified`: its recipients are notified. `actor` is the person, null for the panel.
    `rank` and `text` are of that time."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now(), editable=False)
    kind = models.CharField(max_length=14, choices=AlertEventKind.choices)
    is_notified = models.BooleanField(default=False)
    tier = models.PositiveSmallIntegerField(default=1)
    rank = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    routed_at = models.DateTimeField(null=True, blank=True)

    objects = AlertEventQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=AlertEventKind.values), name="alert_event_known"
            ),
        )
        indexes = (
            models.Index(
                fields=("id",),
                condition=models.Q(is_notified=True, routed_at=None),
                name="alert_event_unrouted",
            ),
        )

    def __str__(self) -> str:
        return f"{self.alert}: {self.get_kind_display()}"


class SilenceQuerySet(models.QuerySet["Silence"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to silences: they are the staff's."""
        return self if is_staff(user) else self.none()

    def active(self) -> Self:
        """Active silences, by the database's clock."""
        return self.filter(until__gt=Now())


class Silence(models.Model):
    """Mutes problems that match all given terms (host, volume, code) until `until`. Their alerts
    still open. A silence that is ended early keeps its row."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    host = models.ForeignKey(
        Host, null=True, blank=True, on_delete=models.CASCADE, related_name="silences"
    )
    volume = models.ForeignKey(
        Volume, null=True, blank=True, on_delete=models.CASCADE, related_name="silences"
    )
    code = models.CharField(max_length=64, blank=True)
    reason = models.CharField(max_length=200)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    until = models.DateTimeField()
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = SilenceQuerySet.as_manager()

    class Meta:
        ordering = ("-until", "-id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(host__isnull=False)
                | models.Q(volume__isnull=False)
                | ~models.Q(code=""),
                name="silence_of_something",
            ),
        )

    def __str__(self) -> str:
        return f"silence until {self.until:%Y-%m-%d %H:%M} UTC"


class AlertRound(models.Model):
    """The time of the last round, in one row; and of the last sign of life to the dead-man's
    switch, or why it failed."""

    id = models.BooleanField(primary_key=True, default=True)
    at = models.DateTimeField()
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    heartbeat_error = models.CharField(max_length=300, blank=True, default="", db_default="")

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(id=True), name="alert_round_once"),
        )

    def __str__(self) -> str:
        return f"judged at {self.at}"

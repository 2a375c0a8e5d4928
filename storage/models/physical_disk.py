"""The disks of hosts as they describe themselves through SMART. Customers never see one."""

from __future__ import annotations

from typing import Self

import pghistory
from django.db import models

from storage.access import Person, is_staff
from storage.models.host import Host
from storage.naming import new_key

REASON_LIMIT = 200


class DiskRound(models.Model):
    """The disks of a host were last to be asked for their health at `tried_at`, the host answered
    at `answered_at`, and every disk was asked at `complete_at`; `message` says what kept all or
    some of them from it. `installed` is False on a host without smartctl."""

    host = models.OneToOneField(
        Host, on_delete=models.CASCADE, primary_key=True, related_name="disk_round"
    )
    tried_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    complete_at = models.DateTimeField(null=True)
    installed = models.BooleanField(default=True)
    version = models.CharField(max_length=80, blank=True)
    message = models.CharField(max_length=512, blank=True)

    def __str__(self) -> str:
        return f"disks of {self.host} at {self.tried_at:%Y-%m-%d %H:%M}"


class PhysicalDiskQuerySet(models.QuerySet["PhysicalDisk"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()


@pghistory.track(
    pghistory.UpdateEvent(row=pghistory.Old),
    # What people decide; the rest repeats what the disk says.
    fields=[
        "identity",
        "entered_unit_bytes",
        "entered_rated_bytes",
        "accepted_at",
        "accepted_by",
        "accepted_reason",
    ],
    model_name="PhysicalDiskEvent",
    obj_field=pghistory.ObjForeignKey(related_name="events"),
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class PhysicalDisk(models.Model):
    """A disk of a host. `identity` is its model and serial number, or its WWN; a disk that never
    said one has "@" and its place. `health` is what it said at `read_at`
    (`storage.health.smart_reading.SmartHealth`), empty before; `state` and `message` are of its
    last answer, at `asked_at`. Errors above `baseline` are new. `calibration` is what was measured
    of its counter (`storage.health.smart_endurance.Calibration`), `findings` is what is wrong with
    it, as `storage.health.host_problems.HealthFinding` with the moment it was first seen.
    `gone_since` is when a round that asked every disk first missed it; one that `may_leave` (on
    USB, or taken out of its array by a job) is not reported as gone.
    People may enter in which unit it counts, and how much it is rated for, and accept the errors
    that it has, or that it is gone: `baseline_before` is what was known until then."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="physical_disks")
    identity = models.CharField(max_length=200)
    name = models.CharField(max_length=80, blank=True)
    device = models.CharField(max_length=80)
    kind = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=16)
    message = models.CharField(max_length=512, blank=True)
    asked_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)
    gone_since = models.DateTimeField(null=True, blank=True)
    may_leave = models.BooleanField(default=False, db_default=False)
    health = models.JSONField(default=dict, blank=True)
    baseline = models.JSONField(default=dict, blank=True)
    calibration = models.JSONField(default=dict, blank=True)
    findings = models.JSONField(default=list, blank=True)
    entered_unit_bytes = models.BigIntegerField(null=True, blank=True)
    entered_rated_bytes = models.BigIntegerField(null=True, blank=True)
    baseline_before = models.JSONField(default=dict, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.CharField(max_length=254, blank=True)
    accepted_reason = models.CharField(max_length=REASON_LIMIT, blank=True)

    objects = PhysicalDiskQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["host", "identity"], name="disk_once_a_host"),
            models.CheckConstraint(
                condition=models.Q(entered_unit_bytes__isnull=True)
                | models.Q(entered_unit_bytes__gt=0),
                name="disk_unit_above_0",
            ),
            models.CheckConstraint(
                condition=models.Q(entered_rated_bytes__isnull=True)
                | models.Q(entered_rated_bytes__gt=0),
                name="disk_rating_above_0",
            ),
        )
        indexes = (
            models.Index(
                fields=("host",), condition=~models.Q(findings=[]), name="disk_with_findings"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name or self.device} of {self.host}"


class DiskReading(models.Model):
    """What one disk counted at one moment. `counter` names what `written_raw` is taken from; its
    unit is found later, so none is stored."""

    disk = models.ForeignKey(PhysicalDisk, on_delete=models.CASCADE, related_name="readings")
    at = models.DateTimeField()
    counter = models.CharField(max_length=120, blank=True)
    written_raw = models.BigIntegerField(null=True)
    used_percent = models.IntegerField(null=True)
    temperature_celsius = models.SmallIntegerField(null=True)
    error_counts = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["disk", "at"], name="disk_reading_once"),)

    def __str__(self) -> str:
        return f"{self.disk} at {self.at:%Y-%m-%d %H:%M}"

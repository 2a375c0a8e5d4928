"""What happened to hosts: another kernel, a restart, other versions, disks that came and went.
Customers never see a row."""

from __future__ import annotations

from typing import Self

from django.db import models

from storage.access import Person, is_staff
from storage.models.host import Host

TEXT_LIMIT = 200


class HostChangeKind(models.TextChoices):
    """What of a host changed. A restart into another kernel is one change of the kind `kernel`."""

    BOOT = "boot", "Restart"
    KERNEL = "kernel", "Kernel"
    AGENT = "agent", "Agent"
    LVM = "lvm", "LVM"
    BCACHE_TOOLS = "bcache_tools", "bcache-tools"
    DISK_ADDED = "disk_added", "Disk added"
    DISK_GONE = "disk_gone", "Disk gone"
    DISK_CHANGED = "disk_changed", "Disk changed"


class RestartEffect(models.TextChoices):
    """What a restart into another kernel was judged to have done to the host's I/O."""

    LOSS = "loss", "Slower"
    GAIN = "gain", "Faster"


class HostChangeQuerySet(models.QuerySet["HostChange"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()


class HostChange(models.Model):
    """One change, at the moment of the host's first report. `subject` is what changed where the
    host has several (a disk), `before` and `after` what it was; "" where there was nothing. `count`
    is how often it happened within a short time, when it is kept as one.

    A restart into another kernel is judged by the days around it: `effect` is "" where no
    difference is certain, `figures` are those of the last judgement that knew any, `judged_at` is
    the moment of the last one. `acceptance` says who lives with a loss: `at`, `by`, `reason`."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="timeline")
    at = models.DateTimeField()
    kind = models.CharField(max_length=16, choices=HostChangeKind.choices)
    subject = models.CharField(max_length=TEXT_LIMIT, blank=True)
    before = models.CharField(max_length=TEXT_LIMIT, blank=True)
    after = models.CharField(max_length=TEXT_LIMIT, blank=True)
    count = models.PositiveIntegerField(default=1)
    effect = models.CharField(max_length=8, choices=RestartEffect.choices, blank=True)
    figures = models.JSONField(default=dict, blank=True)
    judged_at = models.DateTimeField(null=True)
    acceptance = models.JSONField(default=dict, blank=True)

    objects = HostChangeQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=HostChangeKind.values), name="host_change_kind_known"
            ),
            models.CheckConstraint(
                condition=models.Q(effect__in=["", *RestartEffect.values]),
                name="host_change_effect_known",
            ),
        )
        indexes = (
            models.Index(fields=("host", "-at", "-id"), name="host_change_newest"),
            models.Index(
                fields=("host", "-at"),
                condition=~models.Q(effect=""),
                name="host_change_with_effect",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.host} at {self.at:%Y-%m-%d %H:%M}"

"""Checks of disks and arrays that people asked for: a disk's self-test, an array's comparison."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Origin
from storage.access import Person, is_staff
from storage.models import Host, PhysicalDisk
from storage.naming import new_key


class CheckKind(models.TextChoices):
    """What is checked, and how thoroughly."""

    SHORT = "short", "Short self-test"
    LONG = "long", "Long self-test"
    ARRAY = "array", "Array check"


class CheckState(models.TextChoices):
    """asked -> running -> passed | failed | stopped; asked -> refused."""

    ASKED = "asked", "waiting for the host"
    RUNNING = "running", "running"
    PASSED = "passed", "passed"
    FAILED = "failed", "failed"
    STOPPED = "stopped", "stopped"
    REFUSED = "refused", "refused"


UNFINISHED = (CheckState.ASKED, CheckState.RUNNING)


class MediaCheckQuerySet(models.QuerySet["MediaCheck"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()

    def unfinished(self) -> Self:
        return self.filter(state__in=UNFINISHED)


class MediaCheck(models.Model):
    """One check of a `disk`, or of the array called `array` (its uuid). The host runs it; the panel
    reads how far it is: `remaining_percent`, and `message` with `correction` on what came of it.
    A worker tries no sooner than `not_before`. A disk's test is told from older ones by
    `hours_before`, its hours of running then; `minutes` is how long it says that the test takes."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="media_checks")
    disk = models.ForeignKey(
        PhysicalDisk, null=True, blank=True, on_delete=models.CASCADE, related_name="checks"
    )
    array = models.CharField(max_length=32, blank=True)
    array_uuid = models.CharField(max_length=128, blank=True)
    kind = models.CharField(max_length=8, choices=CheckKind.choices)
    state = models.CharField(max_length=8, choices=CheckState.choices, default=CheckState.ASKED)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    address = models.GenericIPAddressField(null=True, blank=True)
    door = models.CharField(max_length=8, choices=Origin.choices, default=Origin.PAGE)
    token = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    not_before = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    minutes = models.PositiveIntegerField(null=True, blank=True)
    hours_before = models.BigIntegerField(null=True, blank=True)
    remaining_percent = models.PositiveSmallIntegerField(null=True, blank=True)
    message = models.CharField(max_length=512, blank=True)
    correction = models.CharField(max_length=512, blank=True)

    objects = MediaCheckQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind=CheckKind.ARRAY, disk=None)
                | (~models.Q(kind=CheckKind.ARRAY) & models.Q(disk__isnull=False)),
                name="check_of_disk_or_array",
            ),
            models.UniqueConstraint(
                fields=("disk",),
                condition=models.Q(state__in=UNFINISHED),
                name="check_one_per_disk",
            ),
            models.UniqueConstraint(
                fields=("host", "array_uuid"),
                condition=models.Q(state__in=UNFINISHED, disk=None),
                name="check_one_per_array",
            ),
        )
        indexes = (
            models.Index(
                fields=("not_before",),
                condition=models.Q(state__in=UNFINISHED),
                name="check_unfinished",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.label}"

    @property
    def label(self) -> str:
        """The disk or array."""
        return self.array if self.disk is None else self.disk.name or self.disk.device

    @property
    def is_over(self) -> bool:
        return self.state not in UNFINISHED

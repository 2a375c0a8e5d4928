"""Checks of disks and arrays that people asked for (a disk's self-test, an array's comparison), and
what readings and inventories say of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from jobs.models.job import Origin
from storage.access import Person, is_staff
from storage.database_clock import database_now
from storage.formatting import counted
from storage.health.smart_reading import SmartHealth
from storage.host_data import clean_text, decoded
from storage.inventory.facts import HostFacts
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
LATE: Final = timedelta(days=2)
"""A self-test of unknown length that shows no result by then has none."""
READING: Final = timedelta(minutes=3)
INTERRUPTED: Final = "It was interrupted: not all of the array was compared."
AGAIN: Final = "Begin another check: it compares all of the array."
INVENTORY: Final = timedelta(minutes=1)
"""What is read so soon after the beginning may have been asked before it."""


class MediaCheckQuerySet(models.QuerySet["MediaCheck"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()

    def unfinished(self) -> Self:
        return self.filter(state__in=UNFINISHED)


class MediaCheck(models.Model):
    """One check of a `disk`, or of the array called `array` (its uuid). The host runs it; the panel
    reads how far it is: `remaining_percent`, and `message` with `correction` on what came of it.
    A worker tries no sooner than `not_before`. A disk's test is distinguished from older ones
    by `hours_before`, its power-on hours at the start; `minutes` is the disk's own estimate."""

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
    origin = models.CharField(max_length=8, choices=Origin.choices, default=Origin.PAGE)
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


def move(check: MediaCheck, to: CheckState, **fields: Any) -> None:
    """From the state that it was read in."""
    for name in ("message", "correction"):
        fields[name] = clean_text(fields.get(name, ""))
    if to is not CheckState.RUNNING:
        fields |= {"ended_at": database_now(), "remaining_percent": None}
    MediaCheck.objects.filter(pk=check.pk, state=check.state).update(state=to, **fields)


def follow_tests(host: Host, now: datetime) -> None:
    """After a reading of the host's disks: how far their tests are, and what came of them."""
    running = MediaCheck.objects.filter(host=host, state=CheckState.RUNNING, disk__isnull=False)
    for check in running.select_related("disk"):
        disk = check.disk
        if disk is None or disk.read_at != now:
            continue
        health = decoded(disk.health, SmartHealth, "health")
        if health.running_test is not None:
            left = health.running_test.remaining_percent
            MediaCheck.objects.filter(pk=check.pk).update(remaining_percent=left)
        elif now - (check.started_at or now) > READING:
            _judge(check, health, now)


def _judge(check: MediaCheck, health: SmartHealth, now: datetime) -> None:
    """The newest result counts where it is not older than the test."""
    newest = health.self_tests[0] if health.self_tests else None
    before = check.hours_before or 0
    if newest is not None and newest.at_hours is not None and newest.at_hours >= before:
        states = {True: CheckState.PASSED, False: CheckState.FAILED, None: CheckState.STOPPED}
        move(check, states[newest.passed], message=newest.result)
        return
    patience = LATE if check.minutes is None else timedelta(minutes=2 * check.minutes + 60)
    if check.started_at is not None and now - check.started_at > patience:
        why = "The disk shows no result of the test."
        how = "Newer versions of smartmontools read more disks' results: smartctl -l selftest"
        move(check, CheckState.STOPPED, message=why, correction=how)


def follow_arrays(host: Host, facts: HostFacts, now: datetime) -> None:
    """After an inventory: how far the checks of arrays are, and what they found."""
    arrays = {array.uuid: array for array in facts.arrays}
    running = MediaCheck.objects.filter(host=host, state=CheckState.RUNNING, disk=None)
    for check in running:
        array = arrays.get(check.array_uuid)
        if array is None:
            move(check, CheckState.STOPPED, message="The array is gone.")
        elif array.sync_action == "check":
            left = None if array.progress is None else 100 - int(100 * array.progress)
            MediaCheck.objects.filter(pk=check.pk).update(remaining_percent=left)
        elif now - (check.started_at or now) <= INVENTORY:
            continue
        elif array.is_at_work:
            why = f"The array went over to other work: {array.sync_action}."
            move(check, CheckState.STOPPED, message=why)
        elif array.degraded_count:
            move(check, CheckState.STOPPED, message="The array lost a disk meanwhile.")
        elif array.mismatch_sectors is None:
            why = "The host does not say what the check found."
            move(check, CheckState.STOPPED, message=why)
        elif array.mismatch_sectors:
            found = f"The copies differ in {counted(array.mismatch_sectors, 'sector')}."
            more = f" {INTERRUPTED}" if array.sync_min_sectors else ""
            move(check, CheckState.FAILED, message=f"{found}{more}")
        elif array.sync_min_sectors is None:
            why = "The host does not say whether the check came to its end."
            move(check, CheckState.STOPPED, message=why, correction="Upgrade the host's agent.")
        elif array.sync_min_sectors:
            move(check, CheckState.STOPPED, message=INTERRUPTED, correction=AGAIN)
        else:
            move(check, CheckState.PASSED)


def hosts_with_tests() -> models.Q:
    """Hosts whose disks are read in every round, because a test runs."""
    running = MediaCheck.objects.filter(state=CheckState.RUNNING, disk__isnull=False)
    return models.Q(pk__in=running.values("host_id"))

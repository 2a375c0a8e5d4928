"""The block devices of hosts below LVM, and what they did: one row per device and interval, and one
per device with the last. Customers never see one."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from storage.access import Person, is_staff
from storage.models.host import Host
from storage.naming import new_key


class DeviceKind(models.TextChoices):
    DISK = "disk", "Disk"
    ARRAY = "array", "Array"
    PARTITION = "partition", "Partition"


class DeviceQuerySet(models.QuerySet["Device"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()

    def present(self) -> Self:
        """Those that the last inventory of their host has."""
        return self.filter(gone_at=None)

    def counted_once(self) -> Self:
        """Those whose figures may be added up: neither the members of an array beside it nor the
        partitions beside their disk."""
        return self.filter(part_of=None)


class Device(models.Model):
    """A disk, an md array, or a partition that is a physical volume or part of an array.

    `identity` is its uuid (array) or its model and serial number (disk); one that says neither has
    "@" and its name. `name` is the kernel's within the boot `boot_id`: another boot may give it to
    another device. `vg_name` is the volume group of which it is a physical volume, "" of none.
    `part_of` is the array of which it, or a partition of it, is a member; else of a partition its
    disk. `gone_at` is when an inventory first lacked it."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="devices")
    kind = models.CharField(max_length=16, choices=DeviceKind)
    identity = models.CharField(max_length=200)
    name = models.CharField(max_length=80)
    boot_id = models.CharField(max_length=255, blank=True)
    size_bytes = models.BigIntegerField()
    is_fast = models.BooleanField()
    vg_name = models.CharField(max_length=127, blank=True)
    part_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="parts"
    )
    gone_at = models.DateTimeField(null=True, blank=True)

    objects = DeviceQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["host", "kind", "identity"], name="device_once_a_host"),
            models.CheckConstraint(
                condition=models.Q(kind__in=DeviceKind.values), name="device_kind_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} of {self.host}"


class DeviceInterval(models.Model):
    """Differences of the fields of /proc/diskstats, of one interval that lasted `dt_ms` of the
    host's CLOCK_BOOTTIME; `in_flight` is a gauge. A disk's flushes are in none of its writes."""

    dt_ms = models.IntegerField(null=True)
    reads = models.IntegerField(null=True)
    reads_merged = models.BigIntegerField(null=True)
    read_sectors = models.BigIntegerField(null=True)
    read_ms = models.IntegerField(null=True)
    writes = models.IntegerField(null=True)
    writes_merged = models.BigIntegerField(null=True)
    write_sectors = models.BigIntegerField(null=True)
    write_ms = models.IntegerField(null=True)
    in_flight = models.BigIntegerField(null=True)
    busy_ms = models.IntegerField(null=True)
    weighted_ms = models.IntegerField(null=True)
    discards = models.BigIntegerField(null=True)
    discards_merged = models.BigIntegerField(null=True)
    discard_sectors = models.BigIntegerField(null=True)
    discard_ms = models.IntegerField(null=True)
    flushes = models.BigIntegerField(null=True)
    flush_ms = models.IntegerField(null=True)

    class Meta:
        abstract = True


class DeviceSample(DeviceInterval):
    """An interval that ended at `ts`, the panel's wall time of the round. Partitioned by UTC day;
    no foreign key in the database: rows leave with their partition."""

    pk = models.CompositePrimaryKey("device_id", "ts")
    ts = models.DateTimeField()
    device = models.ForeignKey(
        Device, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(
                    dt_ms__gt=0,
                    dt_ms__isnull=False,
                    reads__isnull=False,
                    writes__isnull=False,
                    read_sectors__isnull=False,
                    write_sectors__isnull=False,
                    read_ms__isnull=False,
                    write_ms__isnull=False,
                    busy_ms__isnull=False,
                    weighted_ms__isnull=False,
                ),
                name="device_sample_has_figures",
            ),
        )
        indexes = (
            BrinIndex(
                fields=["ts"], pages_per_range=16, autosummarize=True, name="device_sample_ts"
            ),
        )

    def __str__(self) -> str:
        return f"device {self.device_id} at {self.ts:%Y-%m-%d %H:%M:%S}"


class LatestDeviceSample(DeviceInterval):
    """The last sample of a device: its counters, from which the next difference is taken, and the
    interval that ended with it. `seq` distinguishes it from another device of the same name, where
    the kernel has such a number. `gap` says why the interval has no figures."""

    device = models.OneToOneField(
        Device, on_delete=models.CASCADE, primary_key=True, related_name="latest_sample"
    )
    at = models.DateTimeField()
    boot_id = models.CharField(max_length=255)
    boottime_ns = models.BigIntegerField()
    seq = models.BigIntegerField(null=True)
    counters = models.JSONField()
    gap = models.CharField(max_length=32, blank=True)

    def __str__(self) -> str:
        return f"device {self.device_id} at {self.at:%Y-%m-%d %H:%M:%S}"

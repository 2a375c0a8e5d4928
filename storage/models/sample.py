"""Samples: one row per volume and interval, and one row per volume with the last one.

The columns of an interval are those of `storage.metrics.rates.Delta`, of `Gauges`, and of what
caches count (`storage.inventory.cache_counts`): sums, never rates, so that every figure over any
time is one sum over another.
"""

from __future__ import annotations

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from storage.inventory.cache_counts import COLUMNS
from storage.models.host import Host
from storage.models.volume import Volume


class Interval(models.Model):
    """`dt_ms` is CLOCK_BOOTTIME of the host. The cache's deltas are null without a cache and where
    its counters cannot be compared; the legs are the slow origin (bcache: backing device) and the
    fast cache data (bcache: cache set). `latency_counts` are I/Os per bucket of
    `LATENCY_BOUNDS_NS`, reads and writes together as the kernel has them: those of an interval
    without writes are of reads alone. `slow_latency_counts` and `fast_latency_counts` are of what
    the cache itself asked of its legs. What an older agent does not send is null."""

    dt_ms = models.IntegerField(null=True)
    reads = models.IntegerField(null=True)
    writes = models.IntegerField(null=True)
    read_sectors = models.BigIntegerField(null=True)
    write_sectors = models.BigIntegerField(null=True)
    read_ms = models.IntegerField(null=True)
    write_ms = models.IntegerField(null=True)
    busy_ms = models.IntegerField(null=True)
    weighted_ms = models.IntegerField(null=True)
    slow_read_sectors = models.BigIntegerField(null=True)
    slow_write_sectors = models.BigIntegerField(null=True)
    fast_read_sectors = models.BigIntegerField(null=True)
    fast_write_sectors = models.BigIntegerField(null=True)
    latency_counts = ArrayField(models.BigIntegerField(), null=True)
    technology = models.SmallIntegerField(default=0)
    cache_size_bytes = models.BigIntegerField(null=True)
    used_bytes = models.BigIntegerField(null=True)
    dirty_bytes = models.BigIntegerField(null=True)
    discards = models.IntegerField(null=True)
    discard_sectors = models.BigIntegerField(null=True)
    discard_ms = models.IntegerField(null=True)
    read_us = models.BigIntegerField(null=True)
    write_us = models.BigIntegerField(null=True)
    flushes = models.IntegerField(null=True)
    flush_ms = models.IntegerField(null=True)
    suspended_ms = models.IntegerField(null=True)
    slow_reads = models.IntegerField(null=True)
    slow_writes = models.IntegerField(null=True)
    slow_read_ms = models.IntegerField(null=True)
    slow_write_ms = models.IntegerField(null=True)
    slow_busy_ms = models.IntegerField(null=True)
    slow_weighted_ms = models.IntegerField(null=True)
    fast_reads = models.BigIntegerField(null=True)
    fast_writes = models.BigIntegerField(null=True)
    fast_read_ms = models.BigIntegerField(null=True)
    fast_write_ms = models.BigIntegerField(null=True)
    fast_busy_ms = models.IntegerField(null=True)
    fast_weighted_ms = models.BigIntegerField(null=True)
    slow_latency_counts = ArrayField(models.BigIntegerField(), null=True)
    fast_latency_counts = ArrayField(models.BigIntegerField(), null=True)
    metadata_used_bytes = models.BigIntegerField(null=True)
    metadata_total_bytes = models.BigIntegerField(null=True)

    class Meta:
        abstract = True


for _name in COLUMNS:
    models.BigIntegerField(null=True).contribute_to_class(Interval, _name)


class Sample(Interval):
    """An interval that ended at `ts`, the panel's wall time of the round. Partitioned by UTC day;
    no foreign key in the database: rows leave with their partition."""

    pk = models.CompositePrimaryKey("volume_id", "ts")
    ts = models.DateTimeField()
    volume = models.ForeignKey(
        Volume, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
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
                ),
                name="sample_has_figures",
            ),
        )
        indexes = (
            BrinIndex(fields=["ts"], pages_per_range=16, autosummarize=True, name="sample_ts"),
        )

    def __str__(self) -> str:
        return f"volume {self.volume_id} at {self.ts:%Y-%m-%d %H:%M:%S}"


class Resolution(models.IntegerChoices):
    """How long the intervals in a chunk are: as measured, or buckets of this length."""

    RAW = 0, "as measured"
    FIVE_MINUTES = 1, "5 minutes"
    HOUR = 2, "1 hour"
    DAY = 3, "1 day"


UNREADABLE_CHUNK: Final = 100
"""Added to the kind of a chunk that could not be read when its place was written anew: no query
finds it there, and it is dropped with its partition like the others."""


class SubjectKind(models.IntegerChoices):
    """What the intervals in a chunk are of; never changed, as they are stored."""

    VOLUME = 0, "volume"
    DEVICE = 1, "device"
    HOST = 2, "host"
    FLEET = 3, "fleet"


class SampleChunk(models.Model):
    """Intervals of one subject, packed (`storage.metrics.samples.codec`): those that ended in the
    hour after `start`, or the buckets of a day, a month or a year (`Resolution`). Partitioned by
    resolution and start; no foreign key in the database: chunks leave with their partition.
    `is_rolled_up` of a day of buckets of five minutes: they are in the longer buckets too."""

    pk = models.CompositePrimaryKey("kind", "subject_id", "start", "resolution")
    kind = models.SmallIntegerField(choices=SubjectKind)
    subject_id = models.BigIntegerField()
    resolution = models.SmallIntegerField(choices=Resolution)
    start = models.DateTimeField()
    format = models.SmallIntegerField()
    rows = models.IntegerField()
    is_rolled_up = models.BooleanField()
    data = models.BinaryField()

    class Meta:
        indexes = (
            models.Index(
                fields=["kind", "subject_id", "start"],
                condition=models.Q(is_rolled_up=False),
                name="chunk_to_roll_up",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.subject_id} from {self.start:%Y-%m-%d %H:%M}"


class LatestSample(Interval):
    """The last sample of a volume: its counters, from which the next difference is taken, and the
    interval that ended with it. `gap` says why that has no figures, `cache_gap` why only those
    of the cache are missing (`storage.metrics.rates.GapReason`). `cache_state` is what is wrong
    with the cache, `suspended` says that the device's I/O is frozen."""

    volume = models.OneToOneField(
        Volume, on_delete=models.CASCADE, primary_key=True, related_name="latest_sample"
    )
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()
    boot_id = models.CharField(max_length=255)
    boottime_ns = models.BigIntegerField()
    counters = models.JSONField()
    gap = models.CharField(max_length=32, blank=True)
    cache_gap = models.CharField(max_length=32, blank=True)
    cache_mode = models.CharField(max_length=255, blank=True)
    cache_state = models.CharField(max_length=32, blank=True)
    suspended = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"volume {self.volume_id} at {self.at:%Y-%m-%d %H:%M:%S}"

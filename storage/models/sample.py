"""Samples: one row per volume and interval, and one row per volume with the last one.

The columns of an interval are those of `storage.metrics.rates.Delta`, `CacheDelta` and `Gauges`:
sums, never rates, so that every figure over any time is one sum over another.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from storage.models.host import Host
from storage.models.volume import Volume


class Interval(models.Model):
    """`dt_ms` is CLOCK_BOOTTIME of the host. The cache's deltas are null without a cache and where
    its counters cannot be compared; the legs are the slow origin (bcache: backing device) and the
    fast cache data. `latency_counts` are I/Os per bucket of `LATENCY_BOUNDS_NS`."""

    dt_ms = models.IntegerField(null=True)
    reads = models.IntegerField(null=True)
    writes = models.IntegerField(null=True)
    read_sectors = models.BigIntegerField(null=True)
    write_sectors = models.BigIntegerField(null=True)
    read_ms = models.IntegerField(null=True)
    write_ms = models.IntegerField(null=True)
    busy_ms = models.IntegerField(null=True)
    weighted_ms = models.IntegerField(null=True)
    read_hits = models.BigIntegerField(null=True)
    read_misses = models.BigIntegerField(null=True)
    write_hits = models.BigIntegerField(null=True)
    write_misses = models.BigIntegerField(null=True)
    demotions = models.BigIntegerField(null=True)
    promotions = models.BigIntegerField(null=True)
    slow_read_sectors = models.BigIntegerField(null=True)
    slow_write_sectors = models.BigIntegerField(null=True)
    fast_read_sectors = models.BigIntegerField(null=True)
    fast_write_sectors = models.BigIntegerField(null=True)
    latency_counts = ArrayField(models.BigIntegerField(), null=True)
    technology = models.SmallIntegerField(default=0)
    cache_size_bytes = models.BigIntegerField(null=True)
    used_bytes = models.BigIntegerField(null=True)
    dirty_bytes = models.BigIntegerField(null=True)

    class Meta:
        abstract = True


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


class VolumeHour(models.Model):
    """The samples of a volume that ended in the hour after `bucket`, or with its end, added up as
    `storage.metrics.rates.Sums`, for charts of many days. `cache_ms`, `moves_ms` and `ssd_ms` are
    the times in which the cache's accesses, its moves and the writes to its SSD were counted. The
    sizes are those of the last sample."""

    pk = models.CompositePrimaryKey("volume_id", "bucket")
    volume = models.ForeignKey(Volume, on_delete=models.CASCADE, db_index=False, related_name="+")
    bucket = models.DateTimeField(db_index=True)
    intervals = models.BigIntegerField()
    dt_ms = models.BigIntegerField()
    cache_ms = models.BigIntegerField()
    moves_ms = models.BigIntegerField()
    ssd_ms = models.BigIntegerField()
    ssd_write_sectors = models.BigIntegerField()
    reads = models.BigIntegerField()
    writes = models.BigIntegerField()
    read_sectors = models.BigIntegerField()
    write_sectors = models.BigIntegerField()
    read_ms = models.BigIntegerField()
    write_ms = models.BigIntegerField()
    busy_ms = models.BigIntegerField()
    weighted_ms = models.BigIntegerField()
    read_hits = models.BigIntegerField()
    read_misses = models.BigIntegerField()
    write_hits = models.BigIntegerField()
    write_misses = models.BigIntegerField()
    demotions = models.BigIntegerField()
    promotions = models.BigIntegerField()
    bcache_reads = models.BigIntegerField()
    bcache_read_sectors = models.BigIntegerField()
    backing_read_sectors = models.BigIntegerField()
    latency_counts = ArrayField(models.BigIntegerField())
    cache_size_bytes = models.BigIntegerField(null=True)
    used_bytes = models.BigIntegerField(null=True)
    dirty_bytes = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"volume {self.volume_id} from {self.bucket:%Y-%m-%d %H:%M}"


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

"""Summary rows for pages that show all hosts, written when a host reports.

An inventory is megabytes, and a page lists hundreds of hosts; these rows summarise them in one
query.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.models.host import Host
from storage.models.volume import Volume


class HostOutline(models.Model):
    """What the last inventory of a host came to. `fast_*` is its space on SSD, `slow_*` that on
    slow disks, in bytes, over all volume groups and without missing disks. `cache_names` are the
    caches that exist, by the names their wishes gave them. `findings` is what the inventory shows
    to be wrong, as `storage.health.inventory_findings.Finding.to_json`, each with the moment it was
    first seen."""

    host = models.OneToOneField(
        Host, on_delete=models.CASCADE, primary_key=True, related_name="outline"
    )
    fast_total_bytes = models.BigIntegerField(default=0)
    fast_free_bytes = models.BigIntegerField(default=0)
    slow_total_bytes = models.BigIntegerField(default=0)
    slow_free_bytes = models.BigIntegerField(default=0)
    cache_names = ArrayField(models.CharField(max_length=127), default=list, blank=True)
    findings = models.JSONField(default=list, blank=True)

    class Meta:
        indexes = (
            models.Index(
                fields=("host",), condition=~models.Q(findings=[]), name="outline_with_findings"
            ),
        )

    def __str__(self) -> str:
        return f"outline of {self.host}"


TOP_VOLUMES = 5


class HostActivity(models.Model):
    """What all volumes of a host did in its last round of samples, taken `at`: I/O a second, the
    share of time (0 to 1) in which the busiest of them, `busiest_id`, had I/O under way; None where
    no volume had a known difference. `dirty_bytes` lie on SSD alone, `sold_bytes` in caches that
    customers pay for. `top_iops` and `top_read_ms` are the first `TOP_VOLUMES` volumes by I/O a
    second and by the average latency of their reads, `[[volume_id, figure], ...]`."""

    host = models.OneToOneField(
        Host, on_delete=models.CASCADE, primary_key=True, related_name="activity"
    )
    at = models.DateTimeField()
    read_iops = models.FloatField(null=True)
    write_iops = models.FloatField(null=True)
    busy = models.FloatField(null=True)
    busiest_id = models.BigIntegerField(null=True)
    dirty_bytes = models.BigIntegerField(default=0)
    sold_bytes = models.BigIntegerField(default=0)
    top_iops = models.JSONField(default=list, db_default=[])
    top_read_ms = models.JSONField(default=list, db_default=[])
    disk_counters = models.JSONField(default=dict, db_default={})

    def __str__(self) -> str:
        return f"activity of {self.host}"


class CacheCondition(models.Model):
    """What the figures of a volume's cache show to be wrong, or with `volume` null those of the
    host's SSDs. `findings` are `storage.health.cache_condition.CacheFinding`, each with its subject
    and the moment it was first seen; `noted` is what the next judgement compares with
    (`storage.health.cache_condition_records`). `left_writeback_at` is when Tiercel itself asked for
    writethrough because the mirror below had lost an SSD; null again once the mirror is whole."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="+")
    volume = models.OneToOneField(
        Volume, null=True, on_delete=models.CASCADE, related_name="cache_condition"
    )
    findings = models.JSONField(default=list, blank=True)
    noted = models.JSONField(default=dict, blank=True)
    left_writeback_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("host",), condition=models.Q(volume=None), name="condition_of_ssds_once"
            ),
        )
        indexes = (
            models.Index(
                fields=("host",), condition=~models.Q(findings=[]), name="condition_with_findings"
            ),
        )

    def __str__(self) -> str:
        return f"condition of {self.volume or self.host}"


class Load(models.Model):
    """What many volumes did in the rounds that ended in the five minutes from `bucket` on: sums, as
    of `storage.metrics.rates.Sums`, but `dt_ms` is the time of the rounds and `busy_ms` that of the
    busiest volume of each round; `ssd_write_sectors` went to the SSDs of caches. The last columns
    are sizes at the end of these five minutes, null where they are not known: what caches hold, and
    the space on SSD (`HostOutline`), `sold_bytes` of it in caches that customers pay for."""

    dt_ms = models.BigIntegerField()
    busy_ms = models.BigIntegerField()
    reads = models.BigIntegerField()
    writes = models.BigIntegerField()
    read_sectors = models.BigIntegerField()
    write_sectors = models.BigIntegerField()
    read_ms = models.BigIntegerField()
    write_ms = models.BigIntegerField()
    read_hits = models.BigIntegerField()
    read_misses = models.BigIntegerField()
    bcache_reads = models.BigIntegerField()
    bcache_read_sectors = models.BigIntegerField()
    backing_read_sectors = models.BigIntegerField()
    write_hits = models.BigIntegerField(default=0)
    write_misses = models.BigIntegerField(default=0)
    promotions = models.BigIntegerField(default=0)
    demotions = models.BigIntegerField(default=0)
    ssd_write_sectors = models.BigIntegerField(default=0)
    latency_counts = ArrayField(models.BigIntegerField(), default=list)
    cache_size_bytes = models.BigIntegerField(null=True)
    used_bytes = models.BigIntegerField(null=True)
    dirty_bytes = models.BigIntegerField(null=True)
    sold_bytes = models.BigIntegerField(null=True)
    fast_total_bytes = models.BigIntegerField(null=True)
    fast_free_bytes = models.BigIntegerField(null=True)

    class Meta:
        abstract = True


class HostLoad(Load):
    """The load of a host: all of its volumes."""

    pk = models.CompositePrimaryKey("bucket", "host_id")
    bucket = models.DateTimeField()
    host = models.ForeignKey(Host, on_delete=models.CASCADE, db_index=False, related_name="+")

    class Meta:
        indexes = (models.Index(fields=["host", "bucket"], name="hostload_of_host"),)

    def __str__(self) -> str:
        return f"host {self.host_id} at {self.bucket:%Y-%m-%d %H:%M}"


class FleetLoad(Load):
    """The load of all hosts together. `dt_ms` is that of the host that reported longest; the counts
    of a host that reported for a shorter time count for as much more, so that rates add up."""

    bucket = models.DateTimeField(primary_key=True)

    def __str__(self) -> str:
        return f"fleet at {self.bucket:%Y-%m-%d %H:%M}"
